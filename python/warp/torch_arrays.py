"""PyTorch: tensors as arrays and back without copies, with gradients; dtypes, devices and streams of both.

PyTorch is imported when a function here is first called.
"""

from warp import _core, types
from warp.array_makers import zeros
from warp.arrays import array
from warp.devices import get_device
from warp.dlpack import capsule_of, fits, over_memory
from warp.streams import Stream

# dtype of Warp -> name of PyTorch's: unsigned numbers are the signed ones of their size there.
_NAMES = {
    "bool": "bool",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "uint16": "int16",
    "int32": "int32",
    "uint32": "int32",
    "int64": "int64",
    "uint64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
}


def signed_scalar(scalar):
    """The Warp dtype whose numbers PyTorch has."""
    name = _NAMES.get(scalar.__name__)
    if name is None:
        raise TypeError(f"Cannot convert {scalar.__name__} to a Torch type")
    return types.SCALAR_CLASSES[name]


def dtype_to_torch(warp_dtype):
    """PyTorch's dtype for the numbers of a Warp dtype."""
    import torch

    return getattr(torch, signed_scalar(types.scalar_of(types.canonical(warp_dtype))).__name__)


def dtype_from_torch(torch_dtype):
    """The Warp dtype of a PyTorch dtype."""
    name = str(torch_dtype).removeprefix("torch.")
    if name not in _NAMES:
        raise TypeError(f"Cannot convert {torch_dtype} to a Warp type")
    return types.SCALAR_CLASSES[name]


def dtype_is_compatible(torch_dtype, warp_dtype):
    """Whether numbers of a PyTorch dtype may be read as those of a Warp dtype."""
    return fits(dtype_from_torch(torch_dtype), types.scalar_of(types.canonical(warp_dtype)))


def device_to_torch(warp_device):
    """PyTorch's name of a device: "cpu", "cuda:0"."""
    device = get_device(warp_device)
    if device.is_cpu:
        return "cpu"
    if device.is_primary:
        return f"cuda:{device.ordinal}"  # MACA's as well
    raise RuntimeError(f"Warp device {device} is not compatible with torch because it does not use a primary context")


def device_from_torch(torch_device):
    """The device that PyTorch calls so."""
    import torch

    found = torch.device(torch_device) if isinstance(torch_device, str) else torch_device
    if not isinstance(found, torch.device):
        raise RuntimeError(f"a device of PyTorch is a torch.device or its name, found {torch_device!r}")
    if found.type == "cpu":
        return get_device("cpu")
    if found.type == "cuda":
        return get_device(f"cuda:{torch.cuda.current_device() if found.index is None else found.index}")
    raise RuntimeError(f"Unsupported Torch device {found.type}: Warp has the CPU and CUDA")


def _gradient_of(t, requires_grad, grad, dtype):
    """The gradient of a tensor as an array: the one given, the tensor's own, or a new one that becomes the tensor's."""
    if grad is not None:
        return grad if isinstance(grad, array) else from_torch(grad, dtype=dtype, requires_grad=False)
    if not requires_grad:
        return None
    if not t.is_leaf:  # such tensors keep no gradient of their own
        return zeros(from_torch(t, dtype=dtype, requires_grad=False).shape, dtype, device_from_torch(t.device))
    if t.grad is None:
        import torch

        t.grad = torch.zeros_like(t)
    return from_torch(t.grad, dtype=dtype, requires_grad=False)


_BYTE = _core.Type.scalar("u8")


def _memory_of(t, device):
    """The bytes of the memory that a tensor and its views share, as an array; None for a tensor without memory.

    Tapes ask the tensor's version, which PyTorch raises where it writes. It says nothing of writes through NumPy,
    `.data` or a pointer, so that on the CPU the content counts; on GPUs the version does, as for PyTorch itself.
    """
    storage = t.untyped_storage()
    if storage.nbytes() == 0:
        return None
    counted = None if getattr(t, "is_inference", bool)() else t  # in inference mode tensors have no version
    memory = _core.Array()
    memory._borrow_again(_BYTE, storage._cdata, storage.data_ptr(), storage.nbytes(), device, (t, storage), counted)
    if device.is_cpu or counted is None:
        memory._mark_exported()
    return memory


def from_torch(t, dtype=None, requires_grad=None, grad=None, return_ctype=False, retain_grad=False):
    """An array over the memory of a tensor.

    `dtype`: numbers of the same size, or vectors and matrices that the inner dimensions hold. `requires_grad`: by
    default the tensor's. `grad`: a tensor or an array for the gradient; by default the tensor's own, which is made
    where there is none. `return_ctype`: the descriptor that kernels take, which is cheaper where no array is needed.
    """
    dtype = dtype_from_torch(t.dtype) if dtype is None else types.canonical(dtype)
    scalar = dtype_from_torch(t.dtype)
    device = device_from_torch(t.device)
    memory = _memory_of(t, device)
    result = over_memory(
        t.data_ptr(), tuple(t.shape), tuple(t.stride()), scalar, device, t, dtype, "Torch tensor", memory
    )
    if requires_grad is None:
        requires_grad = t.requires_grad
    result.grad = _gradient_of(t, requires_grad, grad, dtype)
    if retain_grad:
        result.retain_grad = True
    return result.__ctype__() if return_ctype else result


def argument(t, element, ndim):
    """For launches: a tensor as an array of this element type, or None where it is none. Leaves get their gradient."""
    dtype = types.class_of(element)
    if not fits(dtype_from_torch(t.dtype), types.scalar_of(dtype)) or t.ndim != ndim + len(types.part_shape(dtype)):
        return None
    return from_torch(t, dtype, requires_grad=t.requires_grad and t.is_leaf)


def to_torch(a, requires_grad=None):
    """A tensor over the memory of an array, with the array's gradient where it has one (or `requires_grad` says so).

    Unsigned numbers appear as the signed ones of their size.
    """
    import torch

    scalar = signed_scalar(types.scalar_of(a.dtype))
    if a.size == 0:
        shape = a.shape + types.part_shape(a.dtype)
        t = torch.empty(shape, dtype=dtype_to_torch(scalar), device=device_to_torch(a.device))
    else:
        t = torch.utils.dlpack.from_dlpack(capsule_of(a, stream=-1, scalar=scalar))
    if requires_grad is None:
        requires_grad = a.requires_grad
    t.requires_grad = requires_grad
    if requires_grad and a.grad is not None:
        t.grad = to_torch(a.grad, requires_grad=False)
    return t


def stream_from_torch(stream_or_device=None):
    """A stream of PyTorch, or its current one on a device, as one of Warp's."""
    import torch

    if isinstance(stream_or_device, torch.cuda.Stream):
        stream = stream_or_device
    else:
        stream = torch.cuda.current_stream(stream_or_device and torch.device(str(stream_or_device)))
    return Stream(device_from_torch(stream.device), cuda_stream=stream.cuda_stream)


def stream_to_torch(stream_or_device=None):
    """A stream of Warp, or its current one on a device, as one of PyTorch's."""
    import torch

    stream = stream_or_device if isinstance(stream_or_device, Stream) else get_device(stream_or_device).stream
    return torch.cuda.ExternalStream(stream.cuda_stream, device=torch.device(device_to_torch(stream.device)))
