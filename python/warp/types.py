"""The types of the kernel language: the classes with their predeclared names, and questions about them.

Not here: what the classes do (scalars.py, vectors.py, matrices.py, structs.py, arrays.py).
"""

import builtins
import ctypes
import math
import typing

from warp import scalars
from warp.dtypes import (
    CLASSES,
    Float,
    Int,
    Scalar,
    Type,
    canonical,
    class_of,
    generic_type,
    is_generic,
    name_of,
    pattern_of,
    type_of,
)
from warp.matrices import make_matrix, matrix, matrix_base
from warp.scalars import (
    PLAIN,
    SCALAR_CLASSES,
    SCALARS,
    dtype_from_numpy,
    dtype_to_numpy,
    float_base,
    float_types,
    handle,
    int_base,
    int_types,
    numpy_name,
    scalar_base,
    scalar_of,
    scalar_types,
)
from warp.values import value_base
from warp.vectors import (
    make_quaternion,
    make_transformation,
    make_vector,
    quaternion,
    quaternion_base,
    transformation,
    transformation_base,
    vector,
    vector_base,
)

globals().update(SCALAR_CLASSES)
float32, int32 = scalars.float32, scalars.int32


def _make_predeclared():
    """Every predeclared class by name; a name without suffix is the one of float32."""
    classes = {}

    def declare(stem, suffixes, make, type_for):
        for name, (_, suffix, _) in SCALARS.items():
            if suffix in suffixes:
                scalar = SCALAR_CLASSES[name]
                classes[stem + suffix] = make(stem + suffix, type_for(scalar._weft_type_), scalar)
        classes[stem] = classes[stem + "f"]

    every = [suffix for _, suffix, _ in SCALARS.values() if suffix]
    floats = ("h", "f", "d")
    for n in (2, 3, 4):
        declare(f"vec{n}", every, make_vector, lambda t, n=n: Type.vec(n, t))
    for n in (2, 3, 4):
        declare(f"mat{n}{n}", floats, make_matrix, lambda t, n=n: Type.mat(n, n, t))
    declare("quat", floats, make_quaternion, Type.quat)
    declare("transform", floats, make_transformation, Type.transform)
    declare("spatial_vector", floats, make_vector, lambda t: Type.vec(6, t))
    declare("spatial_matrix", floats, make_matrix, lambda t: Type.mat(6, 6, t))
    return classes


_predeclared = _make_predeclared()
globals().update(_predeclared)

vector_types = [c for c in _predeclared.values() if issubclass(c, value_base)]
PREDECLARED = {**SCALAR_CLASSES, "handle": handle, **_predeclared}


class Reference:
    """The annotation `wp.ref[T]`: a parameter of a function that stands for the caller's variable or element."""

    def __init__(self, dtype):
        self.dtype = self.value_type = canonical(dtype)
        self._weft_type_ = Type.ref(type_of(self.dtype))

    def __eq__(self, other):
        return isinstance(other, Reference) and self._weft_type_ == other._weft_type_

    def __hash__(self):
        return hash(self._weft_type_)

    def __repr__(self):
        return f"wp.ref[{self._weft_type_.target.user_name}]"


class ref:
    """`wp.ref[T]` makes the annotation of a parameter taken by reference."""

    def __class_getitem__(cls, dtype):
        return Reference(dtype)


class tile:
    """The annotation of a tile. Kernels with tiles are not available yet."""

    def __init__(self, dtype, shape, storage="register", layout="rowmajor", strides=None, owner=True):
        self.dtype, self.storage, self.layout, self.strides, self.owner = dtype, storage, layout, strides, owner
        self.dtype = canonical(dtype)
        self.shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self.size = math.prod(self.shape)

    def __class_getitem__(cls, item):
        return cls(*item) if isinstance(item, tuple) else cls(item, ())

    def __repr__(self):
        return f"tile(dtype={name_of(self.dtype)}, shape={self.shape})"


def convert_plain(value):
    """An argument of a call at Python scope: NumPy's numbers become Warp's of their type, integers wrap to theirs."""
    if isinstance(value, value_base) or builtins.type(value) in (builtins.float, builtins.bool):
        return value
    if hasattr(value, "item") and not getattr(value, "shape", None):
        value = dtype_from_numpy(value.dtype)(value.item())
    if isinstance(value, int_base):
        return builtins.type(value)(value._stored())
    return int32._result(value) if builtins.type(value) is builtins.int else value


def part_shape(dtype):
    """The shape of one element as NumPy sees it: () for a scalar, (3,) for vec3, (2, 2) for mat22."""
    return getattr(dtype, "_shape_", ())


def type_to_warp(dtype):
    return canonical(dtype)


# ---- questions about types ----


def _is_class(t, base):
    t = canonical(t)
    return isinstance(t, type) and issubclass(t, base)


def type_is_int(t):
    return _is_class(t, int_base) and canonical(t).__name__ != "bool"


def type_is_float(t):
    return _is_class(t, float_base)


def type_is_scalar(t):
    return type_is_int(t) or type_is_float(t)


def type_is_quaternion(t):
    return _is_class(t, quaternion_base)


def type_is_transformation(t):
    return _is_class(t, transformation_base)


def type_is_vector(t):
    return _is_class(t, vector_base) and not type_is_quaternion(t) and not type_is_transformation(t)


def type_is_matrix(t):
    return _is_class(t, matrix_base)


def type_is_composite(t):
    return _is_class(t, value_base)


def type_is_value(t):
    return type_is_scalar(t) or type_is_composite(t)


def type_is_struct(t):
    return isinstance(t, type) and getattr(t, "_weft_struct_", False)


def type_is_array(t):
    """Whether it is one of the classes of arrays; their subclasses are none."""
    return isinstance(t, type) and isinstance(vars(t).get("_weft_array_family_"), str)


def type_is_tile(t):
    return _is_class(t, tile)


def is_int(x):
    return not isinstance(x, type) and type_is_int(type(x))


def is_float(x):
    return type_is_float(type(x))


def is_scalar(x):
    return type_is_scalar(type(x))


def is_vector(x):
    return type_is_vector(type(x))


def is_matrix(x):
    return type_is_matrix(type(x))


def is_quaternion(x):
    return type_is_quaternion(type(x))


def is_transformation(x):
    return type_is_transformation(type(x))


def is_composite(x):
    return type_is_composite(type(x))


def is_value(x):
    return type_is_value(type(x))


def is_struct(x):
    return type_is_struct(type(x))


def is_array(x):
    """Whether it is an array of any kind, or the annotation of one."""
    return not isinstance(x, type) and isinstance(getattr(x, "_weft_array_family_", None), str)


def is_tile(t):
    return isinstance(t, tile)


def type_size(dtype):
    """How many numbers a value of the type has."""
    dtype = canonical(dtype)
    return dtype._weft_type_.part_count if type_is_composite(dtype) else 1


def type_size_in_bytes(dtype):
    return type_of(dtype).size


def type_scalar_type(dtype):
    return scalar_of(canonical(dtype))


def type_length(dtype):
    return type_size(dtype)


def type_ctype(dtype):
    """The ctypes class with the layout of the type."""
    dtype = canonical(dtype)
    if type_is_struct(dtype):
        return dtype.ctype
    scalar = scalar_of(dtype)
    if not (isinstance(scalar, type) and issubclass(scalar, scalar_base)):
        raise TypeError(f"no ctypes class stands for {dtype!r}")
    return scalar._type_ * type_size(dtype) if type_is_composite(dtype) else scalar._type_


def type_typestr(dtype):
    """NumPy's code for the scalar type of a dtype."""
    import numpy as np

    return np.dtype(numpy_name(scalar_of(canonical(dtype)))).str


def type_repr(t):
    """A type as messages have it."""
    if t is None:
        return "None"
    if t is typing.Any:
        return "Any"
    t = canonical(t)
    if is_array(t):
        return f"{t._weft_array_family_}(ndim={t.ndim}, dtype={type_repr(t.dtype)})"
    if type_is_composite(t) and t.__name__.endswith("_t"):
        if type_is_vector(t):
            return f"vector(length={t._length_}, dtype={t._wp_scalar_type_.__name__})"
        if type_is_matrix(t):
            return f"matrix(shape={t._shape_}, dtype={t._wp_scalar_type_.__name__})"
    return name_of(t)


def types_equal(a, b, match_generic=False):
    """Whether two annotations mean the same type; with `match_generic`, typing.Any equals everything."""
    a, b = canonical(a), canonical(b)
    if a is b or (match_generic and typing.Any in (a, b)):
        return True
    if is_array(a) and is_array(b):
        return (
            a._weft_array_family_ == b._weft_array_family_
            and a.ndim == b.ndim
            and types_equal(a.dtype, b.dtype, match_generic)
        )
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(types_equal(x, y, match_generic) for x, y in zip(a, b, strict=True))
    try:
        return type_of(a) == type_of(b)
    except TypeError:
        return a == b


class array_t(ctypes.Structure):
    """An array's descriptor as other programs read it: addresses, shape, strides in bytes."""

    _fields_ = (
        ("data", ctypes.c_uint64),
        ("grad", ctypes.c_uint64),
        ("shape", ctypes.c_int32 * 4),
        ("strides", ctypes.c_int32 * 4),
        ("ndim", ctypes.c_int32),
    )
