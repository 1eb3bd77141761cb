"""What vectors, matrices, quaternions and transforms share at Python scope: storage, conversion, arithmetic by element.

Operands must have one scalar type, as in kernels; a sum with a plain number, which kernels refuse, adds it everywhere.
"""

import builtins
import operator

from warp import _core, config
from warp.dtypes import CLASSES, PYTHON_TYPES, Type, class_of
from warp.scalars import PLAIN, no_function, number, numpy_name, quotient, remainder, scalar_base

_GENERIC_NAMES = {"vector": "vec_t", "matrix": "mat_t", "quaternion": "quat_t", "transformation": "transform_t"}


def flatten(values):
    """All numbers in nested sequences and values, one after the other."""
    if getattr(values, "ndim", 1) == 0:  # of NumPy and PyTorch: a number that has a length by name only
        yield values.item()
        return
    for value in values:
        if isinstance(value, value_base):
            yield from value._numbers()
        elif hasattr(value, "__len__") and not isinstance(value, str):
            yield from flatten(value)
        else:
            yield value


def is_number(value):
    return isinstance(value, (builtins.int, builtins.float, scalar_base)) or hasattr(value, "__float__")


def scalar_class_of(value):
    """The scalar class of a plain number as an operand; None for anything else."""
    cls = type(value)
    if isinstance(value, scalar_base):
        return cls
    if cls.__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return PYTHON_TYPES.get(type(value.item()))
    return PYTHON_TYPES.get(cls)


class value_base(_core.Value):
    """Numbers of one type, laid out as kernels see them."""

    _wp_scalar_type_ = None
    _shape_ = ()

    @property
    def _weft_value_(self):
        return self._weft_type_, self._numbers()

    def _wrap(self, value):
        """One of the numbers as Python gets it."""
        cls = self._wp_scalar_type_
        return value if cls in PLAIN or config.legacy_scalar_return_types else cls(value)

    def __hash__(self):
        return hash(self._numbers())

    def __bytes__(self):
        return self._bytes()

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        array = np.frombuffer(self._bytes(), dtype=numpy_name(self._wp_scalar_type_)).reshape(self._shape_)
        return np.array(array, dtype=dtype)

    def scalar_export(self, value=None):
        """What an element is for Python."""
        return self._wrap if value is None else self._wrap(value)

    def scalar_import(self, value=None):
        """What an element is made from."""
        return self._wp_scalar_type_ if value is None else number(value)

    @classmethod
    def from_ptr(cls, ptr):
        """A copy of the value at an address."""
        if not ptr:
            raise RuntimeError("NULL pointer exception: there is no value at address 0")
        value = cls.__new__(cls)
        _core.Value.__init__(value, cls._weft_type_)
        value._copy_from_address(ptr)
        return value

    @classmethod
    def _of(cls, numbers):
        value = cls.__new__(cls)
        _core.Value.__init__(value, cls._weft_type_)
        value._assign(numbers)
        return value

    def _copied(self):
        return type(self)._of(self._numbers())

    def __copy__(self):
        return self._copied()

    def __deepcopy__(self, memo):
        return self._copied()

    def __reduce__(self):
        if class_of(self._weft_type_) is not type(self):
            return super().__reduce__()
        return restore, (str(self._weft_type_), self._numbers())

    # ---- elements ----

    def _put(self, place, value):
        """Writes one number, checked."""
        plain = number(value)
        if isinstance(plain, str) or not is_number(plain):
            self._refuse(value)
        try:
            self._set(place, plain)
        except TypeError:
            self._refuse(value)

    def _refuse(self, value):
        raise TypeError(
            f"Expected to assign a `{self._wp_scalar_type_.__name__}` value but got `{type(value).__name__}` instead"
        )

    def _put_all(self, places, values):
        """Writes a sequence (or one number) to these places."""
        if hasattr(values, "__len__") and not isinstance(values, str):
            values = tuple(values._numbers() if isinstance(values, value_base) else values)
        else:
            values = (values,) * len(places)
        for value in values:
            if isinstance(number(value), str) or not is_number(number(value)):
                raise TypeError(
                    "Expected to assign a slice from a sequence of "
                    f"`{self._wp_scalar_type_.__name__}` values but got `{type(value).__name__}` instead"
                )
        if len(values) != len(places):
            raise ValueError(f"Can only assign sequence of same size: {len(places)} places, {len(values)} values")
        for place, value in zip(places, values, strict=True):
            self._put(place, value)

    # ---- arithmetic ----

    def _pairs(self, name, other, reverse):
        """The numbers of the other operand of an operation by element, or None where it is none."""
        if isinstance(other, value_base):
            if other._shape_ != self._shape_ or other._wp_scalar_type_ is not self._wp_scalar_type_:
                raise no_function(name, *((other, self) if reverse else (self, other)))
            return other._numbers()
        cls = scalar_class_of(other)
        if cls is None:
            return None
        if cls is not self._wp_scalar_type_:
            raise no_function(name, *((other, self) if reverse else (self, other)))
        return (number(other),) * self._weft_type_.part_count

    def _elementwise(self, function, a, b):
        return self._of([function(x, y) for x, y in zip(a, b, strict=True)])

    def _scaled(self, name, function, other, reverse=False):
        cls = scalar_class_of(other)
        if cls is None:
            if isinstance(other, value_base):
                if not reverse and len(other._shape_) > len(self._shape_):
                    return NotImplemented  # a matrix knows its products
                raise no_function(name, *((other, self) if reverse else (self, other)))
            return NotImplemented
        if cls is not self._wp_scalar_type_:
            raise no_function(name, *((other, self) if reverse else (self, other)))
        other = number(other)
        mine = self._numbers()
        return self._of([function(other, x) if reverse else function(x, other) for x in mine])

    def __mul__(self, other):
        return self._scaled("mul", operator.mul, other)

    def __rmul__(self, other):
        return self._scaled("mul", operator.mul, other, reverse=True)

    def __truediv__(self, other):
        return self._scaled("div", quotient, other)

    def __rtruediv__(self, other):
        return self._scaled("div", quotient, other, reverse=True)

    def __neg__(self):
        return self._of([-x for x in self._numbers()])

    def __pos__(self):
        return self._copied()


def _add_elementwise():
    def operation(name, function):
        def forward(self, other):
            numbers = self._pairs(name, other, False)
            return NotImplemented if numbers is None else self._elementwise(function, self._numbers(), numbers)

        def backward(self, other):
            numbers = self._pairs(name, other, True)
            return NotImplemented if numbers is None else self._elementwise(function, numbers, self._numbers())

        return forward, backward

    for method, function in (("add", operator.add), ("sub", operator.sub), ("mod", remainder)):
        forward, backward = operation(method, function)
        setattr(value_base, f"__{method}__", forward)
        setattr(value_base, f"__r{method}__", backward)


_add_elementwise()


def restore(type_text, numbers):
    """Unpickles a value."""
    return class_of(Type.parse(type_text))._of(numbers)


def make_class(base, name, type, scalar, shape, stem, members=()):
    """A class of values, entered in the table if its type has none yet."""
    made = builtins.type(
        name,
        (base,),
        {
            "__module__": "warp.types",
            "_weft_type_": type,
            "_wp_scalar_type_": scalar,
            "_shape_": shape,
            "_length_": type.part_count,
            "_type_": scalar._type_,
            "_wp_constructor_": stem,
            "_wp_generic_type_str_": _GENERIC_NAMES[stem],
            "_wp_type_params_": (scalar,) if stem in ("quaternion", "transformation") else (*shape, scalar),
            **dict(members),
        },
    )
    CLASSES.setdefault(type, made)
    return made
