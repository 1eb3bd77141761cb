"""MetaX GPUs as devices: names, memory, streams, events, captures of copies, errors. Runs with the stand-ins for MACA
(test_maca.py begins it), two GPUs, whose names WEFT_MACA_AS_CUDA decides.
"""

import os

import numpy as np
import pytest
from support.fake_maca import Fake

import warp as wp

fake = Fake()
KIND = "cuda" if os.environ.get("WEFT_MACA_AS_CUDA") else "maca"
OUT_OF_MEMORY, ILLEGAL_ADDRESS, UNKNOWN = 2, 700, 999


@pytest.fixture(autouse=True)
def device():
    """Each test begins with the first GPU as the default device, and must leave no failure behind."""
    yield from fake.device("maca:0")


# ---- first: the context is not made yet ----


@pytest.mark.parametrize(
    "function, calls",
    [("mcSetDevice", 0), ("mcFree", 0), ("mcDevicePrimaryCtxRetain", 0), ("mcStreamCreateWithPriority", 1)],
)
def test_a_context_is_made_whole_or_not_at_all(device, function, calls):
    assert not device.has_context
    fake.fail(function, OUT_OF_MEMORY, calls)
    text = r"Warp MACA error 2: .*out of memory \(mcErrorMemoryAllocation\)"
    with pytest.raises(RuntimeError, match=text):
        wp.zeros(4)
    assert not device.has_context
    assert not any(fake.alive().values())


def test_what_a_device_is(device):
    assert [d.alias for d in wp.get_devices()] == ["cpu", f"{KIND}:0", f"{KIND}:1"]
    assert str(device) == f"{KIND}:0" and device.is_maca and device.is_cuda and not device.is_cpu
    assert (device.name, device.arch, device.sm_count) == ("MetaX C500", 1000, 104)
    assert device.max_shared_memory_per_block == 65536 and device.total_memory == 64 << 30
    assert device.is_mempool_supported and device.is_uva and device.is_primary
    assert device.uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" and device.pci_bus_id == "0000:01:00.0"
    assert wp.is_cuda_available() and wp.get_cuda_device_count() == 2
    assert wp.get_cuda_supported_archs() == [1000, 1500, 1600] and device.get_cuda_compile_arch() == 1000
    assert wp.get_cuda_driver_version() is None  # it serves no CUDA
    assert not wp.get_device("cpu").is_maca


def test_both_kinds_of_names_are_understood(device):
    for name in ("maca", "cuda", "maca:0", "cuda:0"):
        assert wp.get_device(name) is device
    assert wp.get_device("cuda:1") is wp.get_device("maca:1") is wp.get_cuda_device(1)
    assert device == "cuda:0" and device == "maca:0" and device != "cuda:1"
    for name in ("cuda:2", "maca:2", "maca:x", "macaroni"):
        with pytest.raises(ValueError, match=f"Invalid device identifier: {name}"):
            wp.get_device(name)
    with wp.ScopedDevice("cuda:1"):
        assert wp.zeros(1).device is wp.get_device("maca:1")


# ---- memory ----


def test_arrays():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    a = wp.array(values)
    b = wp.empty_like(a)
    wp.copy(b, a)
    np.testing.assert_array_equal(b.numpy(), values)
    assert not wp.zeros(1000, dtype=wp.float64).numpy().any()
    other = b.to("maca:1")
    assert other.device.ordinal == 1
    np.testing.assert_array_equal(other.numpy(), values)
    np.testing.assert_array_equal(other.to("cpu").numpy(), values)


def test_what_memory_is(device):
    assert wp.zeros(4).memory_kind.name == "CUDA_MEMPOOL"
    with wp.ScopedMempool(device, False):
        assert wp.zeros(4).memory_kind.name == "CUDA_DEVICE"
    assert wp.zeros(4, device="cpu", pinned=True).memory_kind.name == "PINNED"


@pytest.mark.parametrize(
    "function, text",
    [
        ("mcMallocAsync", "Failed to allocate 16 bytes on device '{}:0': out of memory"),
        ("mcMemsetAsync", "Warp MACA error 2: filling with zeros: out of memory"),
    ],
)
def test_zeros_that_fail(function, text):
    fake.fails_once(lambda: wp.zeros(4, dtype=float), function, OUT_OF_MEMORY, text.format(KIND))


def test_copies_that_fail():
    made = lambda: wp.array(np.ones(4, dtype=np.float32))  # noqa: E731
    fake.fails_once(made, "mcMemcpyHostToDevice", UNKNOWN, "Warp MACA error 999: copy to the device")
    a, b = wp.zeros(4), wp.zeros(4)
    fake.fails_once(a.numpy, "mcMemcpyDeviceToHost", UNKNOWN, "copy from the device")
    fake.fails_once(lambda: wp.copy(b, a), "mcMemcpyDeviceToDevice", UNKNOWN, "copy on the device")


def test_peers():
    first, second = wp.get_cuda_devices()
    assert first.can_access(second)
    wp.set_peer_access_enabled(first, second, True)
    wp.set_peer_access_enabled(first, second, False)


def test_what_maca_has_not_says_so():
    with pytest.raises(RuntimeError, match=r"Warp MACA error 801: .*operation not supported"):
        wp.Texture2D(np.zeros((4, 4), dtype=np.float32))


def test_dlpack_calls_it_cuda():
    a = wp.array(np.arange(4, dtype=np.float32))
    assert a.__dlpack_device__() == (2, 0)
    b = wp.from_dlpack(wp.to_dlpack(a))
    assert b.device is a.device and b.ptr == a.ptr
    assert a.__cuda_array_interface__["data"][0] == a.ptr
    assert wp.device_to_torch(a.device) == "cuda:0"


# ---- streams, events, captures ----


def test_streams_and_events(device):
    a, b = wp.array(np.ones(1 << 20, dtype=np.float32)), wp.zeros(1 << 20, dtype=float)
    first, second = wp.Stream(device), wp.Stream(device, priority=-1)
    begin, end = wp.Event(device, enable_timing=True), wp.Event(device, enable_timing=True)
    with wp.ScopedStream(first):
        first.record_event(begin)
        wp.copy(b, a)
        first.record_event(end)
    second.wait_event(end)
    with wp.ScopedStream(second):
        np.testing.assert_array_equal(b.numpy(), 1)
    assert end.is_complete and wp.get_event_elapsed_time(begin, end) >= 0
    wp.synchronize_stream(first)
    assert first.is_complete
    fake.fails_once(lambda: wp.Event(device), "mcEventCreateWithFlags", UNKNOWN, "making an event")
    fake.fails_once(lambda: wp.Stream(device), "mcStreamCreateWithPriority", UNKNOWN, "making a stream")


def test_captured_copies(device):
    a, b, c = (wp.array(np.full(4, k, dtype=np.float32)) for k in range(3))
    other = wp.Stream(device)
    with wp.ScopedCapture() as capture:
        assert device.is_capturing and not other.is_capturing
        wp.copy(b, a)
        other.wait_stream(device.stream)
        assert other.is_capturing  # it takes part
        with wp.ScopedStream(other, sync_enter=False):
            wp.copy(c, b)
            d = wp.zeros(4, dtype=float)  # made while work is recorded: it lives as long as the graph
            wp.copy(d, c)
        device.stream.wait_stream(other)
    assert not device.is_capturing and not other.is_capturing
    np.testing.assert_array_equal(c.numpy(), 2)
    for k in (5, 6):
        a.assign(np.full(4, k, dtype=np.float32))
        wp.capture_launch(capture.graph)
        np.testing.assert_array_equal(c.numpy(), k)
        np.testing.assert_array_equal(d.numpy(), k)
    assert not wp.is_conditional_graph_supported()


@pytest.mark.parametrize(
    "function", ["mcStreamBeginCapture", "mcStreamEndCapture", "mcGraphInstantiate", "mcGraphLaunch"]
)
def test_captures_that_fail(device, function):
    a, b = wp.zeros(4), wp.zeros(4)

    def capture():
        with wp.ScopedCapture() as capture:
            wp.copy(b, a)
        wp.capture_launch(capture.graph)

    fake.fails_once(capture, function, 901, "Warp MACA error 901")
    assert not device.is_capturing


# Settings of NVIDIA's GPUs mean nothing here.
def test_architecture_suffixes_are_not_of_maca(device):
    wp.config.cuda_arch_suffix = "a"
    try:
        assert device._get_cuda_arch_suffix(1000) == ""
    finally:
        wp.config.cuda_arch_suffix = None
