"""Allocators of CUDA's memory: of a device, of its pool, managed and pinned; and memory of other processes."""

from warp import _core
from warp.devices import get_cuda_device, get_cuda_devices

_PINNED, _DEVICE, _POOL, _MANAGED = 2, 3, 4, 5  # MemoryKind


class _CudaAllocator:
    """Allocates memory of one kind."""

    def __init__(self, device, kind):
        self._device, self._kind = device, kind

    def allocate(self, size_in_bytes):
        return self._device._allocate(self._kind, size_in_bytes)

    def deallocate(self, ptr, size_in_bytes):
        self._device._free(self._kind, ptr)


class CudaManagedAllocator:
    """Allocates memory that CUDA devices and the host share."""

    def allocate(self, size_in_bytes):
        try:
            return get_cuda_device()._allocate(_MANAGED, size_in_bytes)
        except RuntimeError as error:
            raise RuntimeError(f"Failed to allocate {size_in_bytes} bytes with CudaManagedAllocator: {error}") from None

    def deallocate(self, ptr, size_in_bytes):
        get_cuda_device()._free(_MANAGED, ptr)


_made = {}


def _allocator(device, kind):
    return _made.setdefault((device.alias, kind), _CudaAllocator(device, kind))


def pinned_allocator():
    return _allocator(get_cuda_devices()[0], _PINNED)


CudaDevice = _core.CudaDevice
CudaDevice.default_allocator = property(lambda self: _allocator(self, _DEVICE))
CudaDevice.mempool_allocator = property(lambda self: _allocator(self, _POOL) if self.is_mempool_supported else None)


def _current(device, pinned=False):
    if pinned:
        return pinned_allocator()
    if device._custom_allocator is not None:
        return device._custom_allocator
    return device.mempool_allocator if device.is_mempool_enabled else device.default_allocator


CudaDevice.get_allocator = _current
