"""What a CUDA device makes of a kernel: registers, local memory, the block size that fills it best."""

import operator

from warp.devices import get_device
from warp.kernels import Kernel


def _kernel_and_device(kernel, device, what):
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{what}() expected a wp.Kernel, found {type(kernel).__name__}")
    device = get_device(device)
    if not device.is_cuda:
        raise RuntimeError(f"{what}() requires a CUDA device, found {device}")
    return device


def _block_dim(value):
    if not isinstance(value, bool):
        try:
            number = operator.index(value)
        except TypeError:
            number = 0
        if number > 0:
            return number
    raise ValueError(f"block_dim must be a positive integer, found {value!r}")


def get_cuda_kernel_properties(kernel, device=None, block_dim=None):
    """`register_count` (a thread) and `local_memory_size` (bytes a thread) of a kernel on a CUDA device.

    Of a generic kernel an overload is needed. The kernel is compiled if it is not yet.
    """
    if block_dim is not None:
        block_dim = _block_dim(block_dim)
    if isinstance(kernel, Kernel) and kernel.is_generic:
        raise RuntimeError(f"kernel '{kernel.key}' is generic: this requires a concrete overload, see wp.overload()")
    device = _kernel_and_device(kernel, device, "get_cuda_kernel_properties")
    block_dim = block_dim or kernel.module.options["block_dim"]
    try:
        kernel.module.load(device, block_dim)
        registers, local = kernel._gpu_properties([], device, block_dim)
    except RuntimeError as error:
        raise RuntimeError(
            f"Failed to load CUDA kernel '{kernel.key}' on device {device} with block_dim={block_dim}: {error}"
        ) from error
    return {"register_count": registers, "local_memory_size": local}


def get_cuda_max_cluster_dim(kernel, device=None, block_dim=None, dynamic_smem_bytes=0):
    """The most blocks that a cluster can have in launches of a kernel on a CUDA device; 1 where there are none."""
    device = get_device(device)
    if not device.is_cuda or device.arch < 90:
        return 1
    device = _kernel_and_device(kernel, device, "get_cuda_max_cluster_dim")
    block_dim = kernel.module.options["block_dim"] if block_dim is None else _block_dim(block_dim)
    return kernel._largest_cluster(device, block_dim, dynamic_smem_bytes)


def get_suggested_block_size(kernel, device=None):
    """(threads of a block, blocks) that occupy a CUDA device best, as its driver computes them; (1, 1) on the CPU."""
    if isinstance(kernel, Kernel) and get_device(device).is_cpu:
        return 1, 1
    if isinstance(kernel, Kernel) and kernel.is_generic:
        raise RuntimeError(f"kernel '{kernel.key}' is generic: this requires a concrete overload, see wp.overload()")
    device = _kernel_and_device(kernel, device, "get_suggested_block_size")
    return kernel._suggested_block([], device)
