"""Blocks of threads in kernels: barriers, shared arrays, their numbers, and races on what is shared."""

import numpy as np
import pytest

import warp as wp

RNG = np.random.default_rng(3)


@wp.kernel
def block_sums(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    i = wp.tid()
    t = wp.thread_idx()
    s = wp.shared_array(1024, dtype=int)
    s[t] = x[i]
    width = 1024
    while width > 1:
        width = width // 2
        wp.sync_threads()
        if t < width and t + width < wp.block_dim():
            s[t] += s[t + width]
    if t == 0:
        out[wp.block_idx()] = s[0]


@pytest.mark.parametrize("block_dim", [32, 64, 96, 256, 1024])
def test_sums_of_blocks(block_dim):
    x = RNG.integers(-99, 99, 5 * block_dim).astype(np.int32)
    out = wp.zeros(5, dtype=int)
    wp.launch(block_sums, len(x), inputs=[wp.array(x), out], block_dim=block_dim)
    np.testing.assert_array_equal(out.numpy(), x.reshape(5, -1).sum(axis=1))


@wp.func
def turned(tile: wp.array2d(dtype=wp.vec2), row: int, column: int):
    return tile[column, row]


@wp.kernel
def transposed(x: wp.array2d(dtype=wp.vec2), out: wp.array2d(dtype=wp.vec2), tiles: int):
    tile = wp.shared_array(shape=(8, 8), dtype=wp.vec2)
    unused = wp.shared_array((8, 8), wp.vec2)
    t = wp.thread_idx()
    row, column = t // 8, t % 8
    at_row = wp.block_idx() // tiles * 8
    at_column = wp.block_idx() % tiles * 8
    tile[row, column] = x[at_row + row, at_column + column]
    unused[row, column] = wp.vec2(1.0e9)
    wp.sync_threads()
    out[at_column + row, at_row + column] = turned(tile, row, column)


def test_two_dimensional_arrays_of_vectors():
    x = RNG.normal(size=(16, 24, 2)).astype(np.float32)
    out = wp.zeros((24, 16), dtype=wp.vec2)
    wp.launch(transposed, 16 * 24, inputs=[wp.array(x, dtype=wp.vec2), out, 3], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), x.transpose(1, 0, 2))


@wp.kernel
def counted(out: wp.array(dtype=int), turns: int):
    for k in range(turns):
        seen = wp.shared_array(1, dtype=int)
        wp.atomic_add(seen, 0, 1)
        wp.sync_threads()
        if wp.thread_idx() == 0:
            out[k * 3 + wp.block_idx()] = seen[0]


def test_a_shared_array_is_zero_each_time():
    # The last block is not full.
    out = wp.zeros(12, dtype=int)
    wp.launch(counted, 150, inputs=[out, 4], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), [64, 64, 22] * 4)


@wp.kernel
def numbers(out: wp.array2d(dtype=int)):
    i = wp.tid()
    out[i, 0] = wp.thread_idx()
    out[i, 1] = wp.block_idx()
    out[i, 2] = wp.block_dim()


def test_numbers_of_threads_and_blocks():
    out = wp.zeros((100, 3), dtype=int)
    wp.launch(numbers, 100, inputs=[out], block_dim=32)
    i = np.arange(100)
    np.testing.assert_array_equal(out.numpy(), np.stack([i % 32, i // 32, np.full(100, 32)], axis=1))


# ---- what is refused ----


@wp.func
def makes_memory(t: int):
    s = wp.shared_array(4, dtype=float)
    return s[t]


@wp.kernel
def memory_of_a_function(out: wp.array(dtype=float)):
    out[0] = makes_memory(0)


@wp.kernel
def unknown_size(out: wp.array(dtype=float), n: int):
    s = wp.shared_array(n, dtype=float)
    out[0] = s[0]


@wp.kernel
def no_type(out: wp.array(dtype=float)):
    s = wp.shared_array(4)
    out[0] = s[0]


@wp.kernel
def too_much(out: wp.array(dtype=float)):
    s = wp.shared_array(16384, dtype=wp.vec4)
    out[0] = s[0][0]


@wp.kernel
def some_wait(out: wp.array(dtype=float)):
    if wp.thread_idx() < 3:
        wp.sync_threads()
    out[0] = 1.0


REFUSED = [
    (memory_of_a_function, [], "can be called in kernels only", "wp.shared_array(4"),
    (unknown_size, [4], "an integer known when the kernel is compiled", "shared_array(n"),
    (no_type, [], "takes `shape` and `dtype`", "shared_array(4)"),
    (too_much, [], "262144", "shared_array(16384"),
]


@pytest.mark.parametrize(("kernel", "more", "message", "line"), REFUSED)
def test_mistakes(kernel, more, message, line):
    for _ in range(2):
        with pytest.raises(Exception, match=message) as error:
            wp.launch(kernel, 1, inputs=[wp.zeros(1, dtype=float), *more])
        assert line in str(error.value)


def test_too_much_memory_is_refused_for_gpus_too():
    with pytest.raises(ValueError, match="262144 bytes") as error:
        too_much._dump("ptx", backend="llvm-nvptx", gpu="sm_80")
    assert "shared_array(16384" in str(error.value)


@pytest.mark.host("GPUs hang, or go on")
def test_a_barrier_that_some_never_reach():
    with pytest.raises(wp.WarpRuntimeError, match="3 of the 8 threads of block 0 wait at a barrier"):
        wp.launch(some_wait, 8, inputs=[wp.zeros(1, dtype=float)], block_dim=8)


def test_no_gradient_through_what_is_shared():
    @wp.kernel
    def neighbour(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        s = wp.shared_array(32, dtype=float)
        t = wp.thread_idx()
        s[t] = x[wp.tid()]
        wp.sync_threads()
        out[wp.tid()] = s[31 - t]

    x, out = (wp.ones(32, dtype=float, requires_grad=True) for _ in range(2))
    with wp.Tape() as tape:
        wp.launch(neighbour, 32, inputs=[x, out], block_dim=32)
    with pytest.raises(wp.WarpGradientError, match="memory that the threads of a block share"):
        tape.backward(grads={out: wp.ones_like(out)})


# ---- races ----

DEBUG = {"mode": "debug"}


@wp.kernel(module_options=DEBUG, module="unique")
def forgets_the_barrier(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.shared_array(64, dtype=float)
    t = wp.thread_idx()
    s[t] = x[wp.tid()]  # written
    out[wp.tid()] = s[63 - t]  # read


@wp.func_native("""
    __shared__ float s[64];
    const int t = threadIdx.x;
    s[t] = x[i];
    __syncthreads();
    out[i] = s[(t + 1) % 64];
    s[t] = 0.0f;  // written too early
""")
def clears_too_early(x: wp.array(dtype=float), out: wp.array(dtype=float), i: int): ...


@wp.kernel(module_options=DEBUG, module="unique")
def calls_it(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    clears_too_early(x, out, wp.tid())


@wp.kernel(module_options=DEBUG, module="unique")
def adds_without_atomics(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.shared_array(1, dtype=float)
    s[0] = s[0] + 1.0  # by all
    wp.sync_threads()
    out[wp.tid()] = s[0]


@wp.kernel(module_options=DEBUG, module="unique")
def reads_while_others_add(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.shared_array(1, dtype=float)
    wp.atomic_add(s, 0, 1.0)
    out[wp.tid()] = s[0]  # not yet the sum


RACES = [
    (forgets_the_barrier, ["# written", "# read"]),
    (calls_it, ["(t + 1) % 64", "# written too early".replace("#", "//")]),
    (adds_without_atomics, ["# by all"]),
    (reads_while_others_add, ["atomic_add(s", "# not yet the sum"]),
]


@pytest.mark.host("found where threads take turns")
@pytest.mark.parametrize(("kernel", "lines"), RACES)
def test_races_name_both_lines(kernel, lines):
    x, out = wp.array(np.arange(1, 65), dtype=float), wp.zeros(64, dtype=float)
    for _ in range(2):
        with pytest.raises(wp.WarpRuntimeError, match="a race on shared memory") as error:
            wp.launch(kernel, 64, inputs=[x, out], block_dim=64)
        for line in lines:
            assert line in str(error.value)


@wp.kernel(module_options=DEBUG, module="unique")
def all_say_the_same(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    s = wp.shared_array(2, dtype=float)
    s[0] = 7.0
    wp.atomic_add(s, 1, 1.0)
    wp.sync_threads()
    out[wp.tid()] = s[0] + s[1]


@wp.func_native("""
    __shared__ int last[32];
    const int lane = threadIdx.x % warpSize;
    last[lane] = x[i];
    __syncwarp();
    out[i] = last[(lane + 1) % 32];
""")
def within_a_warp(x: wp.array(dtype=int), out: wp.array(dtype=int), i: int): ...


@wp.kernel(module_options=DEBUG, module="unique")
def warp_alone(x: wp.array(dtype=int), out: wp.array(dtype=int)):
    within_a_warp(x, out, wp.tid())


@pytest.mark.host("found where threads take turns")
def test_what_is_no_race():
    out = wp.zeros(64, dtype=float)
    wp.launch(all_say_the_same, 64, inputs=[out, out], block_dim=64)
    assert (out.numpy() == 71.0).all()
    # Threads of a warp wait for each other; those of two warps that share the memory do not.
    x, out = wp.array(np.arange(64), dtype=int), wp.zeros(64, dtype=int)
    wp.launch(warp_alone, 32, inputs=[x, out], block_dim=32)
    np.testing.assert_array_equal(out.numpy()[:32], np.roll(np.arange(32), -1))
    with pytest.raises(wp.WarpRuntimeError, match="a race on shared memory"):
        wp.launch(warp_alone, 64, inputs=[x, out], block_dim=64)


@pytest.mark.host("found where threads take turns")
@pytest.mark.parametrize("block_dim", [32, 96])
def test_right_kernels_have_no_races(block_dim, monkeypatch):
    import test_portable_snippets as right

    monkeypatch.setattr(wp.config, "mode", "debug")
    for name in ("reduction", "histogram", "bitonic_sort", "stencil_with_halo", "shuffle_scan"):
        getattr(right.TestSnippets(), "test_" + name)(block_dim)
