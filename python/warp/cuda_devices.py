"""GPUs as devices, NVIDIA's and MetaX's: what they have that a processor has not."""

import functools
import types

from warp import _core, config
from warp.devices import get_cuda_driver_version, get_cuda_supported_archs, get_device
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


def _kept(name, compute):
    """A value that is computed when it is first asked for."""
    made = functools.cached_property(compute)
    made.__set_name__(CudaDevice, name)
    setattr(CudaDevice, name, made)


_kept("arch", lambda self: int(self._architecture.lstrip("smxcore_")))
# toolkit_version: of the CUDA whose compiler makes machine code, which is the driver's.
_kept("runtime", lambda self: types.SimpleNamespace(toolkit_version=get_cuda_driver_version()))


def _compile_arch(device):
    """The architecture that code for this device is made for: the newest one up to its own."""
    return max(arch for arch in get_cuda_supported_archs() if arch <= device.arch)


# suffix: (the first architecture that has such code, and the first CUDA)
_SUFFIXES = {"a": (90, (12, 0)), "f": (100, (12, 9))}


def _arch_suffix(device, arch):
    """What `config.cuda_arch_suffix` adds to the architecture that code is made for; refused where it cannot run."""
    suffix = config.cuda_arch_suffix
    if suffix is None or device.is_maca:
        return ""
    if suffix not in _SUFFIXES:
        raise RuntimeError(f"warp.config.cuda_arch_suffix is 'a', 'f' or None, found {suffix!r}")
    first, version = _SUFFIXES[suffix]
    found = f"warp.config.cuda_arch_suffix is {suffix!r}"
    if device.arch < first:
        raise RuntimeError(f"{found}, which begins with sm_{first}: {device} is sm_{device.arch}")
    if device.runtime.toolkit_version < version:
        raise RuntimeError(f"{found}, which needs CUDA {version}: the driver serves {device.runtime.toolkit_version}")
    same = arch == device.arch if suffix == "a" else arch // 10 == device.arch // 10
    if not same:
        raise RuntimeError(f"{found}: code for sm_{arch}{suffix} does not run on {device}, which is sm_{device.arch}")
    return suffix


CudaDevice.get_cuda_compile_arch = _compile_arch
CudaDevice._get_cuda_arch_suffix = _arch_suffix
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
