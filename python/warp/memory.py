"""Memory: kinds, allocators, and the record of who allocated how much (`wp.ScopedMemoryTracker`).

Only memory that programs ask for through arrays is recorded; recording costs nothing while no tracker is active.
"""

import enum
import sys
import threading
import typing
import weakref

from warp import _core, arrays, config
from warp.devices import get_cuda_device, get_cuda_devices, get_device
from warp.types import type_repr


class MemoryKind(enum.IntEnum):
    UNKNOWN = 0
    HOST = 1
    PINNED = 2
    CUDA_DEVICE = 3
    CUDA_MEMPOOL = 4
    CUDA_MANAGED = 5


def _memory_kind(a):
    """How the memory of an array was allocated."""
    if not a._has_memory:
        return MemoryKind.UNKNOWN
    if a.size == 0:
        return MemoryKind.PINNED if a.pinned else MemoryKind.HOST if a.device.is_cpu else MemoryKind.CUDA_DEVICE
    return MemoryKind(_core.cuda_memory_kind(a._pointer))


arrays.array.memory_kind = property(_memory_kind)


# ---- allocators ----


@typing.runtime_checkable
class Allocator(typing.Protocol):
    """What a custom allocator must have."""

    def allocate(self, size_in_bytes: int) -> int: ...

    def deallocate(self, ptr: int, size_in_bytes: int) -> None: ...


def get_device_allocator(device):
    return get_device(device).get_allocator()


def set_device_allocator(device, allocator):
    """Sets the allocator of a CUDA device; None: its own again."""
    device = get_device(device)
    if device.is_cpu:
        raise RuntimeError("Custom allocators are only supported on CUDA devices")
    device._custom_allocator = allocator


def set_cuda_allocator(allocator):
    """Sets the allocator of all CUDA devices; None: their own again."""
    devices = get_cuda_devices()
    if not devices:
        raise RuntimeError("set_cuda_allocator: no CUDA devices available")
    for device in devices:
        device._custom_allocator = allocator


class ScopedAllocator:
    """Sets a device's allocator inside a `with` block."""

    def __init__(self, device, allocator):
        self.device, self.allocator = get_device(device), allocator
        if self.device.is_cpu:
            raise RuntimeError("Custom allocators are only supported on CUDA devices")

    def __enter__(self):
        self.saved = self.device._custom_allocator
        set_device_allocator(self.device, self.allocator)
        return self.allocator

    def __exit__(self, *exception):
        set_device_allocator(self.device, self.saved)


class AllocatorRmm:
    """Allocates through the package `rmm`."""

    def __init__(self):
        try:
            import rmm
        except ImportError as error:
            raise ImportError(
                "Failed to import 'rmm'. Ensure it is installed and compatible with your CUDA version."
            ) from error
        if not get_cuda_devices():
            raise RuntimeError("rmm allocates for CUDA devices: there is none")
        self._rmm, self._buffers = rmm, {}

    def allocate(self, size_in_bytes):
        device = get_cuda_device()
        stream = self._rmm.pylibrmm.stream.Stream(obj=device.stream) if hasattr(self._rmm, "pylibrmm") else None
        buffer = self._rmm.DeviceBuffer(size=size_in_bytes, **({"stream": stream} if stream is not None else {}))
        self._buffers[buffer.ptr] = buffer
        return buffer.ptr

    def deallocate(self, ptr, size_in_bytes):
        if self._buffers.pop(ptr, None) is None:
            raise RuntimeError(f"AllocatorRmm.deallocate called with an unknown pointer {ptr:#x}")


class AllocatorTorch:
    """Allocates from PyTorch's pool, so that both libraries give each other what they release."""

    def __init__(self):
        try:
            import torch
        except ImportError as error:
            raise ImportError("AllocatorTorch needs the package 'torch', which is not installed") from error
        if not get_cuda_devices():
            raise RuntimeError("PyTorch's pool is for CUDA devices: there is none")
        self._cuda = torch.cuda

    def allocate(self, size_in_bytes):
        device = get_cuda_device()
        return self._cuda.caching_allocator_alloc(size_in_bytes, device.ordinal, device.stream.cuda_stream)

    def deallocate(self, ptr, size_in_bytes):
        self._cuda.caching_allocator_delete(ptr)


# ---- tracking ----


class _Record:
    def __init__(self, label, bytes, scope, device):
        self.label, self.bytes, self.scope, self.device, self.live = label, bytes, scope, device, True


class _Tracker:
    """All allocations while any tracker is active."""

    def __init__(self):
        self.lock = threading.RLock()
        self.active = 0
        self.scopes = threading.local()
        self.clear()

    def clear(self):
        with self.lock:
            self.records = []
            self.count = self.total = self.current = self.peak = 0

    def stack(self):
        if not hasattr(self.scopes, "names"):
            self.scopes.names = []
        return self.scopes.names

    def allocated(self, a):
        if not self.active:
            return
        bytes = a.capacity
        shape = ", ".join(map(str, a.shape))
        record = _Record(f"array[{type_repr(a.dtype)}, {shape}]", bytes, "/".join(self.stack()) or "root", a.device)
        with self.lock:
            self.records.append(record)
            self.count += 1
            self.total += bytes
            self.current += bytes
            self.peak = max(self.peak, self.current)
        weakref.finalize(a, self.freed, record, self.records)

    def freed(self, record, records):
        with self.lock:
            if records is self.records and record.live:
                record.live = False
                self.current -= record.bytes

    def report(self, sort="size", max_items=10):
        with self.lock:
            live = [r for r in self.records if r.live]
            lines = [
                "Allocation Tracking Report",
                f"Total allocations: {self.count} ({self.total} bytes)",
                f"Live allocations: {len(live)} ({self.current} bytes)",
                f"Peak: {self.peak} bytes",
            ]
            groups = {}
            for r in live:
                key = (r.scope, r.label, str(r.device))
                count, bytes = groups.get(key, (0, 0))
                groups[key] = count + 1, bytes + r.bytes
        order = {"size": lambda g: -g[1][1], "count": lambda g: -g[1][0], "name": lambda g: g[0]}
        if sort not in order:
            raise ValueError(f"sort is one of {', '.join(order)}, found {sort!r}")
        for (scope, label, device), (count, bytes) in sorted(groups.items(), key=order[sort])[: max_items or None]:
            lines.append(f"  {scope}: {label} on {device}: {count} x, {bytes} bytes")
        return "\n".join(lines) + "\n"


_tracker = _Tracker()


def _tracked(allocate):
    def tracked(self, *args, **kwargs):
        allocate(self, *args, **kwargs)
        if _tracker.active:
            _tracker.allocated(self)

    return tracked


def _activate(delta):
    """Arrays report while any tracker is active; else they know nothing of it."""
    with _tracker.lock:
        _tracker.active += delta
        if _tracker.active and not hasattr(arrays.array._allocate, "__wrapped__"):
            made = _tracked(arrays.array._allocate)
            made.__wrapped__ = arrays.array._allocate
            arrays.array._allocate = made
        elif not _tracker.active and hasattr(arrays.array._allocate, "__wrapped__"):
            arrays.array._allocate = arrays.array._allocate.__wrapped__


def start_tracking():
    """For `config.track_memory`: from `init()` on."""
    if config.track_memory and not _tracker.active:
        _activate(1)


class ScopedMemoryTracker:
    """Records allocations inside a `with` block, under a name; prints a report at its end."""

    def __init__(self, name="root", active=True, print=True, report_func=None):
        self.name, self.active, self.print, self.report_func = name, active, print, report_func

    def __enter__(self):
        if self.active:
            _tracker.stack().append(self.name)
            if not _tracker.active:
                _tracker.clear()
            _activate(1)
        return self

    def __exit__(self, *exception):
        if not self.active:
            return
        _activate(-1)
        _tracker.stack().pop()
        if self.report_func is not None:
            self.report_func(_tracker.report())
        elif self.print:
            self.report()

    def report(self, file=None, sort="size", max_items=10):
        (file or sys.stdout).write(_tracker.report(sort, max_items))

    def clear(self):
        _tracker.clear()


def print_memory_report(file=None, sort="size", max_items=10):
    """Prints what has been allocated since tracking began."""
    if not _tracker.active:
        raise RuntimeError(
            "Allocation tracking is not active: set wp.config.track_memory before wp.init(), or use "
            "wp.ScopedMemoryTracker"
        )
    (file or sys.stdout).write(_tracker.report(sort, max_items))
