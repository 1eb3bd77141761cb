"""Data given to the constructor of arrays, as NumPy arrays grouped into elements; how NumPy sees an array's memory.

Not here: the array class (arrays.py).
"""

import math
import operator
import typing

from warp import dtypes, types
from warp.annotations import ARRAY_MAX_DIMS


def shape_tuple(shape):
    """A shape argument as a tuple of ints: an int, or any sequence of ints."""
    if isinstance(shape, str):
        raise ValueError(f"a shape is an int or a sequence of ints, found {shape!r}")
    if hasattr(shape, "__iter__"):
        shape = tuple(operator.index(n) for n in shape)
    else:
        shape = (operator.index(shape),)
    if not shape:
        raise IndexError("arrays without dimensions do not exist: the shape is ()")
    if len(shape) > ARRAY_MAX_DIMS:
        raise RuntimeError(
            f"Failed to create array with shape {shape}, the maximum number of dimensions is {ARRAY_MAX_DIMS}"
        )
    for dimension, extent in enumerate(shape):
        if extent < 0:
            raise ValueError(f"Array shapes must be non-negative, got {extent} in dimension {dimension}")
    return shape


def contiguous_strides(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


def inner_contiguous(source, dims):
    """Whether the last `dims` dimensions lie without gaps, as the parts of one element do."""
    inner = source.shape[source.ndim - dims :]
    return source.strides[source.ndim - dims :] == contiguous_strides(inner, source.itemsize)


def numpy_dtype_of(dtype):
    """The NumPy dtype of the numbers of a dtype, or of a struct."""
    import numpy as np

    if getattr(dtype, "_weft_struct_", False):
        return np.dtype(dtype.numpy_dtype())
    return np.dtype(types.numpy_name(types.scalar_of(dtype)))


def numpy_of(data, dtype):
    """Data given to the constructor as a NumPy array with numbers of `dtype` (Any: as NumPy infers)."""
    import numpy as np

    if getattr(data, "__cuda_array_interface__", None) is not None and hasattr(data, "cpu"):
        data = data.cpu()  # a tensor in a GPU's memory
    try:
        if isinstance(data, np.ndarray) or hasattr(data, "__array_interface__"):
            return np.asarray(data)
        if dtype is typing.Any:
            return np.array(data)
        with np.errstate(over="ignore"):
            name = types.numpy_name(types.scalar_of(dtype))
            if types.scalar_of(dtype).__name__ == "bfloat16":  # numbers, and not their bits, which NumPy has for them
                name = "float32"
            return np.array(data, dtype=name)
    except (ValueError, TypeError, OverflowError) as error:
        target = "an array" if dtype is typing.Any else f"an array with type {dtypes.name_of(dtype)}"
        raise RuntimeError(f"Failed to convert input data to {target}: {error}") from error


def grouped(source, dtype, shape):
    """The data with the numbers of one element in its last dimensions, reshaped to `shape` where that is given."""
    part = types.part_shape(dtype)
    count = math.prod(part)
    try:
        if shape is not None:
            return source.reshape(shape_tuple(shape) + part)
        if not part:
            return source.reshape(1) if source.ndim == 0 else source
        if source.size == 0 and source.ndim <= 1:
            return source.reshape((0, *part))
        if source.ndim > len(part) and source.shape[source.ndim - len(part) :] == part:
            return source
        if source.shape == part:
            return source.reshape((1, *part))
        for inner in range(1, source.ndim):
            if math.prod(source.shape[inner:]) == count:
                return source.reshape(source.shape[:inner] + part)
        if source.ndim >= 1 and source.shape[-1] % count == 0:
            shape = (*source.shape[:-1], source.shape[-1] // count, *part)
            return source.reshape(shape[-(ARRAY_MAX_DIMS + len(part)) :])
    except ValueError as error:
        raise RuntimeError(
            f"Failed to reshape the input data to the given shape {shape} and type {types.type_repr(dtype)}: {error}"
        ) from error
    kind = "matrix" if len(part) == 2 else "vector"
    raise RuntimeError(
        f"The inner dimensions of the input data are not compatible with the requested {kind} type "
        f"{types.type_repr(dtype)}: expected an inner dimension that is a multiple of {part[-1]}, "
        f"found data of shape {source.shape}"
    )


def write_numbers(view, source, dtype):
    """Writes numbers to NumPy's view of an array, converted as NumPy converts; bfloat16, of which NumPy sees the bits,
    by rounding to nearest, ties to even."""
    import numpy as np

    with np.errstate(all="ignore"):
        if types.scalar_of(dtype).__name__ == "bfloat16" and source.dtype != view.dtype:
            bits = source.astype(np.float32).view(np.uint32)
            rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
            source = np.where(np.isnan(source.astype(np.float32)), (bits >> 16) | 0x40, rounded)
        np.copyto(view, source, casting="unsafe")


class Interface:
    """What NumPy needs to share an array's memory; keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")


class Export(Interface):
    """The same for a view that leaves the package: while it lives the memory may be written unseen."""

    __slots__ = ()

    def __init__(self, owner):
        owner._export_view()

    def __del__(self):
        self.owner._release_view()


# dtype -> how NumPy sees its elements
_layouts = {}


def numpy_layout(dtype, size):
    """(NumPy dtype, shape of an element, strides inside it, the part of the array interface that does not vary).

    Of structs the interface gives the bytes alone: it has no words for offsets of members.
    """
    found = _layouts.get(dtype)
    if found is None:
        made, part = numpy_dtype_of(dtype), types.part_shape(dtype)
        inner = contiguous_strides(part, size // math.prod(part))
        found = _layouts[dtype] = made, part, inner, {"version": 3, "typestr": made.str}
    return found


def numpy_values(a):
    """The content as NumPy sees it, for reading: a view of the memory, or a copy of another device's."""
    return numpy_view(a if a.device.is_cpu else a._on_host())


def numpy_view(a, leaves=False):
    """A NumPy array over the memory of an array on the host. `leaves`: it is for others, who may write."""
    import numpy as np

    if not a.device.is_cpu:
        raise RuntimeError(f"NumPy cannot see the memory of {a.device}: numpy() gives a copy")
    dtype, part, inner, interface = numpy_layout(a.dtype, a._element.size)
    shape = a.shape + part
    if a.size == 0:
        return np.ndarray(shape, dtype, np.empty(1, dtype), strides=a.strides + inner)
    holder = Export(a) if leaves else Interface()
    holder.owner = a
    place = {"data": (a._pointer, False), "shape": shape, "strides": a.strides + inner}
    holder.__array_interface__ = {**interface, **place}
    view = np.asarray(holder)
    # NumPy gives names to the padding of structs, which would then count as members.
    return view if view.dtype == dtype else view.view(dtype)
