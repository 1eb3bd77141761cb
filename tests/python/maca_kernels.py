"""Kernels on MetaX GPUs: compiled, kept, launched, captured, differentiated. Runs with the stand-ins for MACA
(test_maca.py begins it).
"""

import os
import pathlib

import numpy as np
import pytest
from support.fake_maca import Fake

import warp as wp

fake = Fake()
LOG = pathlib.Path(os.environ["FAKE_MXCC_LOG"])


def compiles():
    """The compiler's command lines since the last call."""
    if not LOG.exists():
        return []
    lines = LOG.read_text().splitlines()
    LOG.write_text("")
    return lines


@pytest.fixture(autouse=True)
def device():
    """Each test begins with the GPU as the default device, and must leave no failure behind."""
    wp.set_device("maca:0")
    wp.config.compile_ahead = False
    compiles()
    yield wp.get_device()
    assert fake.pending() == 0, "a failure that was asked for did not come"
    fake.fail_launch(0)
    assert fake.wrong() == 0
    assert fake.count("recompiled") == 0, "a launch was beyond the bound that its code was compiled for"


@wp.kernel
def wave(x: wp.array[wp.vec3], scale: float, y: wp.array[float]):
    i = wp.tid()
    v = x[i]
    total = float(0.0)
    for k in range(3):
        if k != i % 3:
            total += wp.sin(v[k]) * scale
    y[i] = total


def test_a_kernel_and_its_gradient(device):
    data = np.random.default_rng(1).normal(size=(1000, 3)).astype(np.float32)
    x = wp.array(data, dtype=wp.vec3, requires_grad=True)
    y = wp.zeros(1000, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(wave, 1000, [x, 2.0, y])
    mask = np.arange(3)[None, :] != np.arange(1000)[:, None] % 3
    np.testing.assert_allclose(y.numpy(), 2 * (np.sin(data.astype(float)) * mask).sum(axis=1), rtol=1e-5, atol=1e-6)
    tape.backward(grads={y: wp.ones(1000, dtype=float)})
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(data.astype(float)) * mask, rtol=1e-5, atol=1e-6)
    assert fake.last_launch() == (16, 64)  # few items are spread over the machine
    lines = [line for line in compiles() if "wave" in line]
    assert len(lines) == 2, lines
    for line in lines:
        words = line.split()
        assert "--offload-arch=xcore1000" in words and "-device-bin" in words and words[words.index("-x") + 1] == "maca"


@wp.kernel
def count(n: wp.array[int], top: wp.array[float]):
    i = wp.tid()
    wp.atomic_add(n, i % 7, i)
    wp.atomic_max(top, 0, float(i % 1000))


@pytest.mark.parametrize("threads", [32, 64, 96, 256, 1024])
def test_atomics(threads):
    n, top = wp.zeros(7, dtype=int), wp.zeros(1, dtype=float)
    wp.launch(count, 5000, [n, top], block_dim=threads)
    i = np.arange(5000)
    np.testing.assert_array_equal(n.numpy(), np.bincount(i % 7, i))
    assert top.numpy()[0] == 999
    assert fake.last_launch()[1] == (64 if threads == 256 else threads)  # 256 is the default, which may be less
    # For 512 threads, and once more for as many as there can be.
    assert len(compiles()) == (1 if threads in (32, 1024) else 0)


def test_a_bound_of_the_user_counts():
    @wp.kernel(launch_bounds=128)
    def bounded(a: wp.array[int]):
        a[wp.tid()] = wp.tid()

    a = wp.zeros(300, dtype=int)
    wp.launch(bounded, 300, [a], block_dim=128)
    np.testing.assert_array_equal(a.numpy(), np.arange(300))
    assert wp.get_cuda_kernel_properties(bounded)["register_count"] == 32


def test_a_capture_of_kernels(device):
    x, y = wp.full(100, 3, dtype=wp.vec3), wp.zeros(100, dtype=float)
    n, top = wp.zeros(7, dtype=int), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as capture:
        wp.launch(wave, 100, [x, 1.0, y])
        n.zero_()
        wp.launch(count, 10, [n, top])
    assert not y.numpy().any()
    for _ in range(3):
        wp.capture_launch(capture.graph)
    np.testing.assert_allclose(y.numpy(), 2 * np.sin(3), rtol=1e-6)
    np.testing.assert_array_equal(n.numpy(), [7, 9, 11, 3, 4, 5, 6])


def test_two_devices():
    for name in ("maca:0", "maca:1"):
        with wp.ScopedDevice(name):
            n, top = wp.zeros(7, dtype=int), wp.zeros(1, dtype=float)
            wp.launch(count, 70, [n, top])
            assert n.numpy().sum() == 69 * 35


def test_algorithms():
    keys = np.random.default_rng(3).integers(-1000, 1000, 500).astype(np.int32)
    k = wp.array(np.concatenate([keys, keys]), dtype=int)
    v = wp.array(np.arange(1000), dtype=int)
    wp.utils.radix_sort_pairs(k, v, 500)
    np.testing.assert_array_equal(k.numpy()[:500], np.sort(keys))
    np.testing.assert_array_equal(v.numpy()[:500], np.argsort(keys, kind="stable"))
    total = wp.zeros(500, dtype=int)
    wp.utils.array_scan(wp.array(keys, dtype=int), total)
    np.testing.assert_array_equal(total.numpy(), np.cumsum(keys))
    assert wp.utils.array_sum(wp.array(keys.astype(np.float32))) == keys.sum()


@wp.func_native("""
    __shared__ int sums[16];
    const int lane = threadIdx.x % warpSize;
    int sum = x[i];
    for (int step = 1; step < warpSize; step *= 2) {
        const int other = __shfl_up_sync(~0ULL, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == warpSize - 1) sums[threadIdx.x / warpSize] = sum;
    __syncthreads();
    for (int w = 0; w < int(threadIdx.x) / warpSize; ++w) sum += sums[w];
    out[i] = sum;
    votes[i] = __popcll(__ballot_sync(~0ULL, x[i] > 0));
""")
def scan(x: wp.array(dtype=int), out: wp.array(dtype=int), votes: wp.array(dtype=int), i: int): ...


@wp.kernel
def scan_kernel(x: wp.array(dtype=int), out: wp.array(dtype=int), votes: wp.array(dtype=int)):
    scan(x, out, votes, wp.tid())


@pytest.mark.parametrize("threads", [64, 256, 1024])
def test_waves_have_64_lanes(threads):
    values = np.random.default_rng(threads).integers(-9, 10, 4 * threads).astype(np.int32)
    x, out, votes = wp.array(values, dtype=int), wp.zeros(4 * threads, dtype=int), wp.zeros(4 * threads, dtype=int)
    wp.launch(scan_kernel, 4 * threads, [x, out, votes], block_dim=threads)
    np.testing.assert_array_equal(out.numpy(), values.reshape(4, threads).cumsum(axis=1).ravel())
    np.testing.assert_array_equal(votes.numpy(), np.repeat((values.reshape(-1, 64) > 0).sum(axis=1), 64))


# ---- errors ----


def line_of(kernel):
    return kernel.func.__code__.co_firstlineno + 1


def test_launches_that_fail():
    n, top = wp.zeros(7, dtype=int), wp.zeros(1, dtype=float)
    wp.launch(count, 7, [n, top])
    fake.fail("mcModuleLaunchKernel", 999)
    where = rf"(?s)Warp MACA error 999: launching kernel 'count' on maca:0.*maca_kernels\.py\", line {line_of(count)}"
    with pytest.raises(RuntimeError, match=where):
        wp.launch(count, 7, [n, top])
    wp.synchronize()
    fake.fail_launch(700)
    wp.launch(count, 7, [n, top])
    with pytest.raises(RuntimeError, match="an illegal memory access was encountered") as raised:
        n.numpy()
    assert f"kernel 'count' ({__file__}:{line_of(count)}) on maca:0, stream 0x" in str(raised.value)


def test_code_that_does_not_load():
    @wp.kernel
    def other(a: wp.array[int]):
        a[wp.tid()] = 17

    a = wp.zeros(1, dtype=int)
    for function in ("mcModuleLoadData", "mcModuleGetFunction"):
        fake.fail(function, 200)
        with pytest.raises(RuntimeError, match=r"Warp MACA error 200: .*device kernel image is invalid"):
            wp.launch(other, 1, [a])
    wp.launch(other, 1, [a])
    assert a.numpy()[0] == 17


def test_a_failed_assert_is_an_exception():
    wp.config.mode = "debug"
    try:

        @wp.kernel
        def checked(a: wp.array[int]):
            i = wp.tid()
            assert a[i] < 3, "too large"

        wp.launch(checked, 10, [wp.array(np.arange(10) % 4, dtype=int)])
        with pytest.raises(RuntimeError, match="too large"):
            wp.synchronize()
        wp.synchronize()
    finally:
        wp.config.mode = "release"


def test_graphs_are_parts_of_graphs():
    n, top = wp.zeros(7, dtype=int), wp.zeros(1, dtype=float)
    with wp.ScopedCapture() as inner:
        wp.launch(count, 8, [n, top])
    with wp.ScopedCapture() as outer:
        n.zero_()
        wp.capture_launch(inner.graph)
        wp.capture_launch(inner.graph)
    wp.capture_launch(outer.graph)
    np.testing.assert_array_equal(n.numpy(), [14, 2, 4, 6, 8, 10, 12])


def test_conditions_in_graphs_are_refused():
    condition = wp.zeros(1, dtype=int)
    with pytest.raises(RuntimeError, match="Conditional graph nodes need a driver of CUDA"), wp.ScopedCapture():
        wp.capture_if(condition, lambda: None)


def test_the_block_that_fills_the_device():
    assert wp.get_suggested_block_size(count) == (512, 104 * 4)


# ---- snippets that are wrong ----


@wp.func_native("""
    out[i] = 1;
    out[i] = missing + 1;
""")
def unknown_name(out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    int lane;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    out[i] = lane;
""")
def assembly(out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    const unsigned all = 0xffffffff;
    out[i] = __shfl_sync(all, i, 0);
""")
def half_of_a_wave(out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    __shared__ int first[9000];
    __shared__ int second[9000];
    out[i] = first[i] + second[i];
""")
def much_memory(out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
    out[i] = (1 + ;
""")
def syntax(out: wp.array(dtype=int), i: int): ...


@wp.func_native("""
#include <vector>
    out[i] = 1;
""")
def header(out: wp.array(dtype=int), i: int): ...


@pytest.mark.parametrize(
    "snippet, message, line",
    [
        (syntax, "expected", "    out[i] = (1 + ;"),
        (header, "it includes a header", "#include <vector>"),
        (unknown_name, "missing", "    out[i] = missing + 1;"),
        (assembly, "inline assembly", '    asm("mov.u32'),
        (half_of_a_wave, "a mask of 32 bits leaves out half of the 64 lanes", "    out[i] = __shfl_sync(all, i, 0);"),
        (much_memory, "more __shared__ memory than the 65536 bytes", "    __shared__ int second[9000];"),
    ],
    ids=["syntax", "header", "name", "assembly", "mask", "memory"],
)
def test_snippets_that_are_wrong_say_where(snippet, message, line):
    @wp.kernel(module="unique")
    def kernel(out: wp.array(dtype=int)):
        snippet(out, wp.tid())

    with pytest.raises(wp.WarpCodegenError, match=message) as raised:
        wp.launch(kernel, 64, [wp.zeros(64, dtype=int)])
    assert f'File "{__file__}", line ' in str(raised.value) and line in str(raised.value)


def test_asserts_of_snippets_say_where():
    @wp.func_native("assert(i < 70 && out[i] == 0);\nout[i] = 2;")
    def checked(out: wp.array(dtype=int), i: int): ...

    wp.config.mode = "debug"
    try:

        @wp.kernel(module="unique")
        def kernel(out: wp.array(dtype=int)):
            checked(out, wp.tid())

        wp.launch(kernel, 71, [wp.zeros(71, dtype=int)])
        with pytest.raises(RuntimeError, match=r"in thread \(70\): assertion failed") as raised:
            wp.synchronize()
        assert "assert(i < 70 && out[i] == 0);" in str(raised.value)
    finally:
        wp.config.mode = "release"
