"""Views of an array: slices, reshaping, other dtypes, transposition. They share memory, and so do their gradients.

Not here: arrays seen through indices (indexed_arrays.py).
"""

import math
import operator

from warp import _core, types
from warp.annotations import ARRAY_MAX_DIMS
from warp.array_data import contiguous_strides, shape_tuple

# What files that need the class give: how `a[index_array]` is made, copies.
HOOKS = {}


class array_views:
    """The part of `wp.array` that makes views."""

    def _view(self, offset, shape, strides):
        """A view, with the same view of the gradient."""
        view = self._derived(self, self._element, self.dtype, offset, shape, strides)
        grad = self._grad
        if grad is not None:
            size = self._element.size
            if self.strides == grad.strides:
                view._grad = self._derived(grad, grad._element, grad.dtype, offset, shape, strides)
            elif self.is_contiguous and grad.is_contiguous:
                view._grad = grad._view(offset // size * size, shape, strides)
            else:
                view._grad = None
        return view

    def _dimension(self, key, axis):
        """One index: (offset, extent or None, stride)."""
        extent, stride = self._shape[axis], self._strides[axis]
        if isinstance(key, slice):
            step = 1 if key.step is None else operator.index(key.step)
            if step == 0:
                raise ValueError("slice step cannot be zero")
            if step < 0:
                raise ValueError(f"slices of arrays need a positive step, found {step}")
            start = 0 if key.start is None else operator.index(key.start)
            stop = extent if key.stop is None else operator.index(key.stop)
            start = start + extent if start < 0 else start
            stop = stop + extent if stop < 0 else stop
            if not (0 <= start <= stop <= extent):
                raise RuntimeError(
                    f"Invalid indexing in slice: {start}:{stop}:{step} of a dimension of {extent} elements"
                )
            return start * stride, -(-(stop - start) // step), stride * step
        try:
            index = operator.index(key)
        except TypeError:
            raise RuntimeError(f"Invalid index: {key}") from None
        if not -extent <= index < extent:
            raise IndexError(f"Invalid indexing in slice: {index} is out of range for {extent} elements")
        return (index + extent if index < 0 else index) * stride, None, stride

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, _core.Array) for k in keys):
            return HOOKS["indexed"](self, keys)
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for an array of {self.ndim} dimensions")
        offset, shape, strides = 0, [], []
        for axis in range(self.ndim):
            step, extent, stride = self._dimension(keys[axis] if axis < len(keys) else slice(None), axis)
            offset += step
            if extent is not None:
                shape.append(extent)
                strides.append(stride)
        if not shape:
            raise RuntimeError("Item indexing is not supported on wp.array objects: use .numpy()")
        return self._view(offset, shape, strides)

    def __setitem__(self, key, value):
        # `a[i:j] += b` ends in an assignment of the view to itself.
        if isinstance(value, _core.Array) and getattr(value, "_root", None) is getattr(self, "_root", self):
            target = self[key]
            if target._pointer == value._pointer and target.shape == value.shape and target.strides == value.strides:
                return
        raise TypeError("'array' object does not support item assignment: use wp.copy() or assign() on a slice")

    def reshape(self, *shape):
        """A view of another shape; one extent may be -1."""
        shape = shape[0] if len(shape) == 1 else shape
        shape = [operator.index(n) for n in shape] if hasattr(shape, "__iter__") else [operator.index(shape)]
        if -1 in shape:
            known = math.prod(n for n in shape if n != -1)
            if shape.count(-1) > 1:
                raise RuntimeError("Cannot infer shape if more than one index is -1")
            shape = [(self.size // known if known else 0) if n == -1 else n for n in shape]
        shape = shape_tuple(shape)
        size = math.prod(shape)
        if size != self.size:
            raise RuntimeError(
                f"cannot reshape array of shape {self.shape} (size {self.size}) into shape {shape} (size {size})"
            )
        if not self.is_contiguous:
            raise RuntimeError("Reshaping non-contiguous arrays is unsupported: call contiguous() first")
        return self._view(0, shape, contiguous_strides(shape, self._element.size))

    def flatten(self):
        """The same elements in one dimension."""
        if self.ndim == 1:
            return self
        if not self.is_contiguous:
            raise RuntimeError("Flattening non-contiguous arrays is unsupported: call contiguous() first")
        return self.reshape(self.size)

    def view(self, dtype):
        """The same memory as elements of another type of the same size; scalars may be grouped and ungrouped."""
        dtype = types.canonical(dtype)
        type = types.type_of(dtype)
        shape, strides = self.shape, self.strides
        if type.size != self._element.size:
            shape, strides = self._regrouped(dtype, type)
        view = self._derived(self, type, dtype, 0, shape, strides)
        grad = self._grad
        if grad is not None and grad.strides == self.strides:
            if self._element.is_differentiable and not type.is_differentiable:
                view._grad = grad  # by which tapes know that what is written there has one
            else:
                view._grad = self._derived(grad, type, dtype, 0, shape, strides)
        return view

    def _regrouped(self, dtype, type):
        """Shape and strides of a view of vectors as scalars, or of scalars as vectors."""
        mine, other = types.part_shape(self.dtype), types.part_shape(dtype)
        mine_scalar, other_scalar = types.scalar_of(self.dtype), types.scalar_of(dtype)

        def described(which, part, scalar, whole):
            name = f"{which} dtype" if not part else f"{which} scalar dtype {types.type_repr(scalar)}"
            return f"{name} has size {scalar._weft_type_.size if part else whole} bytes"

        structs = any(getattr(t, "_weft_struct_", False) for t in (dtype, self.dtype))
        if structs or bool(mine) == bool(other) or mine_scalar._weft_type_.size != other_scalar._weft_type_.size:
            raise TypeError(
                f"cannot create an array view with dtype {types.type_repr(dtype)} from source dtype "
                f"{types.type_repr(self.dtype)}: {described('source', mine, mine_scalar, self._element.size)}, "
                f"but {described('target', other, other_scalar, type.size)}"
            )
        size = mine_scalar._weft_type_.size
        if mine:
            shape = self.shape + mine
            if len(shape) > ARRAY_MAX_DIMS:
                shape_tuple(shape)
            return shape, self.strides + contiguous_strides(mine, size)
        outer = self.ndim - len(other)
        if outer < 0 or self.shape[outer:] != other or self.strides[outer:] != contiguous_strides(other, size):
            raise TypeError(
                f"cannot create an array view with dtype {types.type_repr(dtype)} from source dtype "
                f"{types.type_repr(self.dtype)}: the inner dimensions of shape {self.shape} do not hold elements"
            )
        return (self.shape[:outer], self.strides[:outer]) if outer else ((1,), (type.size,))

    def transpose(self, axes=None):
        axes = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        if sorted(axes) != list(range(self.ndim)):
            raise RuntimeError(f"{axes} is no order of the {self.ndim} dimensions")
        view = self._view(0, [self.shape[a] for a in axes], [self.strides[a] for a in axes])
        view.is_transposed = not view.is_contiguous
        return view

    is_transposed = False

    def contiguous(self):
        """The array itself where it is contiguous, else a contiguous copy."""
        return self if self.is_contiguous else HOOKS["clone"](self)
