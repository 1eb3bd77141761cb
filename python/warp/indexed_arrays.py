"""`wp.indexedarray`: an array seen through arrays of indices, one for each dimension that has one.

In kernels it is a struct of the array and its indices (src/frontend/indexed_arrays.h); here it shows what it selects.
"""

import math
import typing

from warp import _core, types
from warp.annotations import CLASSES, FAMILIES, family_pattern, family_type, subscripted
from warp.array_data import numpy_values, numpy_view
from warp.array_views import HOOKS
from warp.arrays import array, converted_element, gradient_of
from warp.devices import get_device


def _by_launch(dest):
    """Whether what is written must be a launch: it is recorded, has a derivative, or is out of the host's reach."""
    taped = _core.get_tape() is not None and dest.requires_grad
    return _core.is_recording() or taped or _core.get_forward() is not None or not dest.device.is_cpu


def _copy_between_devices(dest, src):
    """By way of contiguous arrays, one on each device."""
    capturing = dest.device.is_capturing or src.device.is_capturing
    if capturing and any(a.device.is_cpu and not a.is_contiguous for a in (dest, src)):
        raise RuntimeError(
            "Failed to allocate memory for a recorded copy on device 'cpu': arrays of the host must be contiguous there"
        )
    if not src.is_contiguous:
        src = HOOKS["clone"](src)
    if dest.is_contiguous:
        HOOKS["copy"](dest, src)
    else:
        HOOKS["copy"](dest, HOOKS["clone"](src, device=dest.device))


class indexed_array_base:
    """What arrays that are seen through indices share."""

    requires_grad = False
    grad = None
    retain_grad = False
    pinned = False

    def __len__(self):
        return self.shape[0]

    def __bool__(self):
        return True

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __str__(self):
        return str(self.numpy()) if self._has_memory else repr(self)

    def __repr__(self):
        name = types.type_repr(self.dtype)
        if not self._has_memory:
            return f"{type(self).__name__}(ndim={self.ndim}, dtype={name})"
        return f"{type(self).__name__}(shape={self.shape}, dtype={name})"

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def _element(self):
        return types.type_of(self.dtype)

    def numpy(self):
        """A copy of the content."""
        return self._gather() if self.device.is_cpu else self.contiguous().numpy()

    def list(self):
        return self.contiguous().list()

    def contiguous(self):
        """A contiguous array with the same content."""
        return HOOKS["clone"](self)

    def flatten(self):
        return self.contiguous().flatten()

    def to(self, device, requires_grad=None):
        """On its own device the array itself, on another a copy of what it selects."""
        if get_device(device) is self.device:
            return self
        return HOOKS["clone"](self, device=device, requires_grad=requires_grad)

    def zero_(self):
        self.fill_(self.dtype() if types.type_is_struct(self.dtype) else 0)

    def fill_(self, value):
        converted = converted_element(self, value)
        if _by_launch(self):
            plain = types.scalar_of(self.dtype) is self.dtype and not types.type_is_struct(self.dtype)
            HOOKS["write"](self, self.dtype(converted._get(0)) if plain else self._one(value, converted))
            return
        import numpy as np

        one = array(shape=1, dtype=self.dtype)
        one._fill(converted)
        self._scatter_all(np.array(numpy_view(one)[0]))

    def _one(self, value, converted):
        """A value for all elements as an argument: of a struct the instance, which launches take."""
        return value if types.type_is_struct(self.dtype) else converted

    def assign(self, src):
        if not hasattr(src, "_weft_array_family_"):
            src = array(src, dtype=self.dtype, copy=False)
        if src.shape != self.shape and src.size == self.size:
            src = src.reshape(self.shape)
        HOOKS["copy"](self, src)

    @staticmethod
    def _copy(dest, src):
        """Copies between arrays of one shape, at least one of which has indices."""
        if dest.size == 0:
            return
        if dest.device is not src.device:
            _copy_between_devices(dest, src)
            return
        if _by_launch(dest):
            HOOKS["write"](dest, src)
            return
        content = src._gather() if isinstance(src, indexed_array_base) else numpy_view(src)
        if isinstance(dest, indexed_array_base):
            dest._scatter_all(content)
        else:
            dest._before_write()
            numpy_view(dest)[...] = content


class indexedarray(indexed_array_base):
    """`wp.indexedarray(data, [indices0, None, ...])`, or without data the annotation of a parameter."""

    _weft_array_family_ = "indexedarray"
    is_contiguous = False

    def __init__(self, data=None, indices=None, dtype=None, ndim=None):
        self.data = None
        if data is None:
            self.dtype = types.canonical(typing.Any if dtype is None else dtype)
            self.ndim = 1 if ndim is None else ndim
            self.indices = [None] * self.ndim
            self.shape = (0,) * self.ndim
            return
        if not isinstance(data, array) or not data._has_memory:
            raise TypeError(f"an indexed array is made of an array, found {type(data).__name__}")
        if dtype is not None and types.canonical(dtype) is not data.dtype:
            raise ValueError(f"Requested dtype ({types.type_repr(dtype)}) does not match {types.type_repr(data.dtype)}")
        if ndim is not None and ndim != data.ndim:
            raise ValueError(f"Requested dimensionality ({ndim}) does not match the array's ({data.ndim})")
        self.data, self.dtype, self.ndim = data, data.dtype, data.ndim
        if isinstance(indices, array):
            indices = [indices]
        indices = list(indices or [])
        if len(indices) > self.ndim:
            raise ValueError(f"Number of indices provided ({len(indices)}) exceeds number of dimensions ({self.ndim})")
        indices += [None] * (self.ndim - len(indices))
        for i in indices:
            check_indices(i, data)
        self.indices = indices
        self.shape = tuple(n if i is None else i.size for n, i in zip(data.shape, indices, strict=True))
        self._values = None

    @property
    def _has_memory(self):
        return self.data is not None

    @property
    def device(self):
        return self.data.device if self.data is not None else None

    @property
    def requires_grad(self):
        return self.data is not None and self.data.requires_grad

    @property
    def strides(self):
        return self.data.strides

    @property
    def _weft_type_(self):
        return family_type(self._weft_array_family_, self.dtype, self.ndim)

    @property
    def _weft_pattern_(self):
        return family_pattern(self._weft_array_family_, self.dtype, self.ndim)

    def __class_getitem__(cls, item):
        if cls is not indexedarray:
            raise TypeError(f"Subscript syntax not supported for {cls.__name__}, a subclass of wp.indexedarray")
        return subscripted("indexedarray", item)

    # ---- for launches ----

    def _weft_arrays(self):
        yield self.data
        for i in self.indices:
            if i is not None:
                yield i

    def _packed(self):
        """The struct that kernels get."""
        value = _core.Value(family_type("indexedarray", self.dtype, self.ndim))
        value._set_array(0, self.data)
        for i, index in enumerate(self.indices):
            value._set_array(1 + i, index)
        return value

    def _gradient(self, of=gradient_of):
        """The same view of the gradient, which `of` gives."""
        value = _core.Value(family_type("indexedarray", self.dtype, self.ndim))
        value._set_array(0, of(self.data))
        for i, index in enumerate(self.indices):
            value._set_array(1 + i, index)
        return value

    # ---- content ----

    def _open(self):
        """What NumPy takes as the index that selects the elements."""
        import numpy as np

        picked = [
            np.arange(n) if i is None else numpy_view(i) for n, i in zip(self.data.shape, self.indices, strict=True)
        ]
        return np.ix_(*picked)

    def _gather(self):
        import numpy as np

        view = numpy_view(self.data)
        if self.size == 0:
            return np.empty(self.shape + types.part_shape(self.dtype), dtype=view.dtype)
        return view[self._open()]

    def _scatter_all(self, content):
        if self.size == 0:
            return
        self.data._before_write()
        numpy_view(self.data)[self._open()] = content

    def __getitem__(self, key):
        """Slices and indices of what is selected: an indexed array of fewer elements or dimensions."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > self.ndim:
            raise IndexError(f"{len(keys)} indices for an array of {self.ndim} dimensions")
        data_keys, indices = [], []
        for axis in range(self.ndim):
            k = keys[axis] if axis < len(keys) else slice(None)
            index = self.indices[axis]
            if index is None:
                data_keys.append(slice(None) if isinstance(k, array) else k)
                if isinstance(k, (array, slice)):
                    indices.append(k if isinstance(k, array) else None)
                continue
            if isinstance(k, array):
                check_indices(k, self.data)
                k = numpy_values(k)
            picked = numpy_values(index)[k]
            if isinstance(k, slice) or picked.ndim:
                data_keys.append(slice(None))
                indices.append(array(picked, dtype=types.int32, device=self.device))
            else:
                data_keys.append(int(picked))
        base = self.data[tuple(data_keys)]
        return indexedarray(base, indices)

    def __setitem__(self, key, value):
        raise TypeError("'indexedarray' object does not support item assignment: use wp.copy() or assign()")


def check_indices(index, data):
    """An array of indices, checked."""
    if index is None:
        return
    if not isinstance(index, array):
        raise TypeError(f"Indices should be a Warp array of int32, found {type(index).__name__}")
    if index.dtype is not types.int32:
        raise ValueError(f"Index array must use int32, got dtype {types.type_repr(index.dtype)}")
    if index.ndim != 1:
        raise ValueError(f"Index array must be one-dimensional, got {index.ndim}")
    if index.device is not data.device:
        raise ValueError(f"Index array device ({index.device} does not match data array device ({data.device}))")


def _indexed(base, keys):
    """`base[..., index_array, ...]`."""
    if len(keys) > base.ndim:
        raise IndexError(f"{len(keys)} indices for an array of {base.ndim} dimensions")
    keys = list(keys) + [slice(None)] * (base.ndim - len(keys))
    plain = tuple(slice(None) if isinstance(k, _core.Array) else k for k in keys)
    for k in keys:
        if isinstance(k, _core.Array):
            check_indices(k, base)
    view = base[plain]
    return indexedarray(view, [k if isinstance(k, _core.Array) else None for k in keys if _keeps(k)])


def _keeps(key):
    return isinstance(key, (slice, _core.Array))


HOOKS["indexed"] = _indexed


def _of_dims(dims):
    def make(*args, **kwargs):
        kwargs["ndim"] = dims
        return indexedarray(*args, **kwargs)

    make.__name__ = make.__qualname__ = f"indexedarray{dims}d"
    return make


indexedarray1d, indexedarray2d, indexedarray3d, indexedarray4d = (_of_dims(n) for n in (1, 2, 3, 4))


class fixedarray(array):
    """The annotation of an array of constant size that a function makes and returns."""

    _weft_array_family_ = "fixedarray"

    def __init__(self, dtype=typing.Any, shape=None):
        _core.Array.__init__(self)
        self.dtype = types.canonical(dtype)
        self._fixed = () if shape is None else tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self._annotated_ndim = len(self._fixed) or 1

    @property
    def shape(self):
        return self._fixed or (0,)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def _weft_type_(self):
        return family_type("array", self.dtype, self._annotated_ndim)


CLASSES["indexedarray"] = indexedarray
FAMILIES["indexedarray"] = (lambda dtype, ndim: _core.Type.array_of_kind("indexedarray", dtype, ndim), "IndexedArray")
