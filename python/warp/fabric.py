"""`wp.fabricarray` and `wp.indexedfabricarray`: an attribute of Omniverse's Fabric, whose elements lie in buckets.

The interface dictionary names the addresses and lengths of the buckets; it owns the memory. Kernels get a struct of the
buckets (src/builtins/array_kinds.h).
"""

import typing

from warp import _core, types
from warp.annotations import ARRAY_MAX_DIMS, CLASSES, FAMILIES, family_pattern, family_type, subscripted
from warp.array_data import numpy_dtype_of, numpy_view
from warp.arrays import array
from warp.devices import get_device
from warp.indexed_arrays import check_indices, indexed_array_base

for _family, _word in (("fabricarray", "FabricArray"), ("indexedfabricarray", "IndexedFabricArray")):
    FAMILIES[_family] = (lambda dtype, ndim, f=_family: _core.Type.array_of_kind(f, dtype, ndim), _word)

_SCALARS = {
    "b": "bool",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
}


def _dtype_of(info):
    """The dtype of an attribute's type: (True, scalar, how many, depth of arrays, role)."""
    if len(info) != 5:
        raise ValueError(f"the type of a Fabric attribute must contain five elements, got {len(info)}: {info}")
    _, code, count, _, role = info
    scalar = types.SCALAR_CLASSES.get(_SCALARS.get(code))
    if scalar is None:
        raise ValueError(f"unknown type of a Fabric attribute: {info}")
    if count == 1:
        return scalar
    if role in ("quat", "quaternion"):
        return types.quaternion(scalar)
    if role in ("matrix", "transform", "frame"):
        side = {4: 2, 9: 3, 16: 4, 25: 5}.get(count)
        if side is None:
            raise ValueError(f"a {role} of a Fabric attribute must have a square element count, got {count}")
        return types.matrix((side, side), scalar)
    return types.vector(count, scalar)


class _Fabric(indexed_array_base):
    """What both kinds share."""

    is_contiguous = False

    def __del__(self):
        pass

    @property
    def _weft_type_(self):
        return family_type(self._weft_array_family_, self.dtype, self.ndim)

    @property
    def _weft_pattern_(self):
        return family_pattern(self._weft_array_family_, self.dtype, self.ndim)

    def _annotate(self, dtype, ndim):
        self.dtype = types.canonical(typing.Any if dtype is None else dtype)
        self.ndim = 1 if ndim is None else ndim
        if not 1 <= self.ndim <= ARRAY_MAX_DIMS:
            raise ValueError(f"ndim must be between 1 and {ARRAY_MAX_DIMS}, found {self.ndim}")
        self.shape = (0,) * self.ndim
        self.device = None

    def __setitem__(self, key, value):
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment: use wp.copy() or assign()")

    def to(self, device, requires_grad=None):
        if get_device(device) is not self.device:
            kind = "indexed Fabric" if self._weft_array_family_ == "indexedfabricarray" else "Fabric"
            raise ValueError(f"a Warp {kind} array cannot be moved to another device")
        return self

    def _flat(self):
        if self.ndim != 1:
            raise RuntimeError("elements that are arrays cannot be copied: use kernels")


class fabricarray(_Fabric):
    """`wp.fabricarray(data=interface, attrib=name)`, or without data the annotation of a parameter."""

    _weft_array_family_ = "fabricarray"

    def __init__(self, data=None, attrib=None, dtype=typing.Any, ndim=None):
        self.buckets = None
        if data is None:
            self._annotate(dtype, ndim)
            return
        interface = data if isinstance(data, dict) else getattr(data, "__fabric_arrays_interface__", None)
        if not isinstance(interface, dict):
            raise ValueError(f"a fabric array is made of an interface dictionary, found {type(data).__name__}")
        if interface.get("version") != 1:
            raise ValueError(f"version {interface.get('version')} of the Fabric interface is not supported")
        if not isinstance(attrib, str):
            raise ValueError(f"attrib= names an attribute, found {attrib!r}")
        info = interface["attribs"].get(attrib)
        if info is None:
            raise ValueError(f"the Fabric interface has no attribute '{attrib}'")
        self.data, self.attrib = data, attrib
        self.device = get_device(interface["device"])
        self.access = info.get("access")
        self.dtype = _dtype_of(info["type"])
        depth = info["type"][3]
        if depth > 1:
            raise ValueError(f"arrays of depth {depth} are not supported")
        self.ndim = 1 + depth
        counts = [int(n) for n in info["counts"]]
        self.shape = (sum(counts),)
        self._make_buckets(info, counts)

    @property
    def _has_memory(self):
        return self.buckets is not None

    @property
    def size(self):
        return self.shape[0]

    def _make_buckets(self, info, counts):
        """The arrays that the kernels' struct is made of."""
        import numpy as np

        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        self._starts = array(starts, dtype=types.int32, device=self.device)
        element = types.type_of(self.dtype)
        self._parts = []
        holder = family_type("fabricarray", self.dtype, self.ndim)
        bucket = holder.part(1).target
        inner = bucket.part(0)
        self.buckets = array.__new__(array)
        _core.Array.__init__(self.buckets, bucket, (len(counts),), self.device, True)
        for i, (pointer, count) in enumerate(zip(info["pointers"], counts, strict=True)):
            if self.ndim == 1:
                part = self._over(element, pointer, count)
            else:
                part = self._of_arrays(inner.target, pointer, info["array_lengths"][i], count, element)
            self._parts.append(part)
            value = _core.Value(bucket)
            value._set_array(0, part)
            place = _core.Array(self.buckets, bucket, i * bucket.size, (1,), (bucket.size,))
            place._fill(value)

    def _over(self, element, pointer, count):
        """An array over memory of Fabric."""
        part = array.__new__(array)
        _core.Array.__init__(part, element, (count,), (element.size,), pointer or 0, 0, self.device, self.data)
        part._mark_exported()
        part.dtype = self.dtype
        return part

    def _of_arrays(self, item, pointers, lengths, count, element):
        """An array of the arrays that the elements of a bucket are."""
        u64 = _core.Type.scalar("u64")
        tables = []
        for address in (pointers, lengths):
            table = array.__new__(array)
            _core.Array.__init__(table, u64, (count,), (8,), address, 0, self.device, None)
            table.dtype = types.uint64
            tables.append(table.list())
        part = array.__new__(array)
        _core.Array.__init__(part, item, (count,), self.device, True)
        for i, (pointer, length) in enumerate(zip(*tables, strict=True)):
            value = _core.Value(item)
            inner = self._over(element, pointer, length)
            self._parts.append(inner)
            value._set_array(0, inner)
            _core.Array(part, item, i * item.size, (1,), (item.size,))._fill(value)
        return part

    def __class_getitem__(cls, item):
        if cls is not fabricarray:
            raise TypeError(f"Subscript syntax not supported for {cls.__name__}, a subclass of wp.fabricarray")
        return subscripted("fabricarray", item)

    def __getitem__(self, key):
        if not isinstance(key, array):
            raise ValueError(f"a fabric array is indexed by an array of int32, found {key!r}")
        return indexedfabricarray(self, key)

    # ---- for launches ----

    def _weft_arrays(self):
        yield self._starts
        yield self.buckets
        yield from self._parts

    def _packed(self):
        value = _core.Value(family_type("fabricarray", self.dtype, self.ndim))
        value._set_array(0, self._starts)
        value._set_array(1, self.buckets)
        return value

    # ---- content ----

    def _gather(self):
        import numpy as np

        self._flat()
        views = [numpy_view(p) for p in self._parts if p.size]
        if not views:
            return np.empty((0, *types.part_shape(self.dtype)), dtype=numpy_dtype_of(self.dtype))
        return np.concatenate(views)

    def _scatter_all(self, content):
        self._flat()
        start = 0
        shaped = getattr(content, "ndim", 0) > len(types.part_shape(self.dtype))
        for part in self._parts:
            if part.size:
                part._before_write()
                numpy_view(part)[...] = content[start : start + part.size] if shaped else content
            start += part.size


class indexedfabricarray(_Fabric):
    """`wp.indexedfabricarray(fa, indices)`, or without data the annotation of a parameter."""

    _weft_array_family_ = "indexedfabricarray"

    def __init__(self, fa=None, indices=None, dtype=None, ndim=None):
        self.fa = None
        if fa is None:
            self._annotate(dtype, ndim)
            return
        if not isinstance(fa, fabricarray):
            raise TypeError(f"an indexed fabric array is made of a fabric array, found {type(fa).__name__}")
        if indices is None:
            raise ValueError("an indexed fabric array needs an array of indices")
        check_indices(indices, fa)
        self.fa, self.indices = fa, indices
        self.dtype, self.ndim, self.device = fa.dtype, fa.ndim, fa.device
        self.shape = (indices.size,)

    @property
    def _has_memory(self):
        return self.fa is not None

    @property
    def size(self):
        return self.shape[0]

    def __class_getitem__(cls, item):
        if cls is not indexedfabricarray:
            raise TypeError(f"Subscript syntax not supported for {cls.__name__}, a subclass of wp.indexedfabricarray")
        return subscripted("indexedfabricarray", item)

    def _weft_arrays(self):
        yield from self.fa._weft_arrays()
        yield self.indices

    def _packed(self):
        value = _core.Value(family_type("indexedfabricarray", self.dtype, self.ndim))
        value._set_part(0, self.fa._packed())
        value._set_array(1, self.indices)
        return value

    def _gather(self):
        return self.fa._gather()[numpy_view(self.indices)]

    def _scatter_all(self, content):
        if self.size:
            whole = self.fa._gather()
            whole[numpy_view(self.indices)] = content
            self.fa._scatter_all(whole)


def fabricarrayarray(**kwargs):
    return fabricarray(**{"ndim": 2, **kwargs})


def indexedfabricarrayarray(**kwargs):
    return indexedfabricarray(**{"ndim": 2, **kwargs})


CLASSES["fabricarray"], CLASSES["indexedfabricarray"] = fabricarray, indexedfabricarray
