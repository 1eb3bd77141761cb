"""Blocks of threads in native snippets: shared memory, barriers and warps, for blocks of several sizes.

Not here: those that run on every device, with warps of any size (test_portable_snippets.py)."""

import numpy as np
import pytest

import warp as wp

SIZES = [32, 64, 96, 256, 1024]


@wp.func_native("""
    __shared__ int bins[16];
    for (int k = threadIdx.x; k < 16; k += blockDim.x) bins[k] = 0;
    __syncthreads();
    atomicAdd(&bins[x[i]], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
""")
def histogram(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.kernel
def histogram_kernel(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    histogram(x, out, wp.tid())


@wp.func_native("""
    __shared__ int count;
    if (threadIdx.x % 2) atomicAdd(&count, 1);
    __syncthreads();
    out[i] = count;
""")
def count_odd(out: wp.array(dtype=int), i: int): ...


@wp.kernel
def count_odd_kernel(out: wp.array(dtype=int)):
    count_odd(out, wp.tid())


def test_shared_memory_of_the_cpu_is_zero_at_the_start_of_each_block():
    out = wp.zeros(640, dtype=int, device="cpu")
    wp.launch(count_odd_kernel, 640, inputs=[out], block_dim=64, device="cpu")
    np.testing.assert_array_equal(out.numpy(), np.full(640, 32))


@pytest.mark.parametrize("size", SIZES)
def test_a_histogram_whose_last_block_is_not_full(size):
    n = 10 * size + 17
    values = np.random.default_rng(size).integers(0, 16, n).astype(np.int32)
    out = wp.zeros(16, dtype=int)
    wp.launch(histogram_kernel, n, inputs=[wp.array(values, dtype=int), out], block_dim=size)
    np.testing.assert_array_equal(out.numpy(), np.bincount(values, minlength=16))


@wp.func_native(
    """
    __shared__ float cells[1024 + 2];
    const int t = threadIdx.x, n = x.shape[0];
    cells[t + 1] = x[i];
    if (t == 0) cells[0] = x[(i + n - 1) % n];
    if (t == blockDim.x - 1) cells[blockDim.x + 1] = x[(i + 1) % n];
    __syncthreads();
    y[i] = cells[t] + 2.0f * cells[t + 1] + cells[t + 2];
    """,
    """
    const int n = x.shape[0];
    atomic_add(adj_x, (i + n - 1) % n, adj_y[i]);
    atomic_add(adj_x, i, 2.0f * adj_y[i]);
    atomic_add(adj_x, (i + 1) % n, adj_y[i]);
    """,
)
def stencil(x: wp.array(dtype=float), y: wp.array(dtype=float), i: int): ...


@wp.kernel
def stencil_kernel(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    stencil(x, y, wp.tid())


@pytest.mark.parametrize("size", SIZES)
def test_a_stencil_with_its_halo_and_its_adjoint(size):
    n = 3 * size
    values, seed = np.random.default_rng(size).integers(-9, 9, (2, n)).astype(np.float32)
    x, y = wp.array(values, dtype=float, requires_grad=True), wp.zeros(n, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(stencil_kernel, n, inputs=[x, y], block_dim=size)

    def smooth(v):
        return np.roll(v, 1) + 2 * v + np.roll(v, -1)

    np.testing.assert_array_equal(y.numpy(), smooth(values))
    tape.backward(grads={y: wp.array(seed, dtype=float)})
    np.testing.assert_array_equal(x.grad.numpy(), smooth(seed))


@wp.func_native("""
    const int lane = threadIdx.x % warpSize;
    const unsigned long long odd = __ballot_sync(-1, lane % 2);
    double wide = __shfl_xor_sync(-1, double(lane), 1);
    int quad = __shfl_down_sync(-1, lane, 1, 4);
    int first = __shfl_sync(-1, 100 + lane, 0, 8);
    if (lane < 16) first += __any_sync(0x0000ffff, lane == 3) + 2 * __all_sync(0x0000ffff, lane == 3);
    __syncwarp();
    out(i, 0) = __popcll(odd);
    out(i, 1) = int(wide);
    out(i, 2) = quad;
    out(i, 3) = first;
    out(i, 4) = __syncthreads_count(threadIdx.x > 2);
    out(i, 5) = blockIdx.x * blockDim.x + threadIdx.x + 1000 * gridDim.x;
""")
def warps(out: wp.array2d(dtype=int), i: int): ...


@wp.kernel
def warps_kernel(out: wp.array2d(dtype=int)):
    warps(out, wp.tid())


def test_warps():
    out = wp.zeros((128, 6), dtype=int)
    wp.launch(warps_kernel, 128, inputs=[out], block_dim=64)
    item = np.arange(128)
    lanes = 64 if wp.get_device().is_maca else 32
    lane = item % lanes
    wanted = [
        np.full(128, lanes // 2),
        lane ^ 1,
        np.where(lane % 4 == 3, lane, lane + 1),
        100 + lane // 8 * 8 + (lane < 16),
        np.full(128, 61),
        item + 2000,
    ]
    np.testing.assert_array_equal(out.numpy(), np.stack(wanted, axis=1))


# ---- the size of blocks ----


@wp.func_native("out[i] = blockDim.x;")
def size_of_block(out: wp.array(dtype=int), i: int): ...


@wp.kernel
def sizes_kernel(out: wp.array(dtype=int)):
    size_of_block(out, wp.tid())


def test_where_the_size_of_blocks_comes_from():
    out = wp.zeros(8, dtype=int)

    def found():
        values = out.numpy().copy()
        out.zero_()
        assert (values == values[0]).all()
        return values[0]

    wp.launch(sizes_kernel, 8, inputs=[out])
    assert found() == 256
    wp.launch(sizes_kernel, 8, inputs=[out], block_dim=96)
    assert found() == 96
    command = wp.launch(sizes_kernel, 8, inputs=[out], block_dim=64, record_cmd=True)
    command.launch()
    assert found() == 64
    with wp.Tape() as tape:
        wp.launch(sizes_kernel, 8, inputs=[out], block_dim=32)
    tape.backward()
    assert found() == 32
    with wp.ScopedCapture() as capture:
        wp.launch(sizes_kernel, 8, inputs=[out], block_dim=48)
    wp.capture_launch(capture.graph)
    assert found() == 48


# ---- mistakes ----


@wp.func_native("if (threadIdx.x < 5) __syncthreads(); out[i] = 1;")
def divergent(out: wp.array(dtype=int), i: int): ...


@wp.kernel
def divergent_kernel(out: wp.array(dtype=int)):
    divergent(out, wp.tid())


@wp.func_native("if (threadIdx.x != 3) __syncwarp(); out[i] = 1;")
def divergent_warp(out: wp.array(dtype=int), i: int): ...


@wp.kernel
def divergent_warp_kernel(out: wp.array(dtype=int)):
    divergent_warp(out, wp.tid())


@wp.func_native("__shared__ float much[20000]; much[i] = 1; out[i] = much[i];")
def too_much(out: wp.array(dtype=int), i: int): ...


@wp.kernel
def too_much_kernel(out: wp.array(dtype=int)):
    too_much(out, wp.tid())


def test_a_barrier_that_some_never_reach_is_an_error():
    out = wp.zeros(64, dtype=int, device="cpu")
    for kernel, message in (
        (divergent_kernel, "5 of the 64 threads of block 0 wait at a barrier which the others never reach"),
        (divergent_warp_kernel, "31 of the 64 threads of block 0 wait for lanes of their warp which never come"),
    ):
        with pytest.raises(wp.WarpRuntimeError, match=message):
            wp.launch(kernel, 64, inputs=[out], block_dim=64, device="cpu")
            wp.synchronize()
        bins = wp.zeros(16, dtype=int)
        wp.launch(histogram_kernel, 64, inputs=[wp.ones(64, dtype=int), bins], block_dim=32)
        np.testing.assert_array_equal(bins.numpy(), [0, 64] + [0] * 14)


def test_too_much_shared_memory():
    with pytest.raises(wp.WarpCodegenError, match="share 80000 bytes of memory: a block has 49152") as error:
        wp.launch(too_much_kernel, 1, inputs=[wp.zeros(1, dtype=int, device="cpu")], device="cpu")
    assert "def too_much" in error.value.text
