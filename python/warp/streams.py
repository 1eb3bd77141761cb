"""Streams and events: order and time of work on a device that runs beside the program. Those are CUDA's; a processor
runs each launch before `launch` returns, so that nothing of it can be waited for, and asking for a stream is an error.
"""

from warp import _core
from warp.arrays import array
from warp.devices import get_device, no_cuda_device, synchronize_device
from warp.loggers import log_warning


def _cuda_device(device):
    device = get_device(device)
    if not device.is_cuda:
        raise no_cuda_device(device)
    return device


class Stream:
    """A queue of work of a CUDA device. `priority`: 0, or -1 for work that goes first; `cuda_stream`: the handle of a
    stream of another library, which keeps it.
    """

    def __init__(self, device=None, priority=0, cuda_stream=None):
        self.device = _cuda_device(device)
        if cuda_stream is None:
            self._core = _core.CudaStream(self.device, max(-1, min(0, priority)))
        else:
            self._core = _core.CudaStream._borrow(self.device, cuda_stream)
        self.owner = cuda_stream is None

    cuda_stream = property(lambda self: self._core.cuda_stream)
    priority = property(lambda self: self._core.priority)
    is_complete = property(lambda self: self._core.is_complete)
    is_capturing = property(lambda self: self._core.is_capturing)

    def record_event(self, event=None, external=False):
        """Marks the end of the work so far; returns the event."""
        if event is None:
            event = Event(self.device)
        elif event.device is not self.device:
            raise RuntimeError(f"Event from device {event.device} cannot be recorded on stream from {self.device}")
        self._core._record(event._core, external)
        return event

    def wait_event(self, event, external=False):
        """Later work waits for the event."""
        self._core._wait(event._core, external)

    def wait_stream(self, other_stream, event=None, external=False):
        """Later work waits for what the other stream has got so far."""
        self.wait_event(other_stream.record_event(event, external), external)

    def __eq__(self, other):
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream and other.device is self.device

    def __hash__(self):
        return hash((self.device, self.cuda_stream))

    def __repr__(self):
        return f"Stream(device={self.device}, cuda_stream={self.cuda_stream:#x})"


class Event:
    """A mark in a stream of a CUDA device."""

    def __init__(self, device=None, cuda_event=None, enable_timing=False, interprocess=False):
        self.device = _cuda_device(device)
        if interprocess and enable_timing:
            raise ValueError("The combination of 'enable_timing=True' and 'interprocess=True' is not allowed.")
        self._interprocess = interprocess
        if cuda_event is not None:
            self._core = _core.CudaEvent._borrow(self.device, cuda_event)
            return
        self._core = _core.CudaEvent(self.device, enable_timing, interprocess)

    cuda_event = property(lambda self: self._core.cuda_event)
    is_complete = property(lambda self: self._core.is_complete)
    enable_timing = property(lambda self: self._core.enable_timing)

    def ipc_handle(self):
        """64 bytes by which another process opens the event, which must have been made with `interprocess=True`."""
        if not self._interprocess:
            log_warning("IPC event handle appears to be invalid. Was interprocess=True used?", stacklevel=3)
            return bytes(64)
        return self._core._ipc_handle()


class ScopedStream:
    """Makes a stream the current one of its device, and the device the current one, inside a `with` block; None:
    nothing changes. `sync_enter`, `sync_exit`: the streams wait for each other at the ends of the block.
    """

    def __init__(self, stream, sync_enter=True, sync_exit=False):
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"expected a wp.Stream, found {type(stream).__name__}")
        self.stream, self.sync_enter, self.sync_exit = stream, sync_enter, sync_exit

    def __enter__(self):
        if self.stream is not None:
            device = self.stream.device
            self.saved = device.stream
            self.saved_device = _core.get_default_device()
            _core.set_default_device(device)
            device.set_stream(self.stream, self.sync_enter)
        return self.stream

    def __exit__(self, *exception):
        if self.stream is not None:
            self.stream.device.set_stream(self.saved, self.sync_exit)
            _core.set_default_device(self.saved_device)


def get_stream(device=None):
    """The current stream of a CUDA device."""
    return _cuda_device(device).stream


def set_stream(stream, device=None, sync=False):
    """Makes a stream the current one of a CUDA device."""
    _cuda_device(stream.device if device is None else device).set_stream(stream, sync)


def record_event(event=None, external=False):
    return _cuda_device(None).stream.record_event(event, external)


def wait_event(event, external=False):
    _cuda_device(None).stream.wait_event(event, external)


def wait_stream(other_stream, event=None, external=False):
    _cuda_device(None).stream.wait_stream(other_stream, event, external)


def get_event_elapsed_time(start_event, end_event, synchronize=True):
    """Milliseconds between two events that were made with `enable_timing=True`."""
    for event in (start_event, end_event):
        if not isinstance(event, Event):
            raise TypeError(f"expected a wp.Event, found {type(event).__name__}")
    if synchronize:
        synchronize_event(end_event)
    return end_event._core._since(start_event._core)


def event_from_ipc_handle(handle, device=None):
    """The event of another process by its handle (`Event.ipc_handle`)."""
    device = _cuda_device(device)
    event = Event.__new__(Event)
    event.device, event._interprocess, event._core = device, True, _core.CudaEvent._open(device, handle)
    return event


def from_ipc_handle(handle, dtype, shape, strides=None, device=None):
    """An array over memory of another process by its handle (`array.ipc_handle`). It must not outlive that array."""
    device = _cuda_device(device)
    ptr = device._open_memory(handle)
    return array(
        ptr=ptr,
        dtype=dtype,
        shape=shape,
        strides=strides,
        device=device,
        deleter=lambda ptr, size: device._close_memory(ptr),
    )


def synchronize_stream(stream_or_device=None):
    """Waits for a stream, or for the current stream of a device."""
    if isinstance(stream_or_device, Stream):
        stream_or_device._core._synchronize()
    elif (device := get_device(stream_or_device)).is_cuda:
        device.stream._core._synchronize()
    else:
        synchronize_device(device)


def synchronize_event(event):
    """Waits for an event."""
    event._core._synchronize()


def cuda_profiler_start(device=None):
    """Begins recording by CUDA's profiler, where it waits for that."""
    _cuda_device(device)
    _core.cuda_profiler(True)


def cuda_profiler_stop(device=None):
    _cuda_device(device)
    _core.cuda_profiler(False)


class ScopedCudaProfiler:
    """Runs CUDA's profiler inside a `with` block."""

    def __init__(self, device=None):
        self.device = _cuda_device(device)

    def __enter__(self):
        cuda_profiler_start(self.device)
        return self

    def __exit__(self, *exception):
        cuda_profiler_stop(self.device)
