"""Arrays at Python scope: construction, views, conversion, operators. Memory and copies are the core's."""

import math
import operator
import typing

from warp import _core, types
from warp.devices import get_device
from warp.errors import WarpUnsupportedError

ARRAY_MAX_DIMS = 4


def _shape_tuple(shape):
    """A shape argument as a tuple of ints: an int, or any sequence of ints."""
    if hasattr(shape, "__iter__"):
        shape = tuple(operator.index(n) for n in shape)
    else:
        shape = (operator.index(shape),)
    if not shape:
        raise IndexError("arrays without dimensions do not exist: the shape is ()")
    if len(shape) > ARRAY_MAX_DIMS:
        raise RuntimeError(f"an array has at most {ARRAY_MAX_DIMS} dimensions, found {len(shape)}: {shape}")
    return shape


def _numpy_of(data, dtype):
    """Data given to the constructor as a NumPy array with numbers of `dtype` (Any: as NumPy infers)."""
    import numpy as np

    is_numpy = isinstance(data, np.ndarray)
    try:
        if is_numpy or hasattr(data, "__array_interface__"):
            return np.asarray(data)
        if dtype is typing.Any:
            return np.array(data)
        with np.errstate(over="ignore"):
            return np.array(data, dtype=types.numpy_name(types.scalar_of(dtype)))
    except (ValueError, TypeError, OverflowError) as error:
        target = "an array" if dtype is typing.Any else f"an array of {dtype.__name__}"
        raise RuntimeError(f"cannot convert the data to {target}: {error}") from error


class array(_core.Array):
    """An array in a device's memory, or, without data, the annotation of a parameter.

    `wp.array(data, dtype=...)` copies lists, tuples and NumPy arrays (`copy=False` shares a NumPy array's memory);
    `shape=` alone makes an array with undefined content; `ptr=` borrows memory.
    """

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
        if getattr(dtype, "_weft_type_", None) is None and dtype is not typing.Any:
            dtype = types.dtype_from_numpy(dtype)
        self.retain_grad = retain_grad
        self.pinned = pinned
        if data is not None:
            self._from_data(data, dtype, shape, get_device(device), copy)
        elif ptr is not None:
            self._from_pointer(ptr, dtype, shape, strides, capacity, get_device(device), deleter)
        else:
            self._allocate(dtype, _shape_tuple(shape), get_device(device), False)
        if grad is not None:
            self.grad = grad
        elif requires_grad:
            self.requires_grad = True

    # ---- construction ----

    def _allocate(self, dtype, shape, device, zeroed):
        if dtype is typing.Any:
            dtype = types.float32
        super().__init__(types.type_of(dtype), shape, device, zeroed)
        self.dtype = dtype

    def _from_pointer(self, ptr, dtype, shape, strides, capacity, device, deleter):
        if shape is None:
            raise RuntimeError("an array made from a pointer needs a shape")
        type = types.type_of(dtype)
        shape = _shape_tuple(shape)
        strides = _contiguous(shape, type.size) if strides is None else tuple(strides)
        owner = None if deleter is None else _Deleter(deleter, ptr, capacity or type.size * math.prod(shape))
        super().__init__(type, shape, strides, ptr, capacity or 0, device, owner)
        self.dtype = dtype

    def _from_data(self, data, dtype, shape, device, copy):
        if isinstance(data, array) and (dtype is typing.Any or dtype is data.dtype):
            if copy:
                self._allocate(data.dtype, data.shape if shape is None else _shape_tuple(shape), device, False)
                self.assign(data.reshape(self.shape))
            else:
                _core.Array.__init__(self, data, data._element, 0, data.shape, data.strides)
                self.dtype = data.dtype
            return
        if not hasattr(data, "__len__") and not hasattr(data, "__array_interface__"):
            raise RuntimeError(f"an array is made from a sequence or an array, found {data!r}")
        if getattr(dtype, "_weft_struct_", False):
            self._from_structs(data, dtype, device)
            return
        source = _numpy_of(data, dtype)
        if dtype is typing.Any:
            try:
                dtype = types.dtype_from_numpy(source.dtype)
            except TypeError as error:
                raise RuntimeError(f"unsupported type of the data: {source.dtype}") from error
        source = _grouped(source, dtype, shape)
        part = types.part_shape(dtype)
        outer = source.shape[: source.ndim - len(part)]
        if len(outer) > ARRAY_MAX_DIMS:
            raise RuntimeError(f"an array has at most {ARRAY_MAX_DIMS} dimensions, found {len(outer)}: {outer}")
        scalar = types.numpy_name(types.scalar_of(dtype))
        if not copy and source.dtype.name == scalar and _inner_contiguous(source, len(part)) and source.size:
            strides = source.strides[: len(outer)]
            pointer = source.__array_interface__["data"][0]
            super().__init__(types.type_of(dtype), outer, strides, pointer, source.nbytes, device, source)
            self.dtype = dtype
            return
        self._allocate(dtype, outer, device, False)
        if source.size:
            import numpy as np

            with np.errstate(all="ignore"):
                np.copyto(self._numpy(), source, casting="unsafe")

    def _from_structs(self, data, dtype, device):
        import numpy as np

        self._allocate(dtype, (len(data),), device, True)
        for i, item in enumerate(data):
            if isinstance(item, np.void):  # of a NumPy array with a dtype like the struct's
                value = _core.Value(self._element)
                value._set_bytes(item.tobytes())
            else:
                value = _core.convert(self._element, item)
            self[i : i + 1]._fill(value)

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
        if self._has_memory or types.is_generic(self.dtype):
            raise AttributeError("_weft_type_")
        return _core.Type.array(types.type_of(self.dtype), self._annotated_ndim)

    @property
    def _weft_pattern_(self):
        if self._has_memory or not types.is_generic(self.dtype):
            raise AttributeError("_weft_pattern_")
        return f"Array[{types.pattern_of(self.dtype)}, {self._annotated_ndim}]"

    def __class_getitem__(cls, item):
        dtype, ndim = item if isinstance(item, tuple) else (item, None)
        if typing.get_origin(ndim) is typing.Literal:
            ndim = typing.get_args(ndim)[0]
        return cls(dtype=dtype) if ndim is None else cls(dtype=dtype, ndim=ndim)

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        return True

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __str__(self):
        if not self._has_memory:
            return repr(self)
        return str(self.numpy())

    def __repr__(self):
        name = getattr(self.dtype, "__name__", str(self.dtype))
        if not self._has_memory:
            return f"array(ndim={self._annotated_ndim}, dtype={name})"
        return f"array(shape={self.shape}, dtype={name})"

    # ---- views ----

    def _derived(self, base, type, dtype, offset, shape, strides):
        view = array.__new__(array)
        _core.Array.__init__(view, base, type, offset, shape, strides)
        view.dtype = dtype
        view.retain_grad = False
        view.pinned = False
        # Keeps what a tape must know: the array that a view belongs to.
        view._root = getattr(base, "_root", base)
        return view

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
            if step <= 0:
                raise ValueError(f"slices of arrays need a positive step, found {step}")
            start = 0 if key.start is None else operator.index(key.start)
            stop = extent if key.stop is None else operator.index(key.stop)
            start = start + extent if start < 0 else start
            stop = stop + extent if stop < 0 else stop
            if not (0 <= start <= stop <= extent):
                raise RuntimeError(
                    f"the slice [{key.start}:{key.stop}:{key.step}] is not inside a dimension of {extent} elements"
                )
            return start * stride, -(-(stop - start) // step), stride * step
        try:
            index = operator.index(key)
        except TypeError:
            raise RuntimeError(f"arrays are indexed by ints and slices, found {key!r}") from None
        if not -extent <= index < extent:
            raise IndexError(f"index {index} is out of range for a dimension of {extent} elements")
        return (index + extent if index < 0 else index) * stride, None, stride

    def __getitem__(self, key):
        if isinstance(key, array):
            raise WarpUnsupportedError("indexed arrays are not available yet")
        keys = key if isinstance(key, tuple) else (key,)
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
            raise RuntimeError("single elements cannot be read from Python: use .numpy()")
        return self._view(offset, shape, strides)

    def __setitem__(self, key, value):
        # `a[i:j] += b` ends in an assignment of the view to itself.
        if isinstance(value, array) and getattr(value, "_root", None) is getattr(self, "_root", self):
            target = self[key]
            if target.ptr == value.ptr and target.shape == value.shape and target.strides == value.strides:
                return
        raise TypeError("'array' object does not support item assignment: use wp.copy() or assign() on a slice")

    def reshape(self, *shape):
        """A view of another shape; one extent may be -1."""
        shape = _shape_tuple(shape[0] if len(shape) == 1 else shape)
        if -1 in shape:
            known = math.prod(n for n in shape if n != -1)
            if shape.count(-1) > 1 or known == 0 or self.size % known:
                raise RuntimeError(f"cannot give an array of shape {self.shape} the shape {shape}")
            shape = tuple(self.size // known if n == -1 else n for n in shape)
        if math.prod(shape) != self.size:
            raise RuntimeError(f"cannot give an array of shape {self.shape} the shape {shape}: the sizes differ")
        if not self.is_contiguous:
            raise RuntimeError("an array that is not contiguous cannot be given another shape: call contiguous() first")
        return self._view(0, shape, _contiguous(shape, self._element.size))

    def flatten(self):
        """One dimension: a view where the array is contiguous, else a copy."""
        return self.contiguous().reshape(self.size) if self.ndim != 1 or not self.is_contiguous else self

    def view(self, dtype):
        """The same memory as elements of another type of the same size."""
        dtype = types.canonical(dtype)
        type = types.type_of(dtype)
        if type.size != self._element.size:
            raise RuntimeError(
                f"cannot view elements of {self._element.size} bytes ({self.dtype.__name__}) as {dtype.__name__} "
                f"({type.size} bytes)"
            )
        return self._derived(self, type, dtype, 0, self.shape, self.strides)

    def transpose(self, axes=None):
        axes = tuple(reversed(range(self.ndim))) if axes is None else tuple(axes)
        if sorted(axes) != list(range(self.ndim)):
            raise RuntimeError(f"{axes} is no order of the {self.ndim} dimensions")
        return self._view(0, [self.shape[a] for a in axes], [self.strides[a] for a in axes])

    def contiguous(self):
        """The array itself where it is contiguous, else a contiguous copy."""
        return self if self.is_contiguous else clone(self)

    @property
    def is_transposed(self):
        return self.ndim == 2 and not self.is_contiguous and self.transpose().is_contiguous

    # ---- gradients ----

    @property
    def grad(self):
        return self._grad

    @grad.setter
    def grad(self, grad):
        if grad is not None:
            if not isinstance(grad, array):
                raise TypeError(f"a gradient is an array, found {type(grad).__name__}")
            if grad.dtype is not self.dtype or grad.shape != self.shape:
                raise ValueError(f"the gradient of {self!r} must have its dtype and shape, found {grad!r}")
        self._grad = grad

    @property
    def requires_grad(self):
        return self._grad is not None

    @requires_grad.setter
    def requires_grad(self, value):
        if not value:
            self._grad = None
        elif self._grad is None:
            self._grad = zeros(self.shape, dtype=self.dtype, device=self.device)

    # ---- content ----

    def zero_(self):
        self._zero()
        return self

    def fill_(self, value):
        """Every element becomes `value`; a scalar fills all numbers of a vector."""
        part = self._element
        scalar = not hasattr(value, "__len__") and not isinstance(value, _core.Value)
        if scalar and part.kind in ("vec", "mat", "quat", "transform"):
            value = (value,) * part.part_count
        try:
            converted = _core.convert(part, value)
        except (ValueError, TypeError) as error:
            raise ValueError(f"cannot fill an array of {self.dtype.__name__}: {error}") from None
        self._fill(converted)
        return self

    def assign(self, src):
        """Takes over the content of an array of the same type and size, a NumPy array or a sequence."""
        if not isinstance(src, array):
            src = array(src, dtype=self.dtype, device=self.device, copy=False)
            if src.shape != self.shape and src.size == self.size and src.is_contiguous:
                src = src.reshape(self.shape)
        if src.dtype is not self.dtype and src._element != self._element:
            raise RuntimeError(
                f"cannot assign an array of {src.dtype.__name__} to one of {self.dtype.__name__}: convert it first"
            )
        if src.shape != self.shape:
            raise RuntimeError(f"cannot assign an array of shape {src.shape} to one of shape {self.shape}")
        copy(self, src)

    def _numpy(self):
        import numpy as np

        layout = _layouts.get(self.dtype)
        if layout is None:
            layout = _layouts[self.dtype] = _numpy_layout(self.dtype, self._element.size)
        dtype, part, inner, interface = layout
        shape = self.shape + part
        if self.size == 0:
            return np.empty(shape, dtype=dtype)
        holder = _Interface()
        holder.owner = self
        holder.__array_interface__ = {
            **interface,
            "data": (self.ptr, False),
            "shape": shape,
            "strides": self.strides + inner,
        }
        return np.asarray(holder)

    def numpy(self):
        """The content as a NumPy array that shares memory where the device allows it."""
        return self._numpy()

    def list(self):
        """The content as a flat list of Python numbers, or of vectors and the like."""
        part = self._element
        if part.kind == "scalar":
            return self._numpy().flatten().tolist()
        source = self.contiguous()
        cls, base = self.dtype, source.ptr
        return [cls.from_ptr(base + i * part.size) for i in range(self.size)]

    def to(self, device, requires_grad=None):
        device = get_device(device)
        return self if device is self.device else clone(self, device=device, requires_grad=requires_grad)

    @property
    def __array_interface__(self):
        return self._numpy().__array_interface__

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        view = self._numpy()
        return np.array(view, dtype=dtype) if copy or (dtype is not None and dtype != view.dtype) else view

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        if types.scalar_of(self.dtype).__name__ == "bfloat16":
            raise BufferError("bfloat16 arrays are not exported through DLPack")
        wanted = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        wanted = {name: value for name, value in wanted.items() if value is not None}
        # What the consumer may write it must be told: only the newer form of the protocol says so.
        return self._numpy().__dlpack__(**wanted)

    def __dlpack_device__(self):
        return (1, 0)

    # ---- operators: see operators.py, which adds them ----

    def __matmul__(self, other):
        raise TypeError("@ is not defined for arrays")

    __rmatmul__ = __matmul__


class _Interface:
    """What NumPy needs to share an array's memory; keeps the array alive."""

    __slots__ = ("__array_interface__", "owner")


# dtype -> how NumPy sees its elements
_layouts = {}


def _numpy_layout(dtype, size):
    """(NumPy dtype, shape of an element, strides inside it, the part of the array interface that does not vary)."""
    import numpy as np

    if getattr(dtype, "_weft_struct_", False):
        made = dtype.numpy_dtype()
        return made, (), (), {"version": 3, "typestr": made.str, "descr": made.descr}
    made, part = np.dtype(types.numpy_name(types.scalar_of(dtype))), types.part_shape(dtype)
    inner = _contiguous(part, size // math.prod(part))
    return made, part, tuple(inner), {"version": 3, "typestr": made.str}


class _Deleter:
    """Calls the user's deleter when the last array that borrows the memory is gone."""

    def __init__(self, function, ptr, size):
        self.function, self.ptr, self.size = function, ptr, size

    def __del__(self):
        self.function(self.ptr, self.size)


def _contiguous(shape, size):
    strides = []
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


def _inner_contiguous(source, dims):
    """Whether the last `dims` dimensions lie without gaps, as the parts of one element do."""
    inner = source.shape[source.ndim - dims :]
    return source.strides[source.ndim - dims :] == _contiguous(inner, source.itemsize)


def _grouped(source, dtype, shape):
    """The data with the numbers of one element in its last dimensions, reshaped to `shape` where that is given."""
    part = types.part_shape(dtype)
    count = math.prod(part)
    try:
        if shape is not None:
            return source.reshape(_shape_tuple(shape) + part)
        if not part:
            return source.reshape(1) if source.ndim == 0 else source
        if source.ndim > len(part) and source.shape[source.ndim - len(part) :] == part:
            return source
        if source.ndim >= 1 and source.shape[-1] == count and source.ndim > 1:
            return source.reshape(source.shape[:-1] + part)
        if source.ndim == 1 and source.size % count == 0:
            return source.reshape((source.size // count, *part))
        if source.shape == part:
            return source.reshape((1, *part))
    except ValueError as error:
        raise RuntimeError(f"the data does not fit the shape {shape} of {dtype.__name__}: {error}") from error
    raise RuntimeError(f"data of shape {source.shape} cannot be grouped into elements of {dtype.__name__}")


class _ArrayOfDims(array):
    """An annotation, or an array, with a fixed number of dimensions."""

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("ndim", self._dims)
        super().__init__(*args, **kwargs)


array1d = type("array1d", (_ArrayOfDims,), {"_dims": 1, "__module__": __name__})
array2d = type("array2d", (_ArrayOfDims,), {"_dims": 2, "__module__": __name__})
array3d = type("array3d", (_ArrayOfDims,), {"_dims": 3, "__module__": __name__})
array4d = type("array4d", (_ArrayOfDims,), {"_dims": 4, "__module__": __name__})


def _new(shape, dtype, device, requires_grad, zeroed):
    dtype = types.canonical(dtype)
    if getattr(dtype, "_weft_type_", None) is None and dtype is not typing.Any:
        dtype = types.dtype_from_numpy(dtype)
    result = array.__new__(array)
    result.retain_grad = False
    result.pinned = False
    result._allocate(dtype, _shape_tuple(shape), get_device(device), zeroed)
    if requires_grad:
        result.requires_grad = True
    return result


def empty(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array with undefined content."""
    return _new(_shape_argument(shape, kwargs), dtype, device, requires_grad, False)


def zeros(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of zeros."""
    return _new(_shape_argument(shape, kwargs), dtype, device, requires_grad, True)


def _shape_argument(shape, kwargs):
    if shape is None and "n" in kwargs:
        shape = kwargs.pop("n")
    if kwargs:
        raise TypeError(f"unexpected keyword argument '{next(iter(kwargs))}'")
    if shape is None:
        raise TypeError("missing required argument: 'shape'")
    return shape


def full(shape=None, value=0, dtype=typing.Any, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of which every element is `value`; without dtype the type is the value's."""
    dtype = types.canonical(dtype)
    if dtype is typing.Any:
        if isinstance(value, (_core.Value, types.scalar_base)):
            dtype = type(value)
        elif hasattr(value, "__len__"):
            import numpy as np

            given = np.array(value)
            scalar = types.dtype_from_numpy(given.dtype)
            dtype = types.vector(given.size, scalar) if given.ndim == 1 else types.matrix(given.shape, scalar)
        elif hasattr(value, "dtype"):
            dtype = types.dtype_from_numpy(value.dtype)
        else:
            dtype = types.canonical(type(value))
    result = _new(_shape_argument(shape, kwargs), dtype, device, requires_grad, False)
    return result.fill_(value)


def ones(shape=None, dtype=types.float32, device=None, requires_grad=False, pinned=False, **kwargs):
    """An array of ones."""
    return full(_shape_argument(shape, kwargs), 1, dtype, device, requires_grad)


def _like(src, device, requires_grad):
    if not isinstance(src, array):
        src = array(src, copy=False)
    return (
        src,
        src.device if device is None else device,
        src.requires_grad if requires_grad is None else requires_grad,
    )


def empty_like(src, device=None, requires_grad=None, pinned=None):
    src, device, requires_grad = _like(src, device, requires_grad)
    return _new(src.shape, src.dtype, device, requires_grad, False)


def zeros_like(src, device=None, requires_grad=None, pinned=None):
    src, device, requires_grad = _like(src, device, requires_grad)
    return _new(src.shape, src.dtype, device, requires_grad, True)


def full_like(src, value, device=None, requires_grad=None, pinned=None):
    return empty_like(src, device, requires_grad).fill_(value)


def ones_like(src, device=None, requires_grad=None, pinned=None):
    return full_like(src, 1, device, requires_grad)


def clone(src, device=None, requires_grad=None, pinned=None):
    """A contiguous copy."""
    result = empty_like(src, device, requires_grad)
    copy(result, src)
    return result


def _window(source, offset, count):
    """`count` elements from `offset` on, counted over the flattened array."""
    if offset == 0 and count == source.size:
        return source
    if not source.is_contiguous:
        raise RuntimeError("a part of an array that is not contiguous cannot be copied: use slices")
    return source.reshape(source.size)[offset : offset + count]


def copy(dest, src, dest_offset=0, src_offset=0, count=0, stream=None):
    """Copies `count` elements (0: all of `src`) between arrays of one type."""
    if not isinstance(dest, array) or not isinstance(src, array):
        raise RuntimeError("wp.copy() copies between arrays")
    if src._element != dest._element:
        raise RuntimeError(
            f"cannot copy from an array of {src.dtype.__name__} to one of {dest.dtype.__name__}: convert it first"
        )
    whole = count <= 0
    if count <= 0:
        count = src.size - src_offset
    if count == 0:
        return
    if src_offset < 0 or src_offset + count > src.size:
        raise RuntimeError(f"cannot copy {count} elements from element {src_offset} of an array of {src.size}")
    if dest_offset < 0 or dest_offset + count > dest.size:
        raise RuntimeError(f"cannot copy {count} elements to element {dest_offset} of an array of {dest.size}")
    if not (whole and dest_offset == src_offset == 0 and src.shape == dest.shape):
        dest, src = _window(dest, dest_offset, count), _window(src, src_offset, count)
        if dest.shape != src.shape:
            if dest.is_contiguous:
                dest = dest.reshape(src.shape)
            elif src.is_contiguous:
                src = src.reshape(dest.shape)
            else:
                raise RuntimeError(f"cannot copy from shape {src.shape} to shape {dest.shape}: not contiguous")
    dest._copy_from(src)
    tape = _core.get_tape()
    if tape is not None:
        tape._record_copy(dest, src)


def from_numpy(arr, dtype=None, shape=None, device=None, requires_grad=False):
    """A copy of a NumPy array; without dtype the type is the array's."""
    dtype = types.dtype_from_numpy(arr.dtype) if dtype is None else dtype
    return array(arr, dtype=dtype, shape=shape, device=device, requires_grad=requires_grad)


def from_ptr(ptr, length, dtype=None, shape=None, device=None):
    return array(ptr=ptr, dtype=dtype or types.float32, shape=length if shape is None else shape, device=device)


def from_dlpack(source, dtype=None):
    """An array that shares the memory of another library's."""
    import numpy as np

    data = np.from_dlpack(source)
    pointer, readonly = data.__array_interface__["data"]
    dtype = types.dtype_from_numpy(data.dtype) if dtype is None else types.canonical(dtype)
    del readonly  # the exporter allowed sharing; writing is the user's decision
    part = types.part_shape(dtype)
    outer = data.shape[: data.ndim - len(part)] if part else data.shape
    if part and data.shape[data.ndim - len(part) :] != part:
        raise RuntimeError(f"data of shape {data.shape} has no elements of {dtype.__name__}")
    if data.dtype.name != types.numpy_name(types.scalar_of(dtype)) or not _inner_contiguous(data, len(part)):
        raise RuntimeError(f"data of {data.dtype} does not hold elements of {dtype.__name__}")
    result = array.__new__(array)
    result.retain_grad = False
    result.pinned = False
    if data.ndim == 0:
        data, outer = data.reshape(1), (1,)
    strides = data.strides[: len(outer)]
    _core.Array.__init__(result, types.type_of(dtype), outer, strides, pointer, data.nbytes, get_device(None), data)
    result.dtype = dtype
    return result


def to_dlpack(wp_array):
    return wp_array.__dlpack__()


def to_numpy(wp_array):
    return wp_array.numpy()


def _convert_argument(source, element, ndim):
    """For launches: the array that shares the memory of a NumPy array (or the like) given as argument, or None."""
    if not hasattr(source, "__array_interface__"):
        return None
    import numpy as np

    data = np.asarray(source)
    dtype = types.class_of(element)
    part = types.part_shape(dtype)
    if data.dtype.name != types.numpy_name(types.scalar_of(dtype)) or data.ndim != ndim + len(part):
        return None
    if (part and data.shape[data.ndim - len(part) :] != part) or not _inner_contiguous(data, len(part)):
        return None
    result = array.__new__(array)
    _core.Array.__init__(
        result,
        element,
        data.shape[:ndim],
        data.strides[:ndim],
        data.__array_interface__["data"][0],
        data.nbytes,
        get_device(None),
        data,
    )
    result.dtype = dtype
    return result
