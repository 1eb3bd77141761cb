"""`wp.array`: construction, what it is, gradients, content. Memory and copies are the core's.

Not here: views (array_views.py), other libraries (array_interchange.py), functions that make arrays (array_makers.py),
operators (operators.py), indexed arrays (indexed_arrays.py).
"""

import math
import operator
import typing

from warp import _core, types
from warp.annotations import ARRAY_MAX_DIMS, family_pattern, family_type, subscripted
from warp.array_data import (
    contiguous_strides,
    grouped,
    inner_contiguous,
    numpy_dtype_of,
    numpy_of,
    numpy_view,
    shape_tuple,
    write_numbers,
)
from warp.array_interchange import array_interchange
from warp.array_views import HOOKS, array_views
from warp.devices import get_device


class array(array_views, array_interchange, _core.Array):
    """An array in a device's memory, or, without data, the annotation of a parameter.

    `wp.array(data, dtype=...)` copies lists, tuples and NumPy arrays (`copy=False` shares a NumPy array's memory);
    `shape=` alone makes an array with undefined content; `ptr=` borrows memory.
    """

    _weft_array_family_ = "array"
    dtype = typing.Any
    pinned = False
    _retain_grad = False
    _annotated_ndim = 1
    # of launches with checks: whether the array has been read since it was written
    _is_read = False
    # what the memory belongs to, where it is not the array's own
    _ref = None

    def __init__(
        self,
        data=None,
        dtype=typing.Any,
        shape=None,
        strides=None,
        ptr=None,
        capacity=None,
        device=None,
        pinned=False,
        copy=True,
        deleter=None,
        ndim=None,
        grad=None,
        requires_grad=False,
        retain_grad=False,
    ):
        dtype = types.canonical(dtype)
        if data is None and shape is None and ptr is None:
            super().__init__()
            self.dtype = dtype
            self._annotated_ndim = 1 if ndim is None else ndim
            return
        if data is not None and ptr is not None:
            raise RuntimeError("Can only construct arrays with either `data` or `ptr` arguments, not both")
        if getattr(dtype, "_weft_type_", None) is None and dtype is not typing.Any:
            dtype = types.dtype_from_numpy(dtype)
        if pinned:
            self.pinned = True
        if data is not None:
            self._from_data(data, dtype, shape, get_device(device), copy)
        elif ptr is not None:
            self._from_pointer(ptr, dtype, shape, strides, capacity, get_device(device), deleter)
        else:
            self._allocate(dtype, shape_tuple(shape), get_device(device), False, strides)
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True
        if retain_grad:
            self.retain_grad = True

    # ---- construction ----

    def _allocate(self, dtype, shape, device, zeroed, strides=None):
        if dtype is typing.Any:
            dtype = types.float32
        type = types.type_of(dtype)
        if strides is None and (device._custom_allocator is not None or self.pinned):
            self._allocate_by(device.get_allocator(pinned=self.pinned), type, shape, device, zeroed)
        elif strides is None:
            super().__init__(type, shape, device, zeroed)
        else:
            self._allocate_strided(type, shape, device, zeroed, tuple(operator.index(s) for s in strides))
        self.dtype = dtype

    def _allocate_by(self, allocator, type, shape, device, zeroed):
        size = type.size * math.prod(shape)
        if size == 0:
            super().__init__(type, shape, device, zeroed)
            return
        ptr = allocator.allocate(size)
        owner = _Deleter(allocator.deallocate, ptr, size)
        super().__init__(type, shape, contiguous_strides(shape, type.size), ptr, size, device, owner)
        if zeroed:
            self._zero()

    def _allocate_strided(self, type, shape, device, zeroed, strides):
        if len(strides) != len(shape):
            raise ValueError(f"Invalid number of strides, expected {len(shape)} strides, got {len(strides)}")
        if any(s < 0 for s in strides):
            raise NotImplementedError("Negative strides are not supported when memory is allocated")
        size = 0
        if math.prod(shape):
            size = type.size + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        memory = _core.Array(_core.Type.scalar("u8"), (size,), device, zeroed)
        super().__init__(memory, type, 0, shape, strides)

    def _from_pointer(self, ptr, dtype, shape, strides, capacity, device, deleter):
        if shape is None:
            raise TypeError("an array made from a pointer needs a shape")
        if dtype is typing.Any:
            raise TypeError("A concrete type is required: an array made from a pointer needs a dtype")
        type = types.type_of(dtype)
        shape = shape_tuple(shape)
        strides = contiguous_strides(shape, type.size) if strides is None else tuple(operator.index(s) for s in strides)
        if len(strides) != len(shape):
            raise ValueError(f"Invalid number of strides, expected {len(shape)} strides, got {len(strides)}")
        owner = None if deleter is None else _Deleter(deleter, ptr, capacity or type.size * math.prod(shape))
        super().__init__(type, shape, strides, ptr, capacity or 0, device, owner)
        self._mark_exported()
        self.dtype = dtype

    def _share(self, dtype, shape, strides, pointer, bytes, device, owner):
        """Makes this the array over memory of another library's object."""
        _core.Array.__init__(self, types.type_of(dtype), shape, strides, pointer, bytes, device, owner)
        self._mark_exported()
        self.dtype = dtype
        self._ref = owner

    def _from_data(self, data, dtype, shape, device, copy):
        if isinstance(data, array):
            if dtype is typing.Any:
                dtype = data.dtype
            if dtype is data.dtype and (shape is None or shape_tuple(shape) == data.shape):
                if copy:
                    self._allocate(dtype, data.shape, device, False)
                    self.assign(data)
                else:
                    _core.Array.__init__(self, data, data._element, 0, data.shape, data.strides)
                    self.dtype = dtype
                return
            data = data.numpy()
        elif hasattr(data, "_weft_array_family_") and not isinstance(data, type):
            data = data.numpy()
        if not hasattr(data, "__len__") and not hasattr(data, "__array_interface__"):
            raise RuntimeError(f"Data must be a sequence or array, got scalar {data!r}")
        if not device.is_cpu:
            self._from_host(array(data, dtype, shape, device="cpu", copy=False), device)
            return
        if getattr(dtype, "_weft_struct_", False):
            self._from_structs(data, dtype, shape, device, copy)
            return
        source = numpy_of(data, dtype)
        if dtype is typing.Any:
            try:
                dtype = types.dtype_from_numpy(source.dtype)
            except TypeError as error:
                raise RuntimeError(f"Unsupported input data dtype: {source.dtype}") from error
        source = grouped(source, dtype, shape)
        part = types.part_shape(dtype)
        outer = source.shape[: source.ndim - len(part)]
        if len(outer) > ARRAY_MAX_DIMS:
            shape_tuple(outer)
        scalar = types.numpy_name(types.scalar_of(dtype))
        if not copy and source.dtype.name == scalar and inner_contiguous(source, len(part)) and source.size:
            strides = source.strides[: len(outer)]
            pointer = source.__array_interface__["data"][0]
            self._share(dtype, outer, strides, pointer, source.nbytes, device, source)
            return
        self._allocate(dtype, outer, device, False)
        if source.size:
            write_numbers(numpy_view(self), source, dtype)

    def _from_host(self, host, device):
        """Makes this a copy of an array in the host's memory, on a device whose memory is its own."""
        self._allocate(host.dtype, host.shape, device, False)
        self._copy_from(host)
        if hasattr(host, "_members"):
            self._members = host._members

    def _from_structs(self, data, dtype, shape, device, copy):
        import numpy as np

        if hasattr(data, "__array_interface__"):
            source = np.asarray(data)
            layout = numpy_dtype_of(dtype)
            if source.dtype != layout:
                raise RuntimeError(f"data of {source.dtype} does not hold elements of {dtype.__name__}")
            if shape is not None:
                source = source.reshape(shape_tuple(shape))
            if not copy and source.size:
                pointer = source.__array_interface__["data"][0]
                self._share(dtype, source.shape, source.strides, pointer, source.nbytes, device, source)
                return
            self._allocate(dtype, source.shape, device, True)
            if source.size:
                numpy_view(self)[...] = source
            return
        flat = list(data)
        if flat and hasattr(flat[0], "__len__") and not isinstance(flat[0], np.void):
            rows = [list(row) for row in flat]
            outer = (len(rows), len(rows[0]))
            flat = [item for row in rows for item in row]
        else:
            outer = (len(flat),)
        outer = outer if shape is None else shape_tuple(shape)
        self._allocate(dtype, outer, device, True)
        line = _core.Array(self, self._element, 0, (len(flat),), (self._element.size,))
        keep = []
        for i, item in enumerate(flat):
            if isinstance(item, np.void):  # of a NumPy array with a dtype like the struct's
                value = _core.Value(self._element)
                value._set_bytes(item.tobytes())
                place = _core.Array(line, self._element, i * self._element.size, (1,), (self._element.size,))
                place._fill(value)
                continue
            if not isinstance(item, dtype):
                raise RuntimeError(f"an array of {dtype.__name__} is made from its instances, found {item!r}")
            item._refresh()
            keep.extend(item._weft_arrays())
            keep.extend(item._weft_textures())
            place = _core.Array(line, self._element, i * self._element.size, (1,), (self._element.size,))
            place._fill(_core.convert(self._element, item))
        if keep:
            # The descriptors in memory point to them.
            self._members = keep

    # ---- what it is ----

    @property
    def shape(self):
        if not self._has_memory:
            return (0,) * self._annotated_ndim
        return self._shape

    @shape.setter
    def shape(self, shape):
        view = self.reshape(shape)
        _core.Array.__init__(self, view, view._element, 0, view._shape, view._strides)

    @property
    def ndim(self):
        return _core.Array.ndim.__get__(self) if self._has_memory else self._annotated_ndim

    @property
    def strides(self):
        return self._strides

    @property
    def device(self):
        return self._device

    @property
    def _weft_type_(self):
        """Of an annotation: the type of the parameter."""
        if self._has_memory:
            raise AttributeError("_weft_type_")
        return family_type("array", self.dtype, self._annotated_ndim)

    @property
    def _weft_pattern_(self):
        if self._has_memory:
            raise AttributeError("_weft_pattern_")
        return family_pattern("array", self.dtype, self._annotated_ndim)

    def __class_getitem__(cls, item):
        if cls is not array:
            raise TypeError(f"Subscript syntax not supported for {cls.__name__}, a subclass of wp.array")
        return subscripted("array", item)

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        return True

    def __del__(self):
        pass

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __str__(self):
        if not self._has_memory:
            return repr(self)
        return str(self.numpy())

    def __repr__(self):
        name = types.type_repr(self.dtype)
        if not self._has_memory:
            return f"{type(self).__name__}(ndim={self._annotated_ndim}, dtype={name})"
        return f"{type(self).__name__}(shape={self.shape}, dtype={name})"

    # ---- views: array_views.py ----

    def _derived(self, base, type, dtype, offset, shape, strides):
        view = array.__new__(array)
        _core.Array.__init__(view, base, type, offset, shape, strides)
        view.dtype = dtype
        if self._retain_grad:
            view._retain_grad = True
        # Keeps what a tape must know: the array that a view belongs to.
        view._root = getattr(base, "_root", base)
        return view

    # ---- gradients ----

    @property
    def grad(self):
        return self._grad

    @grad.setter
    def grad(self, grad):
        if grad is not None:
            if not isinstance(grad, array):
                raise TypeError(f"a gradient is an array, found {type(grad).__name__}")
            if grad._element != self._element or grad.shape != self.shape:
                raise ValueError(f"the gradient of {self!r} must have its dtype and shape, found {grad!r}")
        self._grad = grad

    @property
    def requires_grad(self):
        return self._grad is not None

    @requires_grad.setter
    def requires_grad(self, value):
        if not value:
            self._grad = None
            self._retain_grad = False
        elif self._grad is None:
            grad = array.__new__(array)
            grad._allocate(self.dtype, self.shape, self.device, True)
            self._grad = grad

    @property
    def retain_grad(self):
        """Whether Tape.backward() leaves the gradient of this array as it is where a launch overwrites the array."""
        return self._retain_grad

    @retain_grad.setter
    def retain_grad(self, value):
        if value and not self.requires_grad:
            raise ValueError("retain_grad needs requires_grad=True")
        self._retain_grad = bool(value)

    # ---- content ----

    def zero_(self):
        self._zero()
        self._tell_filled()
        return self

    def _tell_filled(self):
        """What was computed into the array has no derivative through it any more."""
        tape, forward = _core.get_tape(), _core.get_forward()
        if tape is not None:
            tape._record_fill(self)
        if forward is not None:
            forward._fill(self)

    def fill_(self, value):
        """Every element becomes `value`; a scalar fills all numbers of a vector."""
        self._fill(converted_element(self, value))
        self._tell_filled()
        return self

    def assign(self, src):
        """Takes over the content of an array of the same type and size, a NumPy array or a sequence."""
        if not isinstance(src, _core.Array) and not hasattr(src, "_weft_array_family_"):
            src = array(src, dtype=self.dtype, device=self.device, copy=False)
        if src.dtype is not self.dtype and src._element != self._element:
            raise RuntimeError(
                f"cannot assign an array of {types.type_repr(src.dtype)} to one of {types.type_repr(self.dtype)}: "
                "convert it first"
            )
        if src.shape != self.shape:
            if src.size != self.size or not src.is_contiguous or not self.is_contiguous:
                raise RuntimeError(f"cannot assign an array of shape {src.shape} to one of shape {self.shape}")
            src = src.reshape(self.shape)
        HOOKS["copy"](self, src)

    def to(self, device, requires_grad=None):
        device = get_device(device)
        return self if device is self.device else HOOKS["clone"](self, device=device, requires_grad=requires_grad)

    def mark_init(self):
        """Marks the array as neither read nor written: what autograd's checks of accesses start from."""
        self._is_read = False
        root = getattr(self, "_root", None)
        if root is not None:
            root._is_read = False

    def mark_read(self):
        self._is_read = True
        root = getattr(self, "_root", None)
        if root is not None:
            root._is_read = True

    def mark_write(self, **kwargs):
        self._is_read = False

    # ---- operators: see operators.py, which adds them ----

    def __matmul__(self, other):
        raise TypeError("Matrix multiplication (@) is not supported for wp.array objects")

    __rmatmul__ = __matmul__


def gradient_of(a):
    """The gradient of an array, or None."""
    return a.grad


def converted_element(a, value):
    """A value for fill_ as the core takes it: one element of the array."""
    part, dtype = a._element, a.dtype
    try:
        if part.kind == "struct":
            if not isinstance(value, dtype):
                raise TypeError(f"expected {dtype.__name__}, found {type(value).__name__}")
            value._refresh()
        elif part.kind != "scalar":
            if not isinstance(value, _core.Value) or value._weft_type_ != part:
                value = dtype(value)
        return _core.convert(part, value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"Failed to convert the value to the array data type: {error}") from None


class _Deleter:
    """Calls the user's deleter when the last array that borrows the memory is gone."""

    def __init__(self, function, ptr, size):
        self.function, self.ptr, self.size = function, ptr, size

    def __del__(self):
        self.function(self.ptr, self.size)


class _OfDims(array):
    """An annotation, or an array, with a fixed number of dimensions: makes objects of `array` itself."""

    def __new__(cls, *args, **kwargs):
        kwargs.setdefault("ndim", cls._dims)
        return array(*args, **kwargs)

    def __class_getitem__(cls, item):
        return subscripted("array", item, cls._dims)


array1d = type("array1d", (_OfDims,), {"_dims": 1, "__module__": __name__})
array2d = type("array2d", (_OfDims,), {"_dims": 2, "__module__": __name__})
array3d = type("array3d", (_OfDims,), {"_dims": 3, "__module__": __name__})
array4d = type("array4d", (_OfDims,), {"_dims": 4, "__module__": __name__})
