"""Algorithms on whole arrays, as `wp.utils` has them: sums, prefix sums, sorts, run lengths, casts.

Arguments are checked here; the work is the core's (src/runtime/algorithms.h).
"""

import operator

from warp import _core, types
from warp.array_data import numpy_view
from warp.array_makers import copy, empty, zeros
from warp.arrays import array
from warp.mapping import described, launch_shape, make_kernel

_SCANNED = {types.int32, types.int64, types.float32, types.float64}
_SORTED_KEYS = {types.int32, types.uint32, types.float32, types.int64, types.uint64, types.float64}
_SORTED_VALUES = _SORTED_KEYS


def _name(a):
    return types.type_repr(a.dtype)


def _scalar(a):
    return types.scalar_of(a.dtype)


def _by_kernels():
    from warp import device_algorithms  # kernels of its own, which few programs need

    return device_algorithms


def _reductions(device):
    """What computes sums and run lengths there."""
    if device.is_cpu:
        return _core
    from warp import device_reductions

    return device_reductions


def array_scan(in_array, out_array, inclusive=True):
    """Prefix sums of a one-dimensional array."""
    if in_array.device is not out_array.device:
        raise RuntimeError(f"In and out array storage devices do not match ({in_array.device} vs {out_array.device})")
    if in_array.size != out_array.size:
        raise RuntimeError(f"In and out array storage sizes do not match ({in_array.size} vs {out_array.size})")
    if in_array._element != out_array._element:
        raise RuntimeError(f"In and out array data types do not match ({_name(in_array)} vs {_name(out_array)})")
    if _scalar(in_array) not in _SCANNED:
        raise RuntimeError(f"Unsupported data type: {_name(in_array)}")
    if in_array.ndim != 1 or out_array.ndim != 1:
        in_array, out_array = in_array.flatten(), out_array.flatten()
    if in_array.device.is_cpu:
        _core.scan(in_array, out_array, bool(inclusive))
    else:
        _by_kernels().scan(in_array, out_array, bool(inclusive))


def radix_sort_pairs(keys, values, count, begin_bit=0, end_bit=None):
    """Sorts the first `count` keys, and values along with them, by some of the keys' bits. Stable.

    Both arrays have room for 2 * count elements, as the interface demands; on a GPU the second half is used meanwhile.
    """
    if keys.device is not values.device:
        raise RuntimeError(f"Keys and values array storage devices do not match ({keys.device} vs {values.device})")
    if count == 0:
        return
    if keys.size < 2 * count or values.size < 2 * count:
        raise RuntimeError("Keys and values array storage must be large enough to contain 2*count elements")
    if keys.dtype not in _SORTED_KEYS or values.dtype not in _SORTED_VALUES:
        raise RuntimeError(f"Unsupported keys and values data types: {_name(keys)}, {_name(values)}")
    for name, a in (("keys", keys), ("values", values)):
        if not a.is_contiguous:
            raise RuntimeError(
                f"radix_sort_pairs() requires a contiguous {name} array, got non-contiguous {name} with data types: "
                f"{_name(keys)}, {_name(values)}"
            )
    bits = 8 * keys._element.size
    end_bit = bits if end_bit is None else end_bit
    if not 0 <= begin_bit <= end_bit <= bits:
        raise RuntimeError(f"Invalid radix sort bit range [{begin_bit}, {end_bit}) for {bits}-bit keys")
    if keys.device.is_cpu:
        _core.sort_pairs(keys, values, 0, count, begin_bit, end_bit)
    else:
        _by_kernels().sort_pairs(keys, values, count, begin_bit, end_bit)


def _segments(starts, ends):
    """The arrays of begins and ends, checked."""
    for name, a in (("segment_start_indices", starts), ("segment_end_indices", ends)):
        if a is None:
            continue
        if a.ndim != 1:
            raise RuntimeError(f"{name} must be one-dimensional, found {a.ndim} dimensions")
        if a.dtype is not types.int32:
            raise RuntimeError(f"{name} must be of type int32, found {_name(a)}")
        if not a.is_contiguous or (a.size == 1 and a.strides[0] != 4):
            raise RuntimeError(f"segmented_sort_pairs() requires a contiguous {name} array")
    if ends is not None and starts.size != ends.size:
        raise RuntimeError(
            f"segment_start_indices and segment_end_indices must have the same size ({starts.size} vs {ends.size})"
        )
    return (starts, ends) if ends is not None else (starts[:-1], starts[1:])


def segmented_sort_pairs(keys, values, count, segment_start_indices, segment_end_indices=None):
    """Sorts pairs inside segments; without ends, each segment ends where the next one starts."""
    if isinstance(count, bool) or not hasattr(count, "__index__"):
        raise TypeError(f"count must be an integer, found {count!r}")
    count = operator.index(count)
    if count < 0:
        raise ValueError(f"count must be non-negative, got {count}")
    if count > 2**31 - 1:
        raise ValueError(f"count must not exceed {2**31 - 1}, got {count}")
    others = [a for a in (values, segment_start_indices, segment_end_indices) if a is not None]
    if any(a.device is not keys.device for a in others):
        raise RuntimeError("Keys, values, and segment index array storage devices must match")
    for name, a in (("keys", keys), ("values", values)):
        if not a.is_contiguous:
            raise RuntimeError(f"segmented_sort_pairs() requires a contiguous {name} array")
    begins, ends = _segments(segment_start_indices, segment_end_indices)
    if count == 0:
        return
    if keys.size < 2 * count or values.size < 2 * count:
        raise RuntimeError("Array storage must be large enough to contain 2*count elements")
    if keys.dtype not in (types.int32, types.float32) or values.dtype is not types.int32:
        raise RuntimeError(f"Unsupported data type: {_name(keys)}")
    if not keys.device.is_cpu:  # what is no range is left alone there: the host does not wait to look at them
        _by_kernels().sort_segments(keys, values, count, begins, ends)
        return
    _core.sort_segments(keys, values, count, begins, ends)


def _check_not_recorded(function, out):
    """A number that is returned during a capture would be of memory in which nothing has been computed yet."""
    if _core.is_recording():
        raise NotImplementedError(f"{function}() has nothing to return while a capture records: pass an explicit {out}")


def runlength_encode(values, run_values, run_lengths, run_count=None, value_count=None):
    """Finds runs of equal values; returns their number, or stores it in `run_count`."""
    if not values.device is run_values.device is run_lengths.device:
        raise RuntimeError("run_values, run_lengths and values storage devices do not match")
    count = values.size if value_count is None else value_count
    if count < 0:
        raise RuntimeError(f"value_count must be non-negative, got {count}")
    if values.size < count:
        raise RuntimeError(f"values array storage must hold value_count ({count}) elements")
    if run_values.size < count or run_lengths.size < count:
        raise RuntimeError(f"Output array storage sizes must be at least equal to value_count ({count})")
    if values._element != run_values._element:
        raise RuntimeError(f"values and run_values data types do not match ({_name(values)} vs {_name(run_values)})")
    if run_lengths.dtype is not types.int32:
        raise RuntimeError("run_lengths array must be of type int32")
    if run_count is not None and run_count.dtype is not types.int32:
        raise RuntimeError("run_count array must be of type int32")
    if run_count is not None and run_count.device is not values.device:
        raise RuntimeError("run_count storage device does not match other arrays")
    if values.dtype is not types.int32:
        raise RuntimeError(f"Unsupported data type: {_name(values)}")
    if not count and run_count is None:
        return 0
    if run_count is None:
        _check_not_recorded("runlength_encode", "run_count array")
    found = zeros(1, dtype=types.int32, device=values.device) if run_count is None else run_count
    if count:
        _reductions(values.device).encode_runs(values, count, run_values, run_lengths, found)
    else:
        found.zero_()
    return found.list()[0] if run_count is None else None


def _axis(function, axis, ndim):
    if not -ndim <= axis < ndim:
        raise IndexError(f"{function}() axis {axis} is out of bounds for an array of {ndim} dimensions")
    return axis + ndim if axis < 0 else axis


def _reduced(function, values, out, dtype, count, axis, limit):
    """(values flattened where there is no axis, axis, count, out, whether the result is a plain value)."""
    if axis is None:
        values = [v if v.ndim == 1 else v.contiguous().flatten() for v in values]
        where, shape = 0, (1,)
        count = values[0].size if count is None else count
        if count > values[0].size:
            raise RuntimeError(f"{function}() cannot take {count} elements of {values[0].size}")
    else:
        where = _axis(function, axis, values[0].ndim)
        extent = values[0].shape[where]
        count = extent if count is None else count
        if count > extent:
            raise RuntimeError(f"{function}() cannot take {count} elements of {extent} along axis {axis}")
        shape = tuple(1 if i == where else n for i, n in enumerate(values[0].shape))
    if count < 0:
        raise RuntimeError(f"{function}() was given a negative count: {count}")
    plain = out is None and axis is None
    if plain:
        _check_not_recorded(function, "out array")
    if out is None:
        out = empty(shape, dtype=dtype, device=values[0].device)
    else:
        if out.device is not values[0].device:
            raise RuntimeError("out storage device should match values array")
        if out._element != types.type_of(dtype):
            raise RuntimeError(f"out array should have type {types.type_repr(dtype)}")
        if out.shape != shape:
            raise RuntimeError(f"out array should have shape {shape}")
    return values, where, count, out, plain


def _result(out, plain):
    if not plain:
        return out
    return out.numpy()[0]


def array_sum(values, out=None, value_count=None, axis=None):
    """The sum of an array's elements, or of those along an axis (which keeps an extent of 1)."""
    if axis is not None:
        _axis("array_sum", axis, values.ndim)
    if _scalar(values) not in (types.float32, types.float64):
        raise RuntimeError(f"Unsupported data type: {_name(values)}")
    (source,), where, count, out, plain = _reduced("array_sum", [values], out, values.dtype, value_count, axis, None)
    _reductions(source.device).sum_along(source, out, where, count)
    return _result(out, plain)


def array_inner(a, b, out=None, count=None, axis=None):
    """The sum of the products of two arrays' elements, of components too."""
    if a.shape != b.shape:
        raise ValueError(f"array_inner() arguments must have the same shape, got {a.shape} and {b.shape}")
    if a.device is not b.device:
        raise RuntimeError(f"A and b array storage devices do not match ({a.device} vs {b.device})")
    if a._element != b._element:
        raise RuntimeError(f"A and b array data types do not match ({_name(a)} vs {_name(b)})")
    if axis is not None:
        _axis("array_inner", axis, a.ndim)
    if _scalar(a) not in (types.float32, types.float64):
        raise RuntimeError(f"Unsupported data type: {_name(a)}")
    (x, y), where, count, out, plain = _reduced("array_inner", [a, b], out, _scalar(a), count, axis, None)
    _reductions(x.device).inner_along(x, y, out, where, count)
    return _result(out, plain)


def _scalars(a):
    """An array as one of its numbers."""
    return a if a._element.kind == "scalar" else a.view(_scalar(a))


def _described(source):
    return source.shape, [described(source, source.shape)]


def array_cast(in_array, out_array, count=None):
    """Converts the numbers of one array to the type of another."""
    if in_array.device is not out_array.device:
        raise RuntimeError(f"Array storage devices do not match ({in_array.device} vs {out_array.device})")
    if in_array.ndim > 1 and count is not None and out_array.ndim > 1:
        raise RuntimeError("Partial cast is not supported for arrays with more than one dimension")
    if in_array._element == out_array._element and in_array.shape == out_array.shape and count is None:
        copy(out_array, in_array)
        return
    parts = in_array._element.part_count if in_array._element.kind != "scalar" else 1
    source, target = _scalars(in_array), _scalars(out_array)
    if source.ndim == target.ndim and count is None and in_array.ndim > 1:
        if source.shape != target.shape:
            raise RuntimeError(f"Array shapes do not match ({in_array.shape} vs {out_array.shape})")
    elif count is not None or source.shape != target.shape:
        source, target = source.flatten(), target.flatten()
        wanted = source.size if count is None else count * parts
        if wanted > source.size or wanted > target.size:
            raise RuntimeError(
                f"Cast count ({wanted}) exceeds the input size ({source.size}) or output size ({target.size})"
            )
        source, target = source[:wanted], target[:wanted]
    if _core.is_recording() or not target.device.is_cpu:
        kernel, _ = make_kernel(target.dtype, f"cast_{target.dtype.__name__}", *_described(source))
        _core.launch(kernel, launch_shape(source.shape), [source], [target], device=target.device)
        return
    import numpy as np

    target._before_write()
    with np.errstate(all="ignore"):
        np.copyto(numpy_view(target), numpy_view(source), casting="unsafe")


def create_warp_function(func):
    """A function of the kernel language made of a Python function or a lambda, and its module."""
    from warp.lambdas import function_of

    made = function_of(func)
    return made, made.module


__all__ = [
    "array",
    "array_cast",
    "array_inner",
    "array_scan",
    "array_sum",
    "create_warp_function",
    "radix_sort_pairs",
    "runlength_encode",
    "segmented_sort_pairs",
]
