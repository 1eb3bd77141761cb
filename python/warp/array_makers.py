"""Functions that make and copy arrays: `wp.zeros`, `wp.full`, `wp.clone`, `wp.copy`, `wp.from_numpy`, DLPack.

Not here: the array class (arrays.py), reductions and sorts (algorithms.py).
"""

import math
import typing

from warp import _core, types
from warp.array_data import contiguous_strides, inner_contiguous, numpy_dtype_of, shape_tuple
from warp.array_views import HOOKS
from warp.arrays import array
from warp.devices import get_device
from warp.indexed_arrays import indexed_array_base
from warp.loggers import log_warning


def new(shape, dtype, device, requires_grad, zeroed, strides=None, pinned=False, retain_grad=False):
    dtype = types.canonical(dtype)
    if getattr(dtype, "_weft_type_", None) is None and dtype is not typing.Any:
        dtype = types.dtype_from_numpy(dtype)
    result = array.__new__(array)
    if pinned:
        result.pinned = True
    result._allocate(dtype, shape_tuple(shape), get_device(device), zeroed, strides)
    if requires_grad:
        result.requires_grad = True
    if retain_grad:
        result.retain_grad = True
    return result


def _options(kwargs):
    """The keyword arguments that only some calls give, checked."""
    unknown = set(kwargs) - {"strides", "retain_grad", "pinned"}
    if unknown:
        raise TypeError(f"unexpected keyword argument '{min(unknown)}'")
    return kwargs


def _shape_argument(shape, kwargs):
    if shape is None:
        shape = kwargs.pop("n", 0)
    return shape


def empty(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array with undefined content."""
    shape = _shape_argument(shape, kwargs)
    return new(shape, dtype, device, requires_grad, False, pinned=pinned, **_options(kwargs))


def zeros(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of zeros."""
    shape = _shape_argument(shape, kwargs)
    return new(shape, dtype, device, requires_grad, True, pinned=pinned, **_options(kwargs))


def _dtype_of_value(value):
    """The dtype of an array filled with a value."""
    if isinstance(value, (_core.Value, types.scalar_base)):
        return type(value)
    if isinstance(value, (bool, int, float)) and type(value).__module__ == "builtins":
        return types.canonical(type(value))
    if hasattr(value, "__len__"):
        import numpy as np

        given = np.array(value)
        try:
            scalar = types.dtype_from_numpy(given.dtype)
        except TypeError:
            raise ValueError(f"Failed to convert {given.dtype} to a Warp data type") from None
        if given.ndim == 1:
            return types.vector(given.size, scalar)
        if given.ndim == 2:
            return types.matrix(given.shape, scalar)
        raise ValueError(f"no Warp data type has the shape {given.shape}")
    if hasattr(value, "dtype"):
        return types.dtype_from_numpy(value.dtype)
    raise ValueError(f"Invalid value type for Warp array: {type(value)}")


def full(shape=None, value=0, dtype=typing.Any, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of which every element is `value`; without dtype the type is the value's."""
    dtype = types.canonical(dtype)
    if dtype is typing.Any:
        dtype = _dtype_of_value(value)
    shape = _shape_argument(shape, kwargs)
    result = new(shape, dtype, device, requires_grad, False, pinned=pinned, **_options(kwargs))
    # What is made is new: recorded graphs fill it each time, as any other fill.
    result.fill_(value)
    return result


def ones(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of ones."""
    return full(shape, 1, dtype, device, requires_grad, pinned, **kwargs)


def _like(src, device, requires_grad, pinned):
    if not isinstance(src, (array, indexed_array_base)):
        src = array(src, copy=False)
    return (
        src,
        src.device if device is None else device,
        src.requires_grad if requires_grad is None else requires_grad,
        # Arrays on the CPU that are like a pinned one are pinned.
        bool(pinned if pinned is not None else src.pinned and device in (None, src.device)),
    )


def empty_like(src, device=None, requires_grad=None, pinned=None):
    src, device, requires_grad, pinned = _like(src, device, requires_grad, pinned)
    return new(src.shape, src.dtype, device, requires_grad, False, pinned=pinned)


def zeros_like(src, device=None, requires_grad=None, pinned=None):
    src, device, requires_grad, pinned = _like(src, device, requires_grad, pinned)
    return new(src.shape, src.dtype, device, requires_grad, True, pinned=pinned)


def full_like(src, value, device=None, requires_grad=None, pinned=None):
    result = empty_like(src, device, requires_grad, pinned)
    result.fill_(value)
    return result


def ones_like(src, device=None, requires_grad=None, pinned=None):
    return full_like(src, 1, device, requires_grad, pinned)


def clone(src, device=None, requires_grad=None, pinned=None):
    """A contiguous copy."""
    result = empty_like(src, device, requires_grad, pinned)
    _copy_values(result, src)
    return result


def _window(source, offset, count):
    """`count` elements from `offset` on, counted over the flattened array."""
    if offset == 0 and count == source.size:
        return source
    if source.ndim == 1:
        return source[offset : offset + count]
    if not source.is_contiguous:
        raise RuntimeError(
            "Offsets and counts of arrays that are not contiguous are only supported for 1-D arrays: use slices"
        )
    return source.reshape(source.size)[offset : offset + count]


def _check_range(dest, src, dest_offset, src_offset, count):
    """The range to copy, checked; the number of elements."""
    numbers = {"Source offset": src_offset, "Destination offset": dest_offset, "Copy count": count}
    if not all(hasattr(n, "__index__") for n in numbers.values()):
        raise RuntimeError(f"Copy offsets and count must be integers, found {dest_offset}, {src_offset}, {count}")
    for name, number in numbers.items():
        if number < 0:
            raise RuntimeError(f"{name} must be non-negative, found {number}")
    if count == 0:
        count = src.size - src_offset
    for name, a, offset in (("source", src, src_offset), ("destination", dest, dest_offset)):
        if offset + count > a.size:
            raise RuntimeError(
                f"Copying {count} elements from element {offset} on exceeds the {name} size ({a.size} elements)"
            )
    return count


def copy(dest, src, dest_offset=0, src_offset=0, count=0, stream=None):
    """Copies `count` elements (0: all of `src`) between arrays of one type, and gradients where both have one.

    `stream`: of a CUDA device, to do it in; the device's current one otherwise. A tape that is recording sees the copy
    of the values; gradients are then left alone, as in repeated steps of a `wp.checkpoint`.
    """
    if stream is not None:
        current = stream.device.stream
        stream.device.set_stream(stream, False)
        try:
            copy(dest, src, dest_offset, src_offset, count)
        finally:
            stream.device.set_stream(current, False)
        return
    copied = _copy_values(dest, src, dest_offset, src_offset, count)
    if copied is None or _core.get_tape() is not None or _core.get_forward() is not None or HOOKS["steps_repeat"]:
        return
    dest, src = copied
    if src.grad is not None and dest.grad is not None:
        dest.grad._copy_from(src.grad)


def _copy_values(dest, src, dest_offset=0, src_offset=0, count=0):
    """The same for values alone; returns the arrays of which all elements were copied, or None."""
    for name, value in (("dest", dest), ("src", src)):
        if not isinstance(value, (array, indexed_array_base)):
            raise RuntimeError(f"Copy source and destination must be arrays: {name} is {type(value).__name__}")
    if src._element != dest._element:
        raise RuntimeError(
            f"Incompatible array data types: destination dtype={types.type_repr(dest.dtype)}, source "
            f"dtype={types.type_repr(src.dtype)}: convert it first"
        )
    whole = count == 0
    count = _check_range(dest, src, dest_offset, src_offset, count)
    if count == 0:
        return None
    if isinstance(dest, indexed_array_base) or isinstance(src, indexed_array_base):
        if not whole or dest_offset or src_offset:
            raise RuntimeError("Offsets and counts are not supported for indexed or Fabric arrays")
        if src.shape != dest.shape:
            raise RuntimeError(f"Incompatible array shapes: destination shape={dest.shape}, source shape={src.shape}")
        indexed_array_base._copy(dest, src)
        return None
    if not (whole and dest_offset == src_offset == 0 and src.shape == dest.shape):
        dest, src = _window(dest, dest_offset, count), _window(src, src_offset, count)
        if dest.shape != src.shape:
            if dest.is_contiguous:
                dest = dest.reshape(src.shape)
            elif src.is_contiguous:
                src = src.reshape(dest.shape)
            else:
                raise RuntimeError(
                    f"Incompatible array shapes: destination shape={dest.shape}, source shape={src.shape}"
                )
    dest._copy_from(src)
    tape = _core.get_tape()
    if tape is not None:
        tape._record_copy(dest, src)
    forward = _core.get_forward()
    if forward is not None:
        forward._copy(dest, src)
    return dest, src


HOOKS["clone"], HOOKS["copy"] = clone, _copy_values
HOOKS["steps_repeat"] = False  # a checkpoint runs steps again, whose gradients are there already
HOOKS["host"] = lambda shape, dtype: new(shape, dtype, "cpu", False, False)


def from_numpy(arr, dtype=None, shape=None, device=None, requires_grad=False):
    """A copy of a NumPy array; without dtype, rows of two-dimensional data are vectors and planes of three matrices."""
    if dtype is None:
        scalar = types.dtype_from_numpy(arr.dtype)
        dtype = scalar
        grouped = shape is None and "float" in scalar.__name__ and all(arr.shape[1:])
        if arr.ndim == 2 and grouped:
            dtype = types.vector(arr.shape[1], scalar)
        elif arr.ndim == 3 and grouped:
            dtype = types.matrix(arr.shape[1:], scalar)
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)


def from_ptr(ptr, length, dtype=None, shape=None, device=None):
    """Deprecated: `wp.array(ptr=...)`."""
    log_warning(
        "This version of wp.from_ptr() is deprecated. wp.array(ptr=...) makes an array over existing memory.",
        category=DeprecationWarning,
    )
    return array(ptr=ptr, dtype=dtype or types.float32, shape=length if shape is None else shape, device=device)


def to_numpy(wp_array):
    return wp_array.numpy()


def convert_argument(source, element, ndim):
    """For launches: the array that shares the memory of a NumPy array (or the like) given as argument, or None."""
    if isinstance(source, types.array_t):
        return _from_descriptor(source, element, ndim)
    if hasattr(source, "untyped_storage"):
        from warp.torch_arrays import argument

        return argument(source, element, ndim)
    if getattr(source, "__array_interface__", None) is None:
        interface = getattr(source, "__cuda_array_interface__", None)
        return None if interface is None else _from_cuda_interface(source, interface, element, ndim)
    import numpy as np

    data = np.asarray(source)
    dtype = types.class_of(element)
    part = types.part_shape(dtype)
    if getattr(dtype, "_weft_struct_", False):
        if data.dtype != np.dtype(dtype.numpy_dtype()) or data.ndim != ndim:
            return None
    elif data.dtype.name != types.numpy_name(types.scalar_of(dtype)) or data.ndim != ndim + len(part):
        return None
    if (part and data.shape[data.ndim - len(part) :] != part) or not inner_contiguous(data, len(part)):
        return None
    result = array.__new__(array)
    pointer = data.__array_interface__["data"][0]
    result._share(dtype, data.shape[:ndim], data.strides[:ndim], pointer, data.nbytes, get_device("cpu"), data)
    return result


def _from_cuda_interface(source, interface, element, ndim):
    """The array over memory of a GPU that another library's object describes (version 3 of the interface)."""
    dtype = types.class_of(element)
    part = types.part_shape(dtype)
    outer, inner = interface["shape"][:ndim], tuple(interface["shape"][ndim:])
    if inner != part or interface["typestr"][1:] != numpy_dtype_of(dtype).str[1:]:
        return None
    size = element.size // math.prod(part)
    strides = interface.get("strides") or contiguous_strides(interface["shape"], size)
    if tuple(strides[ndim:]) != contiguous_strides(part, size):
        return None
    ordinal = getattr(getattr(source, "device", None), "index", None)
    result = array.__new__(array)
    device = get_device("cuda" if ordinal is None else f"cuda:{ordinal}")
    result._share(dtype, outer, tuple(strides[:ndim]), interface["data"][0], 0, device, source)
    return result


def _from_descriptor(descriptor, element, ndim):
    """The array that a ctypes descriptor speaks of."""
    owner = getattr(descriptor, "owner", None)
    if owner is not None:
        return owner if owner._has_memory else None
    if descriptor.ndim != ndim:
        return None
    result = array.__new__(array)
    shape, strides = tuple(descriptor.shape)[:ndim], tuple(descriptor.strides)[:ndim]
    result._share(types.class_of(element), shape, strides, descriptor.data, 0, get_device("cpu"), descriptor)
    return result
