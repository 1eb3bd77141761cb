"""Errors of NVIDIA's driver, one at each call that the runtime makes: what is raised, that nothing is left half made,
and that the next try works. Runs with the stand-in for the driver (test_cuda_failures.py begins it).
"""

import numpy as np
import pytest
from support.fake_cuda import Fake

import warp as wp

fake = Fake()
OUT_OF_MEMORY, ILLEGAL_ADDRESS, INVALIDATED, UNKNOWN = 2, 700, 901, 999


@wp.kernel
def double(a: wp.array[float], b: wp.array[float]):
    i = wp.tid()
    b[i] = 2.0 * a[i]


@wp.kernel
def triple(a: wp.array[float], b: wp.array[float]):
    i = wp.tid()
    b[i] = 3.0 * a[i]


def line_of(kernel):
    return kernel.func.__code__.co_firstlineno + 1


@pytest.fixture(autouse=True)
def device():
    """Each test begins with the GPU as the default device, and must leave no failure behind."""
    yield from fake.device("cuda:0")


# ---- first: the context is not made yet ----


@pytest.mark.parametrize(
    "function, calls",
    [
        ("cuDevicePrimaryCtxRetain", 0),
        ("cuCtxGetCurrent", 0),
        ("cuCtxSetCurrent", 0),
        ("cuStreamCreateWithPriority", 0),
        ("cuStreamCreateWithPriority", 1),
        ("cuMemHostAlloc", 0),
        ("cuDeviceGetDefaultMemPool", 0),
    ],
)
def test_a_context_is_made_whole_or_not_at_all(device, function, calls):
    assert not device.has_context
    fake.fail(function, OUT_OF_MEMORY, calls)
    with pytest.raises(RuntimeError, match=r"Warp CUDA error 2: .*out of memory \(CUDA_ERROR_OUT_OF_MEMORY\)"):
        wp.zeros(4)
    assert not device.has_context
    assert not any(fake.alive().values())


def test_then_it_is_made(device):
    np.testing.assert_array_equal(wp.array([1.0, 2.0], dtype=float).numpy(), [1, 2])
    assert device.has_context
    alive = fake.settled()
    assert (alive["stream"], alive["pinned"], alive["memory"]) == (2, 1, 0)


# ---- memory ----


@pytest.mark.parametrize("function", ["cuMemAllocAsync", "cuMemsetD8Async"])
def test_zeros(function):
    text = r"Failed to allocate 16 bytes on device 'cuda:0': out of memory"
    if function == "cuMemsetD8Async":
        text = "Warp CUDA error 2: filling with zeros"
    fake.fails_once(lambda: wp.zeros(4, dtype=float), function, OUT_OF_MEMORY, text)


def test_arrays_made_of_data():
    made = lambda: wp.array(np.ones(4, dtype=np.float32))  # noqa: E731
    fake.fails_once(made, "cuMemcpyHtoDAsync", UNKNOWN, "Warp CUDA error 999: copy to the device")
    fake.fails_once(made, "cuStreamSynchronize", UNKNOWN, "Warp CUDA error 999: copy to the device")


def test_reading_and_copying():
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    fake.fails_once(a.numpy, "cuMemcpyDtoHAsync", UNKNOWN, "copy from the device")
    fake.fails_once(lambda: wp.copy(b, a), "cuMemcpyDtoDAsync", UNKNOWN, "copy on the device")


def test_without_the_pool(device):
    with wp.ScopedMempool(device, False):
        text = "Failed to allocate 16 bytes on device 'cuda:0': out of memory"
        fake.fails_once(lambda: wp.empty(4, dtype=float), "cuMemAlloc", OUT_OF_MEMORY, text)
        fake.fails_once(lambda: wp.zeros(4, dtype=float), "cuMemsetD8Async", OUT_OF_MEMORY, "filling with zeros")


def test_pinned_memory():
    made = lambda: wp.empty(4, dtype=float, device="cpu", pinned=True)  # noqa: E731
    fake.fails_once(made, "cuMemHostAlloc", OUT_OF_MEMORY, "Failed to allocate 16 bytes .*out of memory")


def test_managed_memory(device):
    with wp.ScopedAllocator(device, wp.CudaManagedAllocator()):
        text = "Failed to allocate 16 bytes .*out of memory"
        fake.fails_once(lambda: wp.empty(4, dtype=float), "cuMemAllocManaged", OUT_OF_MEMORY, text)


# ---- code and launches ----


def make_kernel(number):
    @wp.kernel
    def made(a: wp.array[float]):
        i = wp.tid()
        a[i] = a[i] + float(wp.static(number))

    return made


@pytest.mark.parametrize(
    "function, text",
    [
        ("cuLinkCreate", "the CUDA driver refuses the compiled code"),
        ("cuLinkAddData", "the CUDA driver refuses the compiled code"),
        ("cuLinkComplete", "the CUDA driver refuses the compiled code"),
        ("cuModuleLoadData", "Warp CUDA error 218: loading compiled code: a PTX JIT compilation failed"),
        ("cuModuleGetFunction", "Warp CUDA error 218: finding a compiled kernel"),
    ],
)
def test_code_that_does_not_load(function, text):
    a, b = wp.zeros(4, dtype=float), wp.zeros(4, dtype=float)
    kernel = make_kernel(len(function) + len(text))
    wp.launch(double, 4, [a], [b])
    before = fake.settled()
    # There are two codes, of which the launch wants one: for arrays that lie densely, and for all.
    fake.fail(function, 218, times=2 if "Link" in function else 1)
    with pytest.raises(RuntimeError, match=text) as raised:
        wp.launch(kernel, 4, [a])
    del raised
    assert {**fake.settled(), "module": 0} == {**before, "module": 0}
    wp.launch(kernel, 4, [a])
    assert fake.settled()["module"] == before["module"] + 1
    # A module keeps the newest kernel of a name.
    del kernel
    make_kernel(0)
    wp.launch(double, 4, [a], [b])
    assert fake.settled() == before


def test_launches():
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    launch = lambda: wp.launch(double, 4, [a], [b])  # noqa: E731
    text = rf"(?s)Warp CUDA error 999: launching kernel 'double' on cuda:0.*cuda_failures\.py\", line {line_of(double)}"
    fake.fails_once(launch, "cuLaunchKernel", UNKNOWN, text)


# ---- streams and events ----


def test_streams_and_events(device):
    fake.fails_once(lambda: wp.Stream(device), "cuStreamCreateWithPriority", UNKNOWN, "making a stream")
    fake.fails_once(lambda: wp.Event(device), "cuEventCreate", UNKNOWN, "making an event")
    event = wp.Event(device)
    fake.fails_once(lambda: device.stream.record_event(event), "cuEventRecordWithFlags", UNKNOWN, "recording an event")
    fake.fails_once(lambda: device.stream.wait_event(event), "cuStreamWaitEvent", UNKNOWN, "waiting for an event")
    fake.fails_once(lambda: wp.synchronize_event(event), "cuEventSynchronize", UNKNOWN, "waiting for an event")
    fake.fails_once(lambda: wp.synchronize_stream(device), "cuStreamSynchronize", UNKNOWN, "waiting for a stream")
    fake.fails_once(lambda: wp.synchronize_device(device), "cuCtxSynchronize", UNKNOWN, "waiting for the device")


# ---- captures ----


@pytest.mark.parametrize(
    "function, text",
    [
        ("cuStreamBeginCapture", "Warp CUDA error 901: beginning a capture"),
        ("cuLaunchKernel", "Warp CUDA error 901: launching kernel 'double' on cuda:0"),
        ("cuMemAllocAsync", "Warp CUDA error 901: allocating memory of the device"),
        ("cuStreamEndCapture", "Warp CUDA error 901: CUDA graph capture failed"),
        ("cuGraphInstantiate", "Warp CUDA error 901: making a graph ready"),
        ("cuGraphLaunch", "Warp CUDA error 901: launching a graph"),
    ],
)
def test_captures(device, function, text):
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)

    def capture():
        with wp.ScopedCapture() as capture:
            wp.launch(double, 4, [a], [b])
            wp.launch(triple, 4, [wp.zeros(4, dtype=float)], [b])
        wp.capture_launch(capture.graph)

    fake.fails_once(capture, function, INVALIDATED, text)
    assert not device.is_capturing


# ---- errors that come late ----


def test_an_error_names_the_launches_that_may_have_caused_it(device):
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    wp.launch(triple, 4, [a], [b])
    wp.synchronize()  # that one has ended well
    fake.fail_launch(ILLEGAL_ADDRESS)
    wp.launch(double, 4, [a], [b])
    with pytest.raises(RuntimeError, match="an illegal memory access was encountered") as raised:
        b.numpy()
    text = str(raised.value)
    assert f"kernel 'double' ({__file__}:{line_of(double)}) on cuda:0, stream {device.stream.cuda_stream:#x}" in text
    assert "triple" not in text
    # There is one candidate, so that the error is at its line.
    assert raised.value.lineno == line_of(double)
    fake.fail_launch(0)

    # A stream that is waited for has ended its launches; others may not have.
    wp.synchronize()
    other = wp.Stream(device)
    wp.launch(triple, 4, [a], [b], stream=other)
    wp.launch(double, 4, [a], [b])
    wp.synchronize_stream(other)
    fake.fail_launch(ILLEGAL_ADDRESS, launches=2)
    for _ in range(3):
        wp.launch(double, 4, [a], [b])
    with pytest.raises(RuntimeError, match="copy from the device") as raised:
        b.numpy()
    assert "triple" not in str(raised.value) and "4 times" in str(raised.value)


def test_several_kernels_are_all_named():
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    wp.synchronize()
    fake.fail_launch(ILLEGAL_ADDRESS, launches=3)
    for kernel in (double, triple, triple, double):
        wp.launch(kernel, 4, [a], [b])
    with pytest.raises(RuntimeError, match="waiting for the device") as raised:
        wp.synchronize()
    lines = [line.split("(")[0].strip() for line in str(raised.value).splitlines() if " on cuda:0" in line]
    assert lines == ["kernel 'double'", "kernel 'triple'", "kernel 'double'"]
    assert "2 times" in str(raised.value)
    assert "verify_cuda" in str(raised.value)
    # Later calls fail as well, a launch among them, until the error is gone.
    with pytest.raises(RuntimeError, match="an illegal memory access"):
        wp.launch(double, 4, [a], [b])
    with pytest.raises(RuntimeError, match="an illegal memory access"):
        wp.zeros(4, dtype=float)
    fake.fail_launch(0)
    wp.launch(double, 4, [a], [b])
    wp.synchronize()


def test_graphs_name_their_kernels():
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    wp.synchronize()
    with wp.ScopedCapture() as capture:
        for kernel in (double, triple, double):
            wp.launch(kernel, 4, [a], [b])
    wp.capture_launch(capture.graph)
    fake.fail_launch(ILLEGAL_ADDRESS)
    wp.launch(triple, 4, [a], [b])
    with pytest.raises(RuntimeError, match="a captured graph of kernel 'double', kernel 'triple'"):
        wp.synchronize()


def test_verified_launches_are_told_exactly():
    a, b = wp.ones(4, dtype=float), wp.zeros(4, dtype=float)
    wp.config.verify_cuda = True
    try:
        wp.launch(double, 4, [a], [b])
        fake.fail_launch(ILLEGAL_ADDRESS)
        with pytest.raises(RuntimeError, match="running the kernel: an illegal memory access") as raised:
            wp.launch(triple, 4, [a], [b])
        assert raised.value.lineno == line_of(triple) and "double" not in str(raised.value)
        fake.fail_launch(0)
        with wp.ScopedCapture() as capture:
            wp.launch(double, 4, [a], [b])
        wp.capture_launch(capture.graph)
    finally:
        wp.config.verify_cuda = False


def test_adjoints_are_named_as_such():
    a, b = wp.ones(4, dtype=float, requires_grad=True), wp.zeros(4, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(double, 4, [a], [b])
    seed = wp.ones(4, dtype=float)
    wp.synchronize()
    fake.fail_launch(ILLEGAL_ADDRESS)
    tape.backward(grads={b: seed})
    with pytest.raises(RuntimeError, match="the adjoint of kernel 'double'"):
        wp.synchronize()
