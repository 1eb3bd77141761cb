"""Memory pools of CUDA devices, and access of one device to another's memory."""

from warp.devices import get_device

_RELEASE_THRESHOLD, _USED_NOW, _USED_MOST = 4, 7, 8  # CUmemPool_attribute


def _pooled(device):
    device = get_device(device)
    if device.is_cpu:
        raise ValueError(f"Memory pools are only supported on CUDA devices, found {device}")
    if not device.is_mempool_supported:
        raise RuntimeError(f"Device {device} does not support memory pools")
    return device


def is_mempool_supported(device):
    return get_device(device).is_mempool_supported


def is_mempool_enabled(device):
    return get_device(device).is_mempool_enabled


def set_mempool_enabled(device, enable):
    """Whether arrays of the device come from its pool: cheap to make and to drop, and possible inside captures."""
    device = _pooled(device) if enable else get_device(device)
    if device.is_cpu:
        _pooled(device)
    device.is_mempool_enabled = bool(enable)


def set_mempool_release_threshold(device, threshold):
    """The bytes (between 0 and 1: the part of the device's memory) that the pool keeps when they are free."""
    device = _pooled(device)
    if threshold < 0:
        raise ValueError(f"the threshold must not be negative, found {threshold}")
    if isinstance(threshold, float) and threshold <= 1.0:
        threshold *= device.total_memory
    device._set_pool_attribute(_RELEASE_THRESHOLD, int(threshold))


def get_mempool_release_threshold(device=None):
    return _pooled(device)._pool_attribute(_RELEASE_THRESHOLD)


def get_mempool_used_mem_current(device=None):
    """The bytes of the pool that are in use."""
    return _pooled(device)._pool_attribute(_USED_NOW)


def get_mempool_used_mem_high(device=None):
    """The most bytes of the pool that have been in use."""
    return _pooled(device)._pool_attribute(_USED_MOST)


def _cuda_pair(target_device, peer_device, what, enable):
    """The devices; None where there is nothing to take away, as a processor has none."""
    pair = get_device(target_device), get_device(peer_device)
    if any(d.is_cpu for d in pair):
        if not enable and any(d.is_cuda for d in pair):
            return None
        raise ValueError(f"{what} is only supported between CUDA devices, found {pair[0]} and {pair[1]}")
    return pair


def is_peer_access_supported(target_device, peer_device):
    """Whether `peer_device` can use memory of `target_device` that is not of its pool."""
    target, peer = get_device(target_device), get_device(peer_device)
    return not target.is_cpu and not peer.is_cpu and peer._can_access(target)


_peers = set()  # (target, peer) by alias, of those that have been given access


def is_peer_access_enabled(target_device, peer_device):
    target, peer = get_device(target_device), get_device(peer_device)
    if target.is_cpu or peer.is_cpu:
        return False
    return target is peer or (target.alias, peer.alias) in _peers


def set_peer_access_enabled(target_device, peer_device, enable):
    """Gives `peer_device` access to memory of `target_device` that is not of its pool, or takes it."""
    pair = _cuda_pair(target_device, peer_device, "Peer access", enable)
    if pair is None or pair[0] is pair[1]:
        return
    target, peer = pair
    if not peer._can_access(target):
        if enable:
            raise RuntimeError(f"Device {peer} cannot access {target}")
        return
    peer._set_peer_access(target, bool(enable))
    (_peers.add if enable else _peers.discard)((target.alias, peer.alias))


def is_mempool_access_supported(target_device, peer_device):
    """Whether `peer_device` can use the pool of `target_device`."""
    target, peer = get_device(target_device), get_device(peer_device)
    return target.is_mempool_supported and is_peer_access_supported(target, peer)


def is_mempool_access_enabled(target_device, peer_device):
    target, peer = get_device(target_device), get_device(peer_device)
    if target.is_cpu or peer.is_cpu or not target.is_mempool_supported:
        return False
    return peer._has_pool_access(target)


def set_mempool_access_enabled(target_device, peer_device, enable):
    """Gives `peer_device` access to the pool of `target_device`, or takes it."""
    pair = _cuda_pair(target_device, peer_device, "Memory pool access", enable)
    if pair is None or pair[0] is pair[1]:
        return
    target, peer = pair
    if not is_mempool_access_supported(target, peer):
        if enable:
            raise RuntimeError(f"Device {peer} cannot access the memory pool of {target}")
        return
    peer._set_pool_access(target, bool(enable))


class _Scoped:
    """A setting inside a `with` block; where a processor is meant there is nothing to set."""

    def __init__(self, is_enabled, set_enabled, devices, enable):
        self.is_enabled, self.set_enabled, self.enable = is_enabled, set_enabled, enable
        self.devices = [get_device(d) for d in devices]
        self.applies = all(d.is_cuda for d in self.devices)

    def __enter__(self):
        if self.applies:
            self.saved = self.is_enabled(*self.devices)
            if self.saved != self.enable:
                self.set_enabled(*self.devices, self.enable)
        return self

    def __exit__(self, *exception):
        if self.applies and self.saved != self.enable:
            self.set_enabled(*self.devices, self.saved)


class ScopedMempool(_Scoped):
    """Turns a device's memory pool on or off."""

    def __init__(self, device, enable):
        super().__init__(is_mempool_enabled, set_mempool_enabled, [device], bool(enable))


class ScopedMempoolAccess(_Scoped):
    """Gives or takes access to another device's memory pool."""

    def __init__(self, target_device, peer_device, enable):
        super().__init__(
            is_mempool_access_enabled, set_mempool_access_enabled, [target_device, peer_device], bool(enable)
        )


class ScopedPeerAccess(_Scoped):
    """Gives or takes access to another device's memory."""

    def __init__(self, target_device, peer_device, enable):
        super().__init__(is_peer_access_enabled, set_peer_access_enabled, [target_device, peer_device], bool(enable))
