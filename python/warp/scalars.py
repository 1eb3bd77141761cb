"""The scalar classes (`wp.float32`, `wp.int8`, ...): a number with a type, and its arithmetic at Python scope.

Not here: conversions in memory, which are the core's.
"""

import builtins
import ctypes
import math
import operator

from warp import _core
from warp.dtypes import CLASSES, PYTHON_TYPES, Type

# name of the class: (name in the IR, suffix of predeclared vectors or None, ctypes class)
SCALARS = {
    "bool": ("bool", None, ctypes.c_bool),
    "int8": ("i8", "b", ctypes.c_int8),
    "int16": ("i16", "s", ctypes.c_int16),
    "int32": ("i32", "i", ctypes.c_int32),
    "int64": ("i64", "l", ctypes.c_int64),
    "uint8": ("u8", "ub", ctypes.c_uint8),
    "uint16": ("u16", "us", ctypes.c_uint16),
    "uint32": ("u32", "ui", ctypes.c_uint32),
    "uint64": ("u64", "ul", ctypes.c_uint64),
    "float16": ("f16", "h", ctypes.c_uint16),
    "bfloat16": ("bf16", None, ctypes.c_uint16),
    "float32": ("f32", "f", ctypes.c_float),
    "float64": ("f64", "d", ctypes.c_double),
}
# bfloat16 has no type in NumPy: its bits.
_NUMPY_NAMES = {**{n: n for n in SCALARS}, "bfloat16": "uint16"}


def no_function(name, *operands):
    """The error of an operator whose operands' types have no such function."""
    types = ", ".join(type(o).__name__ for o in operands)
    return RuntimeError(f"Couldn't find a function '{name}' compatible with the arguments '{types}'")


def number(value):
    """The plain number inside a scalar of the package; anything else as it is."""
    while isinstance(value, scalar_base):
        value = value.value
    return value


class _ScalarType(type):
    @property
    def __numpy_dtype__(cls):
        """What NumPy's own functions take the class for."""
        name = next((c.__name__ for c in cls.__mro__ if c.__name__ in SCALARS), None)
        if name is None or name == "bfloat16":
            raise AttributeError("__numpy_dtype__")
        import numpy as np

        return np.dtype(name)


class scalar_base(metaclass=_ScalarType):
    """A number with a type. `value` is what was given; it is converted where it is used."""

    __slots__ = ("value",)

    def __init__(self, x=0):
        self.value = x

    @property
    def __numpy_dtype__(self):
        return type(self).__numpy_dtype__

    @property
    def _weft_scalar_(self):
        return number(self.value)

    @property
    def _weft_value_(self):
        return self._weft_type_, (_core.round_number(self._weft_type_, number(self.value)),)

    @classmethod
    def _result(cls, result):
        """A number computed in this type: those of Python's own types come as such."""
        result = _core.round_number(cls._weft_type_, result)
        return result if cls in PLAIN else cls(result)

    def _stored(self):
        """The number as the type holds it."""
        value = number(self.value)
        try:
            return _core.round_number(self._weft_type_, value)
        except (TypeError, OverflowError):
            return value

    def __repr__(self):
        return f"{type(self).__name__}({self!s})"

    def __str__(self):
        value = number(self.value)
        return str(self._stored()) if isinstance(self, int_base) and isinstance(value, builtins.int) else str(value)

    def __format__(self, spec):
        return format(number(self.value), spec)

    def __bool__(self):
        return builtins.bool(number(self.value))

    def __int__(self):
        return builtins.int(number(self.value))

    def __float__(self):
        return builtins.float(number(self.value))

    def __round__(self, digits=None):
        return type(self)(round(number(self.value), digits))

    def __hash__(self):
        return hash(number(self.value))

    def __neg__(self):
        return self._result(-number(self.value))

    def __pos__(self):
        return self._result(number(self.value))

    def __abs__(self):
        return self._result(abs(number(self.value)))


class int_base(scalar_base):
    __slots__ = ()

    def __index__(self):
        return operator.index(number(self.value))


class float_base(scalar_base):
    __slots__ = ()


def quotient(a, b):
    """Division as kernels have it: ints truncate, floats follow IEEE."""
    if isinstance(a, builtins.int) and isinstance(b, builtins.int):
        if b == 0:
            return 0
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def remainder(a, b):
    """The remainder with the sign of the dividend."""
    if isinstance(a, builtins.int) and isinstance(b, builtins.int):
        return a - b * quotient(a, b)
    return math.nan if b == 0 else math.fmod(a, b)


_ARITHMETIC = {
    "add": ("add", operator.add),
    "sub": ("sub", operator.sub),
    "mul": ("mul", operator.mul),
    "truediv": ("div", quotient),
    "floordiv": ("floordiv", lambda a, b: a // b if b else quotient(a, b)),
    "mod": ("mod", remainder),
    "pow": ("pow", operator.pow),
}


def _is_number(value):
    return isinstance(value, (builtins.int, builtins.float)) or type(value).__module__ == "numpy"


def _add_operators():
    def arithmetic(name, function):
        def operands(self, other):
            """The class both have, or None."""
            mine = type(self)
            if isinstance(other, scalar_base):
                return mine if type(other) is mine else None
            return mine if PYTHON_TYPES.get(type(other)) is mine else None

        def forward(self, other):
            if not isinstance(other, scalar_base) and not _is_number(other):
                return NotImplemented
            cls = operands(self, other)
            if cls is None:
                raise no_function(name, self, other)
            return cls._result(function(number(self.value), number(other)))

        def backward(self, other):
            if not _is_number(other):
                return NotImplemented
            cls = operands(self, other)
            if cls is None:
                raise no_function(name, other, self)
            return cls._result(function(number(other), number(self.value)))

        return forward, backward

    def comparison(function):
        def compare(self, other):
            other = number(other)
            if not _is_number(other):
                return NotImplemented
            mine = number(self.value)
            if isinstance(self, float_base) and isinstance(other, builtins.int):
                other = builtins.float(other)  # raises where it is too large
            return builtins.bool(function(mine, other))

        return compare

    for method, (name, function) in _ARITHMETIC.items():
        forward, backward = arithmetic(name, function)
        setattr(scalar_base, f"__{method}__", forward)
        setattr(scalar_base, f"__r{method}__", backward)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(scalar_base, f"__{name}__", comparison(getattr(operator, name)))


_add_operators()


def _make():
    classes = {}
    for name, (ir_name, _, ctype) in SCALARS.items():
        base = float_base if "float" in name else int_base
        members = {"__slots__": (), "__module__": __name__, "_weft_type_": Type.scalar(ir_name)}
        members.update(_type_=ctype, _length_=1)
        classes[name] = _ScalarType(name, (base,), members)
    return classes


SCALAR_CLASSES = _make()
globals().update(SCALAR_CLASSES)
CLASSES.update({c._weft_type_: c for c in SCALAR_CLASSES.values()})

_bool, int32, float32, float64, uint64 = (SCALAR_CLASSES[n] for n in ("bool", "int32", "float32", "float64", "uint64"))
PYTHON_TYPES.update({builtins.float: float32, builtins.int: int32, builtins.bool: _bool})
# Classes whose results are Python numbers.
PLAIN = {_bool, int32, float32}


def _bool_init(self, x=False):
    self.value = builtins.bool(number(x))


_bool.__init__ = _bool_init


class handle(uint64):
    """The number by which a kernel knows a mesh, a volume or another object of the runtime."""

    __slots__ = ()


scalar_types = [c for n, c in SCALAR_CLASSES.items() if n != "bool"]
int_types = [c for n, c in SCALAR_CLASSES.items() if "int" in n]
float_types = [c for n, c in SCALAR_CLASSES.items() if "float" in n]


# ---- NumPy ----


def scalar_of(dtype):
    """The scalar class of a dtype's numbers."""
    return getattr(dtype, "_wp_scalar_type_", dtype)


def numpy_name(scalar):
    """The name of NumPy's type for a scalar class."""
    return _NUMPY_NAMES[scalar.__name__] if scalar is not handle else "uint64"


def dtype_from_numpy(numpy_dtype):
    """The scalar class for a NumPy dtype; TypeError where there is none."""
    import numpy as np

    name = np.dtype(numpy_dtype).name
    if name not in SCALARS:
        raise TypeError(f"no scalar type of Warp stands for NumPy's {np.dtype(numpy_dtype)}")
    return SCALAR_CLASSES[name]


def dtype_to_numpy(warp_dtype):
    """The NumPy class for the numbers of a dtype; of a struct, its structured dtype."""
    import numpy as np

    dtype = PYTHON_TYPES.get(warp_dtype, warp_dtype)
    if hasattr(dtype, "numpy_dtype"):
        return dtype.numpy_dtype()
    scalar = scalar_of(dtype)
    if not (isinstance(scalar, type) and issubclass(scalar, scalar_base)):
        raise TypeError(f"no NumPy type stands for {warp_dtype}")
    return getattr(np, numpy_name(scalar) if scalar.__name__ != "bool" else "bool_")
