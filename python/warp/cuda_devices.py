"""NVIDIA GPUs as devices: what they have that a processor has not."""

from warp import _core
from warp.devices import get_device
from warp.streams import Stream

# The driver's numbers of attributes (CUdevice_attribute).
_ATTRIBUTES = {
    "sm_count": 16,
    "max_shared_memory_per_block": 97,
    "is_uva": 41,
    "is_mempool_supported": 115,
    "is_managed_memory_supported": 83,
    "is_concurrent_managed_access_supported": 89,
    "is_cpu_memory_access_from_gpu_supported": 88,
}
_COUNTS = {"sm_count", "max_shared_memory_per_block"}
CudaDevice = _core.CudaDevice


def _attribute(name):
    number = _ATTRIBUTES[name]
    if name in _COUNTS:
        return property(lambda self: self._attribute(number))
    return property(lambda self: bool(self._attribute(number)))


for _name in _ATTRIBUTES:
    setattr(CudaDevice, _name, _attribute(_name))
CudaDevice.arch = property(lambda self: int(self._architecture[3:]))
CudaDevice.is_primary = True
CudaDevice.is_cubin_supported = True
CudaDevice.is_ipc_supported = True
CudaDevice.has_stream = property(lambda self: self.has_context)
CudaDevice.is_capturing = property(lambda self: self.stream.is_capturing)


def _current_stream(device):
    handle = device._stream
    known = device.__dict__.get("_stream_object")
    if known is None or known.cuda_stream != handle:
        known = device._stream_object = Stream(device, cuda_stream=handle)
    return known


def _set_current_stream(device, stream):
    device._stream_object = stream  # kept alive while it is current
    device._stream = stream.cuda_stream


CudaDevice.stream = property(_current_stream, _set_current_stream)
CudaDevice.set_stream = lambda self, stream, sync=True: _choose_stream(self, stream, sync)


def _choose_stream(device, stream, sync):
    if sync:
        stream.wait_stream(device.stream)
    device.stream = stream


def _null_stream(device):
    known = device.__dict__.get("_null_stream_object")
    if known is None:
        known = device._null_stream_object = Stream(device, cuda_stream=0)
    return known


CudaDevice.null_stream = property(_null_stream)
CudaDevice.can_access = lambda self, other: (other := get_device(other)).is_cuda and self._can_access(other)
CudaDevice.make_current = lambda self: None  # work names its device: no context is current between calls
