"""Annotations of arrays: `wp.array[float]`, `wp.indexedarray[wp.vec3, 2]`. They hold no memory."""

import typing

from warp import _core, dtypes

ARRAY_MAX_DIMS = 8

# family of arrays -> (a function that makes the core's type, the word of its pattern)
FAMILIES = {"array": (_core.Type.array, "Array")}


def family_type(family, dtype, ndim):
    """The core's type of a parameter; AttributeError where the dtype is generic or kernels have no such family."""
    if dtypes.is_generic(dtype) or family not in FAMILIES:
        raise AttributeError("_weft_type_")
    return FAMILIES[family][0](dtypes.type_of(dtype), ndim)


def family_pattern(family, dtype, ndim):
    """The text of a parameter's pattern; AttributeError where its type is known."""
    if not dtypes.is_generic(dtype) or family not in FAMILIES:
        raise AttributeError("_weft_pattern_")
    return f"{FAMILIES[family][1]}[{dtypes.pattern_of(dtype)}, {ndim}]"


# family of arrays -> its class
CLASSES = {}


class ArrayAnnotation:
    """What `wp.array[dtype]` and its relatives give."""

    __slots__ = ("_weft_array_family_", "dtype", "ndim")

    def __init__(self, family, dtype, ndim):
        self._weft_array_family_, self.dtype, self.ndim = family, dtypes.canonical(dtype), ndim

    @property
    def _weft_type_(self):
        return family_type(self._weft_array_family_, self.dtype, self.ndim)

    @property
    def _weft_pattern_(self):
        return family_pattern(self._weft_array_family_, self.dtype, self.ndim)

    def _key(self):
        return self._weft_array_family_, self.dtype, self.ndim

    def __eq__(self, other):
        return isinstance(other, ArrayAnnotation) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __or__(self, other):
        return typing.Union[self, other]  # noqa: UP007 - that is what this makes

    def __ror__(self, other):
        return typing.Union[other, self]  # noqa: UP007

    def __call__(self):
        raise TypeError(f"{self!r} is an annotation: it cannot be called")

    def __repr__(self):
        family, ndim = self._weft_array_family_, self.ndim
        name = dtypes.name_of(self.dtype)
        dtype = f"wp.{name}" if hasattr(self.dtype, "_weft_type_") else name.replace("typing.", "")
        if family == "array" and 1 < ndim <= 4:
            return f"wp.array{ndim}d[{dtype}]"
        return f"wp.{family}[{dtype}]" if ndim == 1 else f"wp.{family}[{dtype}, {ndim}]"


def _literal(value):
    """The number of `Literal[2]` or 2."""
    if typing.get_origin(value) is typing.Literal:
        values = typing.get_args(value)
        if len(values) != 1:
            raise TypeError(f"Expected a single Literal value, got {value}")
        value = values[0]
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"the number of dimensions is an int, found {value!r}")
    return value


def subscripted(family, item, ndim=None):
    """The annotation of `wp.<family>[item]`; `ndim`: fixed by the class."""
    if ndim is not None:
        if isinstance(item, tuple):
            raise TypeError(f"wp.{family}{ndim}d takes a single type parameter, found {item}")
        return ArrayAnnotation(family, item, ndim)
    if not isinstance(item, tuple):
        return ArrayAnnotation(family, item, 1)
    if len(item) != 2:
        raise TypeError(f"wp.{family}[...] takes a dtype and a number of dimensions, found {item}")
    dimensions = _literal(item[1])
    if not 1 <= dimensions <= ARRAY_MAX_DIMS:
        raise ValueError(f"ndim must be between 1 and {ARRAY_MAX_DIMS}, found {dimensions}")
    return ArrayAnnotation(family, item[0], dimensions)


def check_annotations(function):
    """Refuses annotations that are arrays with memory, or made by a subclass: types are meant."""
    for name, value in getattr(function, "__annotations__", {}).items():
        family = getattr(value, "_weft_array_family_", None)
        if family is None or isinstance(value, (type, ArrayAnnotation)):
            continue
        if family == "fixedarray" and type(value).__name__ != family:
            raise TypeError(f"'{name}' has a fixedarray subclass instance as an annotation: use wp.fixedarray itself")
        if getattr(value, "_has_memory", False):
            raise TypeError(f"'{name}' has an array with memory as its annotation: write its type, as wp.array[dtype]")


def is_annotation(value):
    """Whether the value describes an array parameter: an annotation, or an array without memory."""
    return isinstance(value, ArrayAnnotation) or (
        getattr(value, "_weft_array_family_", None) is not None
        and not isinstance(value, type)
        and not getattr(value, "_has_memory", True)
    )
