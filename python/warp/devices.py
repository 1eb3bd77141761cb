"""Devices: which there are, which one is the default, waiting for them."""

from warp import _core

Device = _core.Device

# What programs ask of any device. A processor has none of these.
Device.is_cuda = property(lambda self: not self.is_cpu)
Device.context = None
Device.has_context = True
Device.is_primary = True
Device.is_uva = False
Device.is_mempool_supported = False
Device.is_mempool_enabled = False
Device.is_capturing = False
Device.arch = 0
Device.sm_count = 0
Device.uuid = None
Device.pci_bus_id = None
Device.stream = None
Device.null_stream = None
Device.has_stream = property(lambda self: False)
Device.can_access = lambda self, other: self is other

_devices = {device.alias: device for device in _core.devices()}


def get_devices():
    return list(_devices.values())


def get_device(ident=None):
    """The device of that alias (or the device itself); None: the default one."""
    if ident is None:
        return _core.get_default_device()
    if isinstance(ident, Device):
        return ident
    found = _devices.get(ident) if isinstance(ident, str) else None
    if found is None:
        raise ValueError(f"unknown device {ident!r}; there are: {', '.join(_devices)}")
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


def is_device_available(device):
    try:
        get_device(device)
    except ValueError:
        return False
    return True


def get_cuda_devices():
    return [d for d in _devices.values() if d.is_cuda]


def get_cuda_device_count():
    return len(get_cuda_devices())


def get_cuda_device(ordinal=None):
    devices = get_cuda_devices()
    if not devices:
        raise RuntimeError("there is no CUDA device")
    return devices[ordinal or 0]


def synchronize_device(device=None):
    get_device(device)._synchronize()


def synchronize():
    """Waits until everything has ended on every device."""
    for device in _devices.values():
        device._synchronize()


device_synchronize = synchronize


def synchronize_stream(stream_or_device=None):
    synchronize()


def synchronize_event(event=None):
    synchronize()


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
