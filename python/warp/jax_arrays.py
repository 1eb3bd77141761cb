"""JAX: arrays of one as the other's without copies; dtypes and devices. JAX is imported when a function is called."""

import warp
from warp import types
from warp.dlpack import from_dlpack

_NAMES = {
    "bool": "bool_",
    **{f"{kind}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{name: name for name in ("float16", "bfloat16", "float32", "float64")},
}


def dtype_to_jax(warp_dtype):
    """JAX's dtype for the numbers of a Warp dtype."""
    import jax.numpy

    name = types.scalar_of(types.canonical(warp_dtype)).__name__
    if name not in _NAMES:
        raise TypeError(f"Cannot convert {types.type_repr(warp_dtype)} to a Jax type")
    return getattr(jax.numpy, _NAMES[name])


def dtype_from_jax(jax_dtype):
    """The Warp dtype of a JAX dtype."""
    import numpy as np

    name = np.dtype(jax_dtype).name
    if name not in _NAMES:
        raise TypeError(f"Cannot convert {jax_dtype} to a Warp type")
    return types.SCALAR_CLASSES[name]


def device_to_jax(warp_device):
    """The JAX device of this process that is a device of Warp."""
    import jax

    device = warp.get_device(warp_device)
    if not device.is_cuda:
        return jax.local_devices(backend="cpu")[0]
    for candidate in jax.local_devices(backend="cuda"):
        if candidate.local_hardware_id == device.ordinal:
            return candidate
    raise RuntimeError(f"{device} is not available to JAX in this process")


def device_from_jax(jax_device):
    """The device of Warp that is a JAX device, which must be of this process."""
    import jax

    if jax_device.platform not in ("cpu", "gpu", "cuda"):
        raise RuntimeError(f"Unsupported JAX device platform '{jax_device.platform}': Warp has the CPU and CUDA")
    if jax_device.platform == "cpu":
        return warp.get_device("cpu")
    if jax_device.process_index != jax.process_index():
        raise RuntimeError(
            f"the JAX device {jax_device} belongs to process {jax_device.process_index}, this is process "
            f"{jax.process_index()}"
        )
    return warp.get_cuda_device(jax_device.local_hardware_id)


def to_jax(warp_array):
    """A JAX array over the memory of an array, which JAX takes to be constant from then on."""
    import jax.dlpack

    return jax.dlpack.from_dlpack(warp_array)


def from_jax(jax_array, dtype=None):
    """An array over the memory of a JAX array; `dtype` as in `from_dlpack`."""
    return from_dlpack(jax_array, dtype)
