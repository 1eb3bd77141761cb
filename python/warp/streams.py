"""Streams and events: order and time of work on a device that runs beside the program. Those are CUDA's; a processor
runs each launch before `launch` returns, so that nothing of it can be waited for, and asking for a stream is an error.
"""

from warp.devices import get_device, no_cuda_device, synchronize_device


def _cuda_device(device):
    device = get_device(device)
    if not device.is_cuda:
        raise no_cuda_device(device)
    return device


class Stream:
    """A queue of work of a CUDA device."""

    def __init__(self, device=None, priority=0, **kwargs):
        self.device = _cuda_device(device)


class Event:
    """A mark in a stream of a CUDA device."""

    def __init__(self, device=None, cuda_event=None, enable_timing=False, interprocess=False):
        self.device = _cuda_device(device)


class ScopedStream:
    """Makes a stream the current one of its device inside a `with` block; None: nothing changes."""

    def __init__(self, stream, sync_enter=True, sync_exit=False):
        if stream is not None and not isinstance(stream, Stream):
            raise TypeError(f"expected a wp.Stream, found {type(stream).__name__}")
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exception):
        pass


def get_stream(device=None):
    return _cuda_device(device).stream


def set_stream(stream, device=None, sync=False):
    _cuda_device(device)


def record_event(event=None, external=False):
    return _cuda_device(None).stream.record_event(event)


def wait_event(event, external=False):
    _cuda_device(None)


def wait_stream(other_stream, event=None, external=False):
    _cuda_device(None)


def get_event_elapsed_time(start_event, end_event, synchronize=True):
    for event in (start_event, end_event):
        if not isinstance(event, Event):
            raise TypeError(f"expected a wp.Event, found {type(event).__name__}")


def event_from_ipc_handle(handle, device=None):
    _cuda_device(device)


def from_ipc_handle(handle, dtype, shape, strides=None, device=None):
    _cuda_device(device)


def synchronize_stream(stream_or_device=None):
    """Waits for a stream, or for the current stream of a device."""
    if not isinstance(stream_or_device, Stream):
        synchronize_device(stream_or_device)


def synchronize_event(event):
    """Waits for an event."""
    synchronize_device(event.device)


def cuda_profiler_start(device=None):
    _cuda_device(device)


def cuda_profiler_stop(device=None):
    _cuda_device(device)


class ScopedCudaProfiler:
    """Runs CUDA's profiler inside a `with` block."""

    def __init__(self, device=None):
        self.device = _cuda_device(device)
