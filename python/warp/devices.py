"""Devices: which there are, which one is the default, waiting for them, what they can share."""

from warp import _core, config

Device = _core.Device
DeviceLike = Device | str | None


class ContextGuard:
    """A `with` block in which a device is current. A processor has no context to switch."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class CpuAllocator:
    """The allocator of host memory."""

    def __init__(self, device):
        self.device = device
        self._kept = {}

    def allocate(self, size_in_bytes):
        memory = _core.Array(_core.Type.scalar("u8"), (size_in_bytes,), self.device, False)
        self._kept[memory._pointer] = memory
        return memory._pointer

    def deallocate(self, ptr, size_in_bytes):
        self._kept.pop(ptr, None)


def no_cuda_device(device):
    return RuntimeError(f"Device {device} is not a CUDA device")


def _refuse_stream(device):
    raise no_cuda_device(device)


# What programs ask of any device. A processor has none of these; GPUs: cuda_devices.py.
# A GPU of MetaX's (MACA) is one of CUDA's to programs, as it is to PyTorch: the same streams, graphs and pools.
Device.is_cuda = property(lambda self: not self.is_cpu)
Device.is_maca = property(lambda self: self.is_cuda and _MACA)
Device.context = None
Device.has_context = False
Device.is_primary = False
Device.is_uva = False
Device.is_mempool_supported = False
Device.is_mempool_enabled = False
Device.is_capturing = property(lambda self: _core.is_recording())
Device.is_ipc_supported = False
Device.is_cubin_supported = False
Device.is_managed_memory_supported = False
Device.is_concurrent_managed_access_supported = False
Device.is_cpu_memory_access_from_gpu_supported = False
Device.arch = 0
Device.sm_count = 0
Device.max_shared_memory_per_block = 0
Device.uuid = None
Device.pci_bus_id = None
Device.stream = property(_refuse_stream)
Device.null_stream = None
Device.has_stream = False
Device.context_guard = property(ContextGuard)
Device.runtime = None
Device.can_access = lambda self, other: self is get_device(other)
Device.__eq__ = lambda self, other: self is other or (isinstance(other, str) and _aliases(self, other))
Device.__hash__ = lambda self: hash(self.alias)

_devices = {device.alias: device for device in _core.devices()}
_core.set_device_names(_devices)
_MACA = _core.gpu_vendor() == "MACA"
# The names of the kind of GPU that there is; where both are allowed, "cuda:0" and "maca:0" are one device.
_GPU_NAMES = ("cuda", "maca") if _MACA else ("cuda",)


def _default_allocator(device):
    found = device.__dict__.get("_allocator")
    if found is None:
        found = device._allocator = CpuAllocator(device)
    return found


def _pinned_allocator(device):
    """Of memory that CUDA devices copy from and to by themselves; without such devices there is no difference."""
    if not is_cuda_available():
        return device.default_allocator
    from warp.cuda_memory import pinned_allocator

    return pinned_allocator()


Device.default_allocator = property(_default_allocator)
Device.pinned_allocator = property(_pinned_allocator)
Device.get_allocator = lambda self, pinned=False: self.pinned_allocator if pinned else self.default_allocator
# What the user has set for a CUDA device (memory.py), or None.
Device._custom_allocator = None


def _aliases(device, alias):
    return device.alias == alias or (device.is_cuda and _numbered(alias) is device)


def _numbered(ident):
    """The GPU of an alias that is not its own: "cuda:0" for "maca:0"."""
    kind, _, number = ident.partition(":")
    if kind not in _GPU_NAMES or not number.isdecimal():
        return None
    return next((d for d in _devices.values() if d.is_cuda and d.ordinal == int(number)), None)


def get_devices():
    return list(_devices.values())


def _no_cuda(ident):
    kind = "MACA" if ident.startswith("maca") else "CUDA"
    return RuntimeError(
        f'"{ident}" device requested but {kind} is not supported by the hardware or driver: {_core.cuda_problem()}'
    )


def _invalid(ident):
    return ValueError(f"Invalid device identifier: {ident}; there are: {', '.join(_devices)}")


def get_device(ident=None):
    """The device of that alias (or the device itself); None: the default one."""
    if ident is None:
        return _core.get_default_device()
    if isinstance(ident, Device):
        return ident
    if not isinstance(ident, str):
        raise _invalid(ident)
    kind = ident.partition(":")[0]
    if ident in _GPU_NAMES and is_cuda_available():
        return get_cuda_device()
    found = _devices.get(ident) or _numbered(ident)
    if found is None:
        if kind in ("cuda", "maca") and not is_cuda_available():
            raise _no_cuda(ident)
        raise _invalid(ident)
    return found


def get_preferred_device():
    return next((d for d in _devices.values() if not d.is_cpu), _devices["cpu"])


get_current_device = get_device


def set_device(ident):
    _core.set_default_device(get_device(ident))


def is_cpu_available():
    return True


def is_cuda_available():
    return any(d.is_cuda for d in _devices.values())


def is_cuda_driver_initialized():
    return is_cuda_available()


def is_device_available(device):
    try:
        get_device(device)
    except (ValueError, RuntimeError):
        return False
    return True


def get_cuda_devices():
    return [d for d in _devices.values() if d.is_cuda]


def get_cuda_device_count():
    return len(get_cuda_devices())


def get_cuda_device(ordinal=None):
    """The CUDA device of that number; None: the default device, where it is one, else the first."""
    devices = get_cuda_devices()
    if not devices:
        raise _no_cuda("cuda")
    if ordinal is None:
        default = _core.get_default_device()
        return default if default.is_cuda else devices[0]
    return devices[ordinal]


def map_cuda_device(alias, context=None):
    if is_cuda_available() and context is None:
        return _devices.setdefault(alias, get_cuda_device())
    raise RuntimeError(f"Unable to determine CUDA context for device alias '{alias}': there is no CUDA device")


def unmap_cuda_device(alias):
    raise RuntimeError(f"Invalid CUDA device alias '{alias}'")


def get_cuda_supported_archs():
    """The architectures that code can be made for; NVIDIA's newer machines take the newest of them."""
    return [1000, 1500, 1600] if _MACA else [75, 80, 86, 87, 89, 90]


def gpu_architecture(device, arch=None):
    """What code for a GPU is made for, as "sm_90a": that of the device, or the one given."""
    if device is None or not device.is_cuda:
        return f"sm_{arch}"
    arch = device.get_cuda_compile_arch() if arch is None else arch
    if device.is_maca:
        return f"xcore{arch}"
    return f"sm_{arch}{device._get_cuda_arch_suffix(arch)}"


def get_cuda_driver_version():
    """(major, minor) of the CUDA that the driver serves; None without a driver, and with MACA's, which serves none."""
    version = 0 if _MACA else _core.cuda_driver_version()
    return (version // 1000, version % 1000 // 10) if version else None


def get_cuda_toolkit_version():
    """None: no toolkit is used."""
    return None


def can_access(device, resource):
    """Whether a device may read the memory of a device or an array."""
    return get_device(device).can_access(getattr(resource, "device", resource))


def synchronize_device(device=None):
    get_device(device)._synchronize()


def synchronize():
    """Waits until everything has ended on every device."""
    for device in _devices.values():
        device._synchronize()


device_synchronize = synchronize


class ScopedDevice:
    """Makes a device the default one inside a `with` block."""

    def __init__(self, device):
        self.device = get_device(device)

    def __enter__(self):
        self.saved = _core.get_default_device()
        _core.set_default_device(self.device)
        return self.device

    def __exit__(self, *exception):
        _core.set_default_device(self.saved)


def get_cpu_kernel_cache_key(*, cpu_compiler_flags=None):
    """A text that two machines share when compiled kernels of one can run on the other."""
    import platform

    from warp.modules import digest

    flags = config.cpu_compiler_flags if cpu_compiler_flags is None else cpu_compiler_flags
    native = flags is None or "-march=native" in flags
    target = dict(_core.backends())[_core.backends()[0][0]] if native else "generic"
    parts = (config.version, _core.version, platform.system(), platform.machine(), target)
    return f"{platform.system()}-{platform.machine()}-{config.version}-{digest(*parts)[:8]}"
