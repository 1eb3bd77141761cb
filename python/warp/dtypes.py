"""What a dtype argument means: the table between classes and the core's types, generic annotations, names.

Not here: the classes themselves (scalars.py, vectors.py, matrices.py, structs.py), which enter themselves in the table.
"""

import typing

from warp import _core

Type = _core.Type

Scalar = typing.TypeVar("Scalar")
Int = typing.TypeVar("Int")
Float = typing.TypeVar("Float")
for _variable in (Scalar, Int, Float):
    _variable._weft_pattern_ = _variable.__name__
_GENERIC = {typing.Any: "Any", Scalar: "Scalar", Int: "Int", Float: "Float"}

# _core.Type -> class, for every type met so far
CLASSES = {}
# kind of a _core.Type -> a function that makes the class of such a type
MAKERS = {}
# Python's own number types stand for these classes.
PYTHON_TYPES = {}


def class_of(type):
    """The class that stands for a _core.Type."""
    found = CLASSES.get(type)
    if found is None:
        make = MAKERS.get(type.kind)
        if make is None:
            raise TypeError(f"no class stands for {type}")
        found = make(type)
    return found


def canonical(dtype):
    """The class that a dtype argument means: Python's float, int and bool are float32, int32 and bool."""
    try:
        found = PYTHON_TYPES.get(dtype)
    except TypeError:  # unhashable
        return dtype
    return dtype if found is None else found


def type_of(dtype):
    """The _core.Type of a dtype argument; TypeError where it is none."""
    found = getattr(canonical(dtype), "_weft_type_", None)
    if not isinstance(found, Type):
        raise TypeError(f"expected a type such as wp.float32 or wp.vec3, found {dtype!r}")
    return found


def pattern_of(dtype):
    """The text of the type pattern that an annotation means: a type's own name, or a generic one."""
    if dtype in _GENERIC:
        return _GENERIC[dtype]
    text = getattr(dtype, "_weft_pattern_", None)
    return text if text is not None else type_of(dtype).user_name


def is_generic(dtype):
    try:
        return dtype in _GENERIC or getattr(dtype, "_weft_pattern_", None) is not None
    except TypeError:  # unhashable
        return False


class generic_type:
    """An annotation that stands for many types: `wp.types.vector(length=Any, dtype=Scalar)`."""

    def __init__(self, pattern):
        self._weft_pattern_ = pattern

    def __repr__(self):
        return self._weft_pattern_


def name_of(dtype):
    """A dtype's name as messages have it."""
    return getattr(dtype, "__name__", None) or str(dtype)
