"""NVIDIA GPUs: memory, launches, gradients, streams, graphs. Runs where there is one; PTX is tested without:
core tests.
"""

import gc
import subprocess
import sys

import numpy as np
import pytest
from support.check_random_kernels import check

import warp as wp

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")
CUDA = "cuda:0"


@wp.struct
class Particle:
    x: wp.vec3
    m: float


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def index_3d(out: wp.array3d(dtype=int)):
    i, j, k = wp.tid()
    out[i, j, k] = 10000 * i + 100 * j + k


@wp.kernel
def powers(x: wp.array(dtype=float), counts: wp.array(dtype=int), out: wp.array(dtype=float)):
    i = wp.tid()
    p = float(1.0)
    for _ in range(counts[i]):
        p *= x[i]
    out[i] = p + wp.sin(x[i]) * wp.length(wp.vec3(x[i], 2.0, p))


@wp.kernel
def scatter(
    x: wp.array(dtype=float), slots: wp.array(dtype=int), out: wp.array(dtype=float), top: wp.array(dtype=float)
):
    i = wp.tid()
    wp.atomic_add(out, slots[i], x[i])
    wp.atomic_max(top, slots[i], x[i])


@wp.kernel
def move(p: wp.array(dtype=Particle), dt: float):
    i = wp.tid()
    p[i].x = p[i].x + wp.vec3(dt, 2.0 * dt, p[i].m)


@wp.kernel
def fused(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * x[i] - 1.0


@wp.kernel
def checked(x: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] < 100.0, "too large"


def test_the_device_tells_what_it_is():
    device = wp.get_device(CUDA)
    assert device.is_cuda and not device.is_cpu and str(device) == CUDA
    assert wp.get_device("cuda") == device and device in wp.get_cuda_devices()
    assert device.arch >= 75 and device.sm_count > 0 and device.total_memory > device.free_memory > 0
    assert device.uuid.startswith("GPU-") and device.pci_bus_id.count(":") == 2
    assert wp.get_cuda_driver_version() >= (11, 8)


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint16, wp.float32, wp.float64, wp.vec3, wp.mat22h, wp.transform])
def test_arrays_go_there_and_back(dtype):
    rng = np.random.default_rng(3)
    host = wp.zeros((5, 7), dtype=dtype, device="cpu")
    data = rng.integers(0, 100, host.numpy().shape).astype(host.numpy().dtype)
    a = wp.array(data, dtype=dtype, device=CUDA)
    assert a.device == wp.get_device(CUDA) and a.shape == (5, 7)
    np.testing.assert_array_equal(a.numpy(), data)
    np.testing.assert_array_equal(a.to("cpu").numpy(), data)
    # strided, both ways, and on the device
    np.testing.assert_array_equal(a[1:5:2, ::3].numpy(), data[1:5:2, ::3])
    b = wp.zeros((7, 5), dtype=dtype, device=CUDA)
    wp.copy(b.transpose(), a)
    np.testing.assert_array_equal(b.numpy(), data.swapaxes(0, 1))
    b.fill_(dtype(3) if dtype is not wp.transform else wp.transform(3, 3, 3, 3, 3, 3, 3))
    assert (b.numpy() == 3).all()
    b[::2].zero_()
    assert (b.numpy()[::2] == 0).all() and (b.numpy()[1::2] == 3).all()


@pytest.mark.parametrize("block_dim, max_blocks", [(256, 0), (32, 0), (1, 3), (1000, 1)])
def test_launches_reach_every_item_once(block_dim, max_blocks):
    n = 10007
    x = np.arange(n, dtype=np.float32)
    a, b = wp.array(x, device=CUDA), wp.array(2 * x, device=CUDA)
    wp.launch(saxpy, n, [a, b, 0.5], device=CUDA, block_dim=block_dim, max_blocks=max_blocks)
    np.testing.assert_array_equal(b.numpy(), 2.5 * x)


def test_coordinates_of_three_dimensions():
    out = wp.zeros((7, 5, 9), dtype=int, device=CUDA)
    wp.launch(index_3d, out.shape, [out], device=CUDA)
    i, j, k = np.indices(out.shape)
    np.testing.assert_array_equal(out.numpy(), 10000 * i + 100 * j + k)


def test_gradients_are_those_of_the_cpu():
    x = np.linspace(-1.5, 1.5, 33, dtype=np.float32)
    counts = np.arange(33, dtype=np.int32) % 18
    found = {}
    for device in ("cpu", CUDA):
        a = wp.array(x, device=device, requires_grad=True)
        out = wp.zeros(33, device=device, requires_grad=True)
        tape = wp.Tape()
        with tape:
            wp.launch(powers, 33, [a, wp.array(counts, device=device), out], device=device)
        tape.backward(grads={out: wp.array(np.ones(33, np.float32), device=device)})
        found[device] = out.numpy(), a.grad.numpy()
    for of_cpu, of_gpu in zip(found["cpu"], found[CUDA], strict=True):
        np.testing.assert_allclose(of_gpu, of_cpu, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("fuse", [True, False])
def test_products_and_sums_are_fused_unless_told_otherwise(fuse):
    x = np.float32([1 + 2**-12, 1 + 2**-20])
    exact = (x.astype(np.float64) ** 2 - 1).astype(np.float32)
    saved = wp.get_module_options()["fuse_fp"]
    wp.set_module_options({"fuse_fp": fuse})
    try:
        out = wp.zeros(2, device=CUDA)
        wp.launch(fused, 2, [wp.array(x, device=CUDA), out], device=CUDA)
    finally:
        wp.set_module_options({"fuse_fp": saved})
    np.testing.assert_array_equal(out.numpy(), exact if fuse else x * x - np.float32(1))


@wp.kernel
def scaled_by_block(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * float(wp.block_dim())


def test_adjoints_have_the_blocks_of_their_launch():
    x = wp.array(np.ones(5, np.float32), device=CUDA, requires_grad=True)
    out = wp.zeros(5, device=CUDA, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch(scaled_by_block, 5, [x, out], device=CUDA, block_dim=64)
    tape.backward(grads={out: wp.array(np.ones(5, np.float32), device=CUDA)})
    assert (out.numpy() == 64).all() and (x.grad.numpy() == 64).all()


def test_atomics():
    rng = np.random.default_rng(5)
    slots = rng.integers(0, 17, 5000).astype(np.int32)
    x = rng.integers(-50, 50, 5000).astype(np.float32)
    out, top = wp.zeros(17, device=CUDA), wp.full(17, -1e9, dtype=float, device=CUDA)
    wp.launch(scatter, 5000, [wp.array(x, device=CUDA), wp.array(slots, device=CUDA), out, top], device=CUDA)
    np.testing.assert_array_equal(out.numpy(), np.bincount(slots, x, 17))
    np.testing.assert_array_equal(top.numpy(), [x[slots == s].max() for s in range(17)])


def test_arrays_of_structs():
    ps = []
    for i in range(5):
        p = Particle()
        p.x, p.m = wp.vec3(i, 0.0, 1.0), 0.5 * i
        ps.append(p)
    a = wp.array(ps, dtype=Particle, device=CUDA)
    wp.launch(move, 5, [a, 0.25], device=CUDA)
    x = a.numpy()["x"]
    np.testing.assert_allclose(x, [[i + 0.25, 0.5, 1 + 0.5 * i] for i in range(5)])


def test_a_failed_assert_is_an_exception_with_the_thread():
    saved = wp.config.mode
    wp.config.mode = "debug"
    try:
        x = wp.array(np.float32([1, 2, 500, 3]), device=CUDA)
        wp.launch(checked, 4, [x], device=CUDA)
        with pytest.raises(RuntimeError, match=r"thread \(2\).*too large"):
            wp.synchronize_device(CUDA)
        wp.synchronize_device(CUDA)  # told once
    finally:
        wp.config.mode = saved


def test_streams_and_events():
    device = wp.get_device(CUDA)
    stream = wp.Stream(device)
    n = 1 << 20
    a, b = wp.full(n, 1.0, dtype=float, device=CUDA), wp.zeros(n, device=CUDA)
    start, end = wp.Event(device, enable_timing=True), wp.Event(device, enable_timing=True)
    with wp.ScopedStream(stream):
        assert device.stream == stream
        stream.record_event(start)
        for _ in range(10):
            wp.launch(saxpy, n, [a, b, 1.0], device=CUDA)
        stream.record_event(end)
    assert device.stream != stream
    device.stream.wait_event(end)
    assert wp.get_event_elapsed_time(start, end) > 0
    assert stream.is_complete and end.is_complete
    assert (b.numpy() == 10).all()
    wp.launch(saxpy, n, [a, b, 1.0], stream=stream)
    wp.synchronize_stream(stream)
    assert (b.numpy() == 11).all()


def test_a_captured_graph_repeats_its_work():
    n = 1000
    a, b = wp.full(n, 1.0, dtype=float, device=CUDA), wp.zeros(n, device=CUDA)
    wp.load_module(device=CUDA)
    wp.launch(saxpy, n, [a, b, 0.0], device=CUDA)
    with wp.ScopedCapture(device=CUDA) as capture:
        for _ in range(3):
            wp.launch(saxpy, n, [a, b, 1.0], device=CUDA)
    assert (b.numpy() == 0).all()
    for _ in range(4):
        wp.capture_launch(capture.graph)
    assert (b.numpy() == 12).all()


def test_memory_comes_back():
    device = wp.get_device(CUDA)
    wp.zeros(1 << 20, device=CUDA)
    wp.synchronize_device(CUDA)
    before = device.free_memory
    for _ in range(200):
        wp.zeros(1 << 24, device=CUDA)
    wp.synchronize_device(CUDA)
    assert device.free_memory > before - (1 << 28)


def test_arrays_of_another_device_are_refused():
    with pytest.raises(RuntimeError, match="device 'cpu', the launch on 'cuda:0'"):
        wp.launch(saxpy, 3, [wp.zeros(3, device="cpu"), wp.zeros(3, device=CUDA), 1.0], device=CUDA)


@pytest.mark.parametrize("first", [0, 25, 50, 75])
def test_gradients_of_random_kernels(first, tmp_path):
    with wp.ScopedDevice(CUDA):
        results = [(seed, *check(seed, tmp_path)) for seed in range(first, first + 25)]
    assert not [r for r in results if r[1] not in ("right", "uncheckable")]


def test_algorithms_take_arrays_of_the_device():
    rng = np.random.default_rng(8)
    keys, values = rng.integers(0, 1000, 500).astype(np.int32), np.arange(500, dtype=np.int32)
    k, v = (wp.array(np.concatenate([a, a]), device=CUDA) for a in (keys, values))
    wp.utils.radix_sort_pairs(k, v, 500)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(k.numpy()[:500], keys[order])
    np.testing.assert_array_equal(v.numpy()[:500], values[order])
    total = wp.zeros(500, dtype=int, device=CUDA)
    wp.utils.array_scan(wp.array(keys, device=CUDA), total)
    np.testing.assert_array_equal(total.numpy(), np.cumsum(keys))
    assert wp.utils.array_sum(wp.array(keys.astype(np.float32), device=CUDA)) == keys.sum()


def test_torch_tensors_are_arguments():
    torch = pytest.importorskip("torch", reason="torch is optional")
    x = torch.arange(1000, dtype=torch.float32, device=CUDA)
    y = torch.ones(1000, device=CUDA)
    torch.cuda.synchronize()
    wp.launch(saxpy, 1000, [x, y, 2.0], device=CUDA)
    wp.synchronize_device(CUDA)
    np.testing.assert_array_equal(y.cpu().numpy(), 2 * np.arange(1000, dtype=np.float32) + 1)
    back = torch.as_tensor(wp.full(7, 3.0, dtype=float, device=CUDA), device=CUDA)
    assert back.sum().item() == 21


def test_sums_without_an_order_are_refused_in_deterministic_mode():
    @wp.kernel(module="unique")
    def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        wp.atomic_add(out, 0, x[wp.tid()])

    x, out = wp.ones(100, dtype=float, device=CUDA), wp.zeros(1, dtype=float, device=CUDA)
    wp.config.deterministic = wp.DeterministicMode.RUN_TO_RUN
    try:
        with pytest.raises(wp.WarpError, match=r"total' has atomics .* order"):
            wp.launch(total, 100, [x, out], device=CUDA)
    finally:
        wp.config.deterministic = wp.DeterministicMode.NOT_GUARANTEED
    wp.launch(total, 100, [x, out], device=CUDA)
    assert out.numpy()[0] == 100


# ---- launches that promise dense arrays: several items a thread, sums of threads and warps ----


@wp.kernel
def scaled(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def summed(x: wp.array(dtype=float), out: wp.array(dtype=float), count: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(out, 0, x[i])
    if x[i] > 0.5:
        wp.atomic_add(count, 1, 1)


@pytest.mark.parametrize("n", [1, 3, 4, 5, 255, 1023, 4098])
def test_every_item_runs_once_however_many_a_thread_takes(n):
    x = np.arange(n + 3, dtype=np.float32)
    dense, out = wp.array(x[:n], device=CUDA), wp.zeros(n, device=CUDA)
    wp.launch(scaled, n, [dense, out, 2.0], device=CUDA)
    np.testing.assert_array_equal(out.numpy(), 2.0 * x[:n])
    # Not at a multiple of 16 bytes, and with gaps: the other code.
    whole = wp.array(x, device=CUDA)
    for source in (whole[1 : n + 1], wp.array(np.repeat(x, 2), device=CUDA)[: 2 * n : 2]):
        out.zero_()
        wp.launch(scaled, n, [source, out, 2.0], device=CUDA)
        np.testing.assert_array_equal(out.numpy(), 2.0 * source.numpy())


@pytest.mark.parametrize("n", [1, 31, 1000, 1 << 20])
@pytest.mark.parametrize("block_dim", [32, 48, 256])
def test_sums_to_one_address(n, block_dim):
    x = np.random.default_rng(n).integers(0, 9, n).astype(np.float32) / 8
    out, count = wp.zeros(1, device=CUDA), wp.zeros(2, dtype=int, device=CUDA)
    wp.launch(summed, n, [wp.array(x, device=CUDA), out, count], device=CUDA, block_dim=block_dim)
    np.testing.assert_allclose(out.numpy()[0], x.sum(dtype=np.float64), rtol=1e-6)
    assert count.numpy().tolist() == [0, int((x > 0.5).sum())]


# ---- errors that come late ----

BROKEN = """
import warp as wp

@wp.kernel
def good(x: wp.array(dtype=float)):
    x[wp.tid()] = 1.0

@wp.kernel
def broken(x: wp.array(dtype=float)):
    x[wp.tid()] = 2.0

x = wp.zeros(8, dtype=float, device="cuda:0")
nowhere = wp.array(ptr=1 << 20, dtype=float, shape=8, device="cuda:0")
wp.launch(good, 8, [x], device="cuda:0")
wp.synchronize_device("cuda:0")
wp.launch(broken, 8, [nowhere], device="cuda:0")
for _ in range(2):
    try:
        wp.synchronize_device("cuda:0")
        print("nothing was told")
    except RuntimeError as error:
        print("told:", error)
try:
    wp.launch(good, 8, [x], device="cuda:0")
    wp.synchronize_device("cuda:0")
except RuntimeError as error:
    print("later:", error)
"""


@pytest.mark.parametrize("verified", [False, True])
def test_an_illegal_address_is_told_with_the_launch_that_caused_it(tmp_path, verified):
    program = tmp_path / "program.py"
    text = (
        BROKEN.replace("import warp as wp", "import warp as wp\nwp.config.verify_cuda = True") if verified else BROKEN
    )
    program.write_text(text)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False, timeout=120)
    told = done.stderr if verified else done.stdout
    assert "illegal memory access" in told, done
    assert "kernel 'broken'" in told or "broken" in told.splitlines()[-1]
    line = text.splitlines().index("def broken(x: wp.array(dtype=float)):") + 1
    assert f"program.py:{line}" in told or f"line {line}" in told
    assert "'good'" not in told.split("later:")[0]
    assert "block_dim" not in told, "what a broken context answers is no limit"


# ---- copies and captures ----


def test_copies_of_indexed_arrays_and_between_devices():
    x = np.arange(24, dtype=np.float32)
    indices = wp.array(np.arange(0, 24, 3, dtype=np.int32), device=CUDA)
    there = wp.array(x, device=CUDA)[indices]
    np.testing.assert_array_equal(there.numpy(), x[::3])
    host = wp.zeros(8, device="cpu")
    wp.copy(host, there)
    np.testing.assert_array_equal(host.numpy(), x[::3])
    wp.copy(there, wp.full(8, 5.0, device="cpu"))
    np.testing.assert_array_equal(there.numpy(), np.full(8, 5.0))


def test_arrays_made_in_a_capture_live_as_long_as_its_graph():
    with wp.ScopedCapture(CUDA) as capture:
        a = wp.zeros(1000, device=CUDA)
        wp.launch(scaled, 1000, [wp.ones(1000, device=CUDA), a, 3.0], device=CUDA)  # the ones die here
    others = [wp.full(1000, 7.0, device=CUDA) for _ in range(10)]
    for _ in range(3):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(a.numpy(), np.full(1000, 3.0))
    assert all((o.numpy() == 7.0).all() for o in others)


def test_host_memory_of_a_recorded_copy_is_read_when_the_graph_runs():
    host = wp.zeros(16, device="cpu")
    there = wp.zeros(16, device=CUDA)
    with wp.ScopedCapture(CUDA) as capture:
        wp.copy(there, host)
    for value in (1.0, 2.0):
        host.fill_(value)
        wp.capture_launch(capture.graph)
        wp.synchronize_device(CUDA)
        np.testing.assert_array_equal(there.numpy(), np.full(16, value))


@wp.kernel
def count_down(n: wp.array(dtype=int), turns: wp.array(dtype=int)):
    turns[0] = turns[0] + 1
    n[0] = n[0] - 1


@pytest.mark.skipif(not wp.is_conditional_graph_supported(), reason="needs a driver of CUDA 12.4")
def test_conditions_in_a_graph_are_read_when_it_runs():
    n, turns = wp.zeros(1, dtype=int, device=CUDA), wp.zeros(1, dtype=int, device=CUDA)
    yes, no = wp.zeros(1, device=CUDA), wp.zeros(1, device=CUDA)
    wp.load_module(device=CUDA)
    with wp.ScopedCapture(CUDA) as capture:
        wp.capture_if(n, lambda: yes.fill_(1.0), lambda: no.fill_(1.0))
        wp.capture_while(n, lambda: wp.launch(count_down, 1, [n, turns], device=CUDA))
    for start in (0, 5):
        n.fill_(start)
        turns.zero_()
        yes.zero_()
        no.zero_()
        wp.capture_launch(capture.graph)
        assert turns.numpy()[0] == start
        assert (yes.numpy()[0], no.numpy()[0]) == ((1.0, 0.0) if start else (0.0, 1.0))


# ---- memory ----


def test_kinds_of_memory_and_pools():
    assert wp.zeros(4, device="cpu", pinned=True).memory_kind is wp.MemoryKind.PINNED
    with wp.ScopedMempool(CUDA, True):
        before = wp.get_mempool_used_mem_current(CUDA)
        a = wp.zeros(1 << 20, device=CUDA)
        assert a.memory_kind is wp.MemoryKind.CUDA_MEMPOOL
        assert wp.get_mempool_used_mem_current(CUDA) >= before + (1 << 22)
    with wp.ScopedMempool(CUDA, False):
        assert wp.zeros(4, device=CUDA).memory_kind is wp.MemoryKind.CUDA_DEVICE
    with wp.ScopedAllocator(CUDA, wp.CudaManagedAllocator()):
        managed = wp.full(4, 2.0, device=CUDA)
    assert managed.memory_kind is wp.MemoryKind.CUDA_MANAGED
    np.testing.assert_array_equal(managed.numpy(), np.full(4, 2.0))


def test_memory_from_pytorchs_pool():
    torch = pytest.importorskip("torch")
    torch.cuda.init()
    before = torch.cuda.memory_allocated()
    with wp.ScopedAllocator(CUDA, wp.utils.AllocatorTorch()):
        a = wp.full(1 << 20, 2.0, dtype=float, device=CUDA)
        assert torch.cuda.memory_allocated() == before + (4 << 20)
    assert a.numpy().sum() == 2 << 20
    del a
    gc.collect()
    assert torch.cuda.memory_allocated() == before


def test_what_the_driver_says_of_a_kernel():
    properties = wp.get_cuda_kernel_properties(scaled, CUDA)
    assert properties["register_count"] > 0
    threads, blocks = wp.get_suggested_block_size(scaled, CUDA)
    assert threads % 32 == 0 and blocks > 0


# ---- other libraries ----


def test_torch_shares_memory_and_streams():
    torch = pytest.importorskip("torch", reason="torch is optional")
    t = torch.arange(12, dtype=torch.float32, device=CUDA).reshape(4, 3)
    a = wp.from_torch(t, dtype=wp.vec3)
    assert a.shape == (4,) and a.ptr == t.data_ptr()
    back = wp.to_torch(a)
    assert back.data_ptr() == t.data_ptr() and tuple(back.shape) == (4, 3)
    with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream())):
        a.fill_(wp.vec3(1.0, 2.0, 3.0))
        t *= 2.0
    np.testing.assert_array_equal(a.numpy(), np.tile([2.0, 4.0, 6.0], (4, 1)))


@wp.kernel
def grow(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= x[i]


@pytest.mark.parametrize(
    "overwrite",
    [lambda a, o: a.fill_(3.0), lambda a, o: wp.launch(grow, 3, [a], device=CUDA), lambda a, o: wp.copy(a, o)],
)
def test_a_graph_saves_what_it_overwrites(overwrite):
    a = wp.array([1.0, 2.0, 3.0], dtype=float, device=CUDA, requires_grad=True)
    o = wp.zeros(3, dtype=float, device=CUDA, requires_grad=True)
    seed = wp.ones(3, dtype=float, device=CUDA)
    wp.load_module(device=CUDA)
    with wp.ScopedCapture(device=CUDA) as capture:
        with wp.Tape() as tape:
            wp.launch(fused, 3, [a, o], device=CUDA)
            overwrite(a, o)
        a.grad.zero_()
        tape.backward(grads={o: seed})
    for values in ([1.0, 2.0, 3.0], [4.0, 0.5, 2.0]):
        a.assign(values)
        o.grad.zero_()
        wp.capture_launch(capture.graph)
        # What flows back through the copy of o and what was there before it are other arrays' business.
        np.testing.assert_allclose(a.grad.numpy(), 2 * np.array(values), rtol=1e-6)


# ---- what is not there yet ----


def test_graphs_with_arrays_of_a_gpu_are_not_saved(tmp_path):
    x, far = wp.zeros(4, dtype=float, device="cpu"), wp.zeros(4, dtype=float, device=CUDA)
    with wp.ScopedCapture(device="cpu", apic=True) as capture:
        x.fill_(1.0)
    with pytest.raises(NotImplementedError, match="an array of cuda:0 cannot be saved"):
        wp.capture_save(capture.graph, tmp_path / "graph", inputs={"far": far})
