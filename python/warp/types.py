"""The types of the kernel language as Python classes: scalars, vectors, matrices, quaternions, transforms.

The predeclared names (`vec3`, `mat44d`, ...) are made from the tables below. Arithmetic here is for Python scope only:
a kernel has the compiler's own.
"""

import builtins
import math
import operator
import typing

from warp import _core

Type = _core.Type

# ---- scalars ----

# name of the class: (name in the IR, suffix of predeclared vectors or None)
SCALARS = {
    "bool": ("bool", None),
    "int8": ("i8", "b"),
    "int16": ("i16", "s"),
    "int32": ("i32", "i"),
    "int64": ("i64", "l"),
    "uint8": ("u8", "ub"),
    "uint16": ("u16", "us"),
    "uint32": ("u32", "ui"),
    "uint64": ("u64", "ul"),
    "float16": ("f16", "h"),
    "bfloat16": ("bf16", None),
    "float32": ("f32", "f"),
    "float64": ("f64", "d"),
}


def _number(value):
    return value.value if isinstance(value, scalar_base) else value


class scalar_base:
    """A number with a type. `value` is what was given; it is converted where it is used."""

    __slots__ = ("value",)

    def __init__(self, x=0):
        self.value = _number(x)

    @property
    def _weft_scalar_(self):
        return self.value

    @property
    def _weft_value_(self):
        return self._weft_type_, (self.value,)

    def _result(self, number):
        """A number computed from this one, as this class has it: those of Python's own types come as such."""
        cls = type(self)
        if cls in _PLAIN:
            return _core.round_number(cls._weft_type_, number)
        return cls(_core.round_number(cls._weft_type_, number))

    def __repr__(self):
        return str(self.value)

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.value, spec)

    def __bool__(self):
        return builtins.bool(self.value)

    def __int__(self):
        return builtins.int(self.value)

    def __float__(self):
        return builtins.float(self.value)

    def __round__(self, digits=None):
        return round(self.value, digits)

    def __hash__(self):
        return hash(self.value)

    def __neg__(self):
        return self._result(-self.value)

    def __pos__(self):
        return self

    def __abs__(self):
        return self._result(abs(self.value))


class int_base(scalar_base):
    __slots__ = ()

    def __index__(self):
        return operator.index(self.value)


class float_base(scalar_base):
    __slots__ = ()


def _quotient(a, b):
    """Division as kernels have it: ints truncate, floats follow IEEE."""
    if isinstance(a, builtins.int) and isinstance(b, builtins.int):
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _remainder(a, b):
    """The remainder with the sign of the dividend."""
    if isinstance(a, builtins.int) and isinstance(b, builtins.int):
        return a - b * _quotient(a, b)
    return math.nan if b == 0 else math.fmod(a, b)


_ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": _quotient,
    "mod": _remainder,
    "pow": operator.pow,
}


def _add_scalar_operators():
    def arithmetic(function):
        def forward(self, other):
            other = _number(other)
            if not isinstance(other, (builtins.int, builtins.float)):
                return NotImplemented
            return self._result(function(self.value, other))

        def backward(self, other):
            if not isinstance(other, (builtins.int, builtins.float)):
                return NotImplemented
            return self._result(function(other, self.value))

        return forward, backward

    def comparison(function):
        def compare(self, other):
            return function(self.value, _number(other))

        return compare

    for name, function in _ARITHMETIC.items():
        forward, backward = arithmetic(function)
        setattr(scalar_base, f"__{name}__", forward)
        setattr(scalar_base, f"__r{name}__", backward)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(scalar_base, f"__{name}__", comparison(getattr(operator, name)))


_add_scalar_operators()


def _make_scalars():
    classes = {}
    for name, (ir_name, _) in SCALARS.items():
        base = float_base if "float" in name else int_base
        classes[name] = type(
            name, (base,), {"__slots__": (), "__module__": __name__, "_weft_type_": Type.scalar(ir_name)}
        )
    return classes


_scalar_classes = _make_scalars()
globals().update(_scalar_classes)

int32, float32, float64 = (_scalar_classes[n] for n in ("int32", "float32", "float64"))
scalar_types = [c for n, c in _scalar_classes.items() if n != "bool"]
int_types = [c for n, c in _scalar_classes.items() if "int" in n]
float_types = [c for n, c in _scalar_classes.items() if "float" in n]
# Classes whose results are Python numbers.
_PLAIN = {_scalar_classes["bool"], int32, float32}

# Python's own number types stand for these.
_PYTHON_TYPES = {builtins.float: float32, builtins.int: int32, builtins.bool: _scalar_classes["bool"]}

Scalar = typing.TypeVar("Scalar")
Int = typing.TypeVar("Int")
Float = typing.TypeVar("Float")
for _variable in (Scalar, Int, Float):
    _variable._weft_pattern_ = _variable.__name__
_GENERIC = {typing.Any: "Any", Scalar: "Scalar", Int: "Int", Float: "Float"}

# _core.Type -> class, for every type met so far
_classes = {c._weft_type_: c for c in _scalar_classes.values()}


def class_of(type):
    """The class that stands for a _core.Type."""
    found = _classes.get(type)
    if found is None:
        kind = type.kind
        if kind == "vec":
            found = vector(type.part_count, class_of(type.element))
        elif kind == "mat":
            found = matrix((type.rows, type.columns), class_of(type.element))
        elif kind == "quat":
            found = quaternion(class_of(type.element))
        elif kind == "transform":
            found = transformation(class_of(type.element))
        else:
            raise TypeError(f"no class stands for {type}")
    return found


def canonical(dtype):
    """The class that a dtype argument means: Python's float, int and bool are float32, int32 and bool."""
    found = _PYTHON_TYPES.get(dtype)
    return dtype if found is None else found


def type_to_warp(dtype):
    return canonical(dtype)


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


# ---- vectors and their like ----


class value_base(_core.Value):
    """Numbers of one type: what vectors, matrices, quaternions and transforms share."""

    @property
    def _weft_value_(self):
        return self._weft_type_, self._numbers()

    def _wrap(self, number):
        cls = self._wp_scalar_type_
        return number if cls in _PLAIN else cls(number)

    def __hash__(self):
        return hash(self._numbers())

    def __array__(self, dtype=None, copy=None):
        import numpy as np

        array = np.frombuffer(self._bytes(), dtype=numpy_name(self._wp_scalar_type_)).reshape(self._shape_)
        return np.array(array, dtype=dtype)

    def scalar_export(self):
        return self._wrap

    def scalar_import(self):
        return self._wp_scalar_type_

    @classmethod
    def from_ptr(cls, ptr):
        """A copy of the value at an address."""
        if not ptr:
            raise RuntimeError("a null pointer has no value")
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

    def __copy__(self):
        return self.from_ptr(self._address)

    def __deepcopy__(self, memo):
        return self.from_ptr(self._address)

    def __reduce__(self):
        if class_of(self._weft_type_) is not type(self):
            return super().__reduce__()
        return _restore, (str(self._weft_type_), self._numbers())

    def _same_numbers(self, other):
        if isinstance(other, value_base):
            return other._numbers() if other._shape_ == self._shape_ else None
        return None

    def _operand(self, other):
        """The numbers of the other operand of an elementwise operation, or None."""
        numbers = self._same_numbers(other)
        if numbers is None:
            other = _number(other)
            if isinstance(other, (builtins.int, builtins.float)):
                numbers = (other,) * self._weft_type_.part_count
        return numbers

    def _elementwise(self, function, a, b):
        return self._of([function(x, y) for x, y in zip(a, b, strict=True)])

    def __add__(self, other):
        numbers = self._operand(other)
        return NotImplemented if numbers is None else self._elementwise(operator.add, self._numbers(), numbers)

    __radd__ = __add__

    def __sub__(self, other):
        numbers = self._operand(other)
        return NotImplemented if numbers is None else self._elementwise(operator.sub, self._numbers(), numbers)

    def __rsub__(self, other):
        numbers = self._operand(other)
        return NotImplemented if numbers is None else self._elementwise(operator.sub, numbers, self._numbers())

    def _scaled(self, function, other, reverse=False):
        other = _number(other)
        if not isinstance(other, (builtins.int, builtins.float)):
            return NotImplemented
        mine = self._numbers()
        return self._of([function(other, x) if reverse else function(x, other) for x in mine])

    def __mul__(self, other):
        return self._scaled(operator.mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._scaled(_quotient, other)

    def __rtruediv__(self, other):
        return self._scaled(_quotient, other, reverse=True)

    def __mod__(self, other):
        numbers = self._operand(other)
        return NotImplemented if numbers is None else self._elementwise(_remainder, self._numbers(), numbers)

    def __rmod__(self, other):
        numbers = self._operand(other)
        return NotImplemented if numbers is None else self._elementwise(_remainder, numbers, self._numbers())

    def __neg__(self):
        return self._of([-x for x in self._numbers()])

    def __pos__(self):
        return self


def _restore(type_text, numbers):
    return class_of(Type.parse(type_text))._of(numbers)


def _flatten(values):
    for value in values:
        if isinstance(value, value_base):
            yield from value._numbers()
        elif hasattr(value, "__len__") and not isinstance(value, str):
            yield from _flatten(value)
        else:
            yield value


def _row_dot(cls, a, b):
    """A sum of products, rounded after each step as a kernel does."""
    element = cls._weft_type_
    total = None
    for x, y in zip(a, b, strict=True):
        product = _core.round_number(element, x * y)
        total = product if total is None else _core.round_number(element, total + product)
    return total


class vector_base(value_base):
    """A vector: indexing, slices, arithmetic by element."""

    def __init__(self, *args):
        super().__init__(self._weft_type_)
        count = self._length_
        if len(args) == 1:
            only = args[0]
            if isinstance(only, vector_base) or hasattr(only, "__len__"):
                args = tuple(_flatten(only))
                if len(args) != count:
                    self._refuse_count(len(args))
            else:
                args = (only,) * count
        elif args and len(args) != count:
            args = tuple(_flatten(args))
            if len(args) != count:
                self._refuse_count(len(args))
        if args:
            self._assign(args)

    def _refuse_count(self, found):
        raise ValueError(f"{type(self).__name__} takes {self._length_} numbers, found {found}")

    def __len__(self):
        return self._length_

    def __iter__(self):
        return iter([self._wrap(n) for n in self._numbers()])

    def _position(self, key):
        index = operator.index(key)
        if index < 0:
            index += self._length_
        if not 0 <= index < self._length_:
            raise IndexError(f"index {key} is out of range for {type(self).__name__}")
        return index

    def __getitem__(self, key):
        if isinstance(key, slice):
            numbers = self._numbers()[key]
            return vector(len(numbers), self._wp_scalar_type_)._of(numbers)
        return self._wrap(self._get(self._position(key)))

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            places = range(*key.indices(self._length_))
            values = tuple(_flatten(value)) if hasattr(value, "__len__") else (value,) * len(places)
            if len(values) != len(places):
                raise ValueError(f"expected {len(places)} numbers, found {len(values)}")
            for place, number in zip(places, values, strict=True):
                self._set(place, number)
        else:
            self._set(self._position(key), value)

    def __eq__(self, other):
        if isinstance(other, value_base):
            return self._shape_ == other._shape_ and self._numbers() == other._numbers()
        if hasattr(other, "__len__") and not isinstance(other, str):
            return len(other) == self._length_ and all(a == b for a, b in zip(self._numbers(), other, strict=True))
        return NotImplemented

    __hash__ = value_base.__hash__

    def __str__(self):
        return "[" + ", ".join(map(repr, self._numbers())) + "]"

    def __repr__(self):
        return f"{type(self).__name__}({self})"


class quaternion_base(vector_base):
    """x, y, z, w; `*` is the product of quaternions."""

    @classmethod
    def identity(cls):
        return cls(0.0, 0.0, 0.0, 1.0)

    def __mul__(self, other):
        if isinstance(other, quaternion_base):
            ax, ay, az, aw = self._numbers()
            bx, by, bz, bw = other._numbers()
            return self._of(
                (
                    aw * bx + bw * ax + ay * bz - by * az,
                    aw * by + bw * ay + az * bx - bz * ax,
                    aw * bz + bw * az + ax * by - bx * ay,
                    aw * bw - ax * bx - ay * by - az * bz,
                )
            )
        return super().__mul__(other)


class transformation_base(vector_base):
    """A position `p` and a rotation `q`."""

    def __init__(self, *args, **kwargs):
        if kwargs or len(args) in (0, 1, 2):
            p = kwargs.pop("p", (0.0, 0.0, 0.0))
            q = kwargs.pop("q", (0.0, 0.0, 0.0, 1.0))
            if kwargs:
                raise TypeError(f"{type(self).__name__} takes p and q, found {', '.join(kwargs)}")
            if len(args) == 1 and len(tuple(_flatten(args))) != 3:
                super().__init__(*args)
                return
            p = args[0] if args else p
            q = args[1] if len(args) > 1 else q
            super().__init__(*_flatten((p, q)))
        else:
            super().__init__(*args)

    @classmethod
    def identity(cls):
        return cls()

    @property
    def p(self):
        return vector(3, self._wp_scalar_type_)._of(self._numbers()[:3])

    @p.setter
    def p(self, value):
        self[0:3] = value

    @property
    def q(self):
        return quaternion(self._wp_scalar_type_)._of(self._numbers()[3:])

    @q.setter
    def q(self, value):
        self[3:7] = value

    def __mul__(self, other):
        if isinstance(other, transformation_base):
            rotated = _rotate(self.q._numbers(), other._numbers()[:3])
            p = [a + b for a, b in zip(self._numbers()[:3], rotated, strict=True)]
            return self._of((*p, *(self.q * other.q)._numbers()))
        return super().__mul__(other)


def _rotate(q, v):
    x, y, z, w = q
    cross = (y * v[2] - z * v[1], z * v[0] - x * v[2], x * v[1] - y * v[0])
    dot = x * v[0] + y * v[1] + z * v[2]
    c = 2.0 * w * w - 1.0
    return [v[i] * c + cross[i] * w * 2.0 + (x, y, z)[i] * dot * 2.0 for i in range(3)]


class matrix_base(value_base):
    """A matrix, row by row: indexing by row or element, products."""

    def __init__(self, *args):
        super().__init__(self._weft_type_)
        rows, columns = self._shape_
        count = rows * columns
        if len(args) == 1 and not hasattr(args[0], "__len__"):
            args = args * count
        elif args:
            flat = tuple(_flatten(args))
            if len(flat) != count:
                raise ValueError(f"{type(self).__name__} takes {count} numbers, found {len(flat)}")
            args = flat
        if args:
            self._assign(args)

    def __len__(self):
        return self._shape_[0]

    def __iter__(self):
        return iter([self.get_row(i) for i in range(self._shape_[0])])

    def _row_class(self):
        return vector(self._shape_[1], self._wp_scalar_type_)

    def _rows(self):
        numbers, columns = self._numbers(), self._shape_[1]
        return [numbers[i : i + columns] for i in range(0, len(numbers), columns)]

    def _position(self, key, axis):
        index = operator.index(key)
        extent = self._shape_[axis]
        if index < 0:
            index += extent
        if not 0 <= index < extent:
            raise IndexError(f"index {key} is out of range for {type(self).__name__}")
        return index

    def get_row(self, r):
        return self._row_class()._of(self._rows()[self._position(r, 0)])

    def get_col(self, c):
        c = self._position(c, 1)
        return vector(self._shape_[0], self._wp_scalar_type_)._of([row[c] for row in self._rows()])

    def set_row(self, r, v):
        self[r] = v

    def set_col(self, c, v):
        c = self._position(c, 1)
        values = tuple(_flatten(v)) if hasattr(v, "__len__") else (v,) * self._shape_[0]
        if len(values) != self._shape_[0]:
            raise ValueError(f"expected {self._shape_[0]} numbers, found {len(values)}")
        for r, number in enumerate(values):
            self._set(r * self._shape_[1] + c, number)

    def __getitem__(self, key):
        if isinstance(key, tuple):
            if len(key) != 2:
                raise IndexError(f"a matrix takes one or two indices, found {len(key)}")
            r, c = key
            if isinstance(r, slice) or isinstance(c, slice):
                return self._block(r, c)
            return self._wrap(self._get(self._position(r, 0) * self._shape_[1] + self._position(c, 1)))
        if isinstance(key, slice):
            return self._block(key, slice(None))
        return self.get_row(key)

    def _block(self, r, c):
        rows = self._rows()[r] if isinstance(r, slice) else [self._rows()[self._position(r, 0)]]
        picked = [row[c] if isinstance(c, slice) else (row[self._position(c, 1)],) for row in rows]
        if isinstance(r, slice) and isinstance(c, slice):
            return matrix((len(picked), len(picked[0])), self._wp_scalar_type_)(picked)
        flat = [n for row in picked for n in row]
        return vector(len(flat), self._wp_scalar_type_)._of(flat)

    def __setitem__(self, key, value):
        if isinstance(key, tuple):
            r, c = key
            self._set(self._position(r, 0) * self._shape_[1] + self._position(c, 1), value)
            return
        r, columns = self._position(key, 0), self._shape_[1]
        values = tuple(_flatten(value)) if hasattr(value, "__len__") else (value,) * columns
        if len(values) != columns:
            raise ValueError(f"expected {columns} numbers, found {len(values)}")
        for c, number in enumerate(values):
            self._set(r * columns + c, number)

    def __eq__(self, other):
        if isinstance(other, value_base):
            return self._shape_ == other._shape_ and self._numbers() == other._numbers()
        if hasattr(other, "__len__") and not isinstance(other, str):
            return self._numbers() == tuple(_flatten(other))
        return NotImplemented

    __hash__ = value_base.__hash__

    def __mul__(self, other):
        if isinstance(other, (matrix_base, vector_base)):
            return self @ other
        return super().__mul__(other)

    def __matmul__(self, other):
        scalar = self._wp_scalar_type_
        if isinstance(other, matrix_base) and self._shape_[1] == other._shape_[0]:
            columns = list(zip(*other._rows(), strict=True))
            numbers = [_row_dot(scalar, row, column) for row in self._rows() for column in columns]
            return matrix((self._shape_[0], other._shape_[1]), scalar)._of(numbers)
        if isinstance(other, vector_base) and self._shape_[1] == other._length_:
            numbers = [_row_dot(scalar, row, other._numbers()) for row in self._rows()]
            return vector(self._shape_[0], scalar)._of(numbers)
        return NotImplemented

    def __rmatmul__(self, other):
        if isinstance(other, vector_base) and other._length_ == self._shape_[0]:
            columns = zip(*self._rows(), strict=True)
            numbers = [_row_dot(self._wp_scalar_type_, other._numbers(), column) for column in columns]
            return vector(self._shape_[1], self._wp_scalar_type_)._of(numbers)
        return NotImplemented

    def __rmul__(self, other):
        if isinstance(other, vector_base):
            return self.__rmatmul__(other)
        return super().__rmul__(other)

    def __str__(self):
        rows = ["[" + ", ".join(map(repr, row)) + "]" for row in self._rows()]
        return "[" + ",\n ".join(rows) + "]"

    def __repr__(self):
        return f"{type(self).__name__}({self})"


def _component(index):
    return property(lambda self: self[index], lambda self, value: self.__setitem__(index, value))


def _make(base, name, type, scalar, shape):
    members = {
        "__module__": __name__,
        "_weft_type_": type,
        "_wp_scalar_type_": scalar,
        "_shape_": shape,
        "_length_": type.part_count if len(shape) == 1 else shape[0],
        "_type_": scalar,
    }
    if (base is vector_base and shape[0] <= 4) or base is quaternion_base:
        members.update({letter: _component(i) for i, letter in zip(range(shape[0]), "xyzw", strict=False)})
    cls = builtins.type(name, (base,), members)
    _classes.setdefault(type, cls)
    return cls


def _generic(word, *parts):
    texts = [p if isinstance(p, str) else str(p) for p in parts]
    return generic_type(f"{word}[{', '.join(texts)}]")


def _length_text(length):
    return "Any" if length is typing.Any else length


def vector(length, dtype):
    """The class of vectors of `length` numbers of type `dtype`."""
    if length is typing.Any or is_generic(dtype):
        return _generic("Vector", pattern_of(dtype), _length_text(length))
    scalar = canonical(dtype)
    type = Type.vec(length, type_of(scalar))
    return _classes.get(type) or _make(vector_base, "vec_t", type, scalar, (length,))


def matrix(shape, dtype):
    """The class of matrices of `shape` (rows, columns) with numbers of type `dtype`."""
    rows, columns = shape
    if rows is typing.Any or columns is typing.Any or is_generic(dtype):
        return _generic("Matrix", pattern_of(dtype), _length_text(rows), _length_text(columns))
    scalar = canonical(dtype)
    type = Type.mat(rows, columns, type_of(scalar))
    return _classes.get(type) or _make(matrix_base, "mat_t", type, scalar, (rows, columns))


def quaternion(dtype=typing.Any):
    """The class of quaternions with numbers of type `dtype`."""
    if is_generic(dtype):
        return _generic("Quaternion", pattern_of(dtype))
    scalar = canonical(dtype)
    type = Type.quat(type_of(scalar))
    return _classes.get(type) or _make(quaternion_base, "quat_t", type, scalar, (4,))


def transformation(dtype=typing.Any):
    """The class of transforms with numbers of type `dtype`."""
    if is_generic(dtype):
        return _generic("Transform", pattern_of(dtype))
    scalar = canonical(dtype)
    type = Type.transform(type_of(scalar))
    return _classes.get(type) or _make(transformation_base, "transform_t", type, scalar, (7,))


def _make_predeclared():
    """Every predeclared class by name; a name without suffix is the one of float32."""
    classes = {}

    def declare(stem, base, suffixes, make_type, shape):
        for name, (_, suffix) in SCALARS.items():
            if suffix in suffixes:
                scalar = _scalar_classes[name]
                classes[stem + suffix] = _make(base, stem + suffix, make_type(scalar._weft_type_), scalar, shape)
        classes[stem] = classes[stem + "f"]

    every = [suffix for _, suffix in SCALARS.values() if suffix]
    floats = ("h", "f", "d")
    for n in (2, 3, 4):
        declare(f"vec{n}", vector_base, every, lambda t, n=n: Type.vec(n, t), (n,))
    for n in (2, 3, 4):
        declare(f"mat{n}{n}", matrix_base, floats, lambda t, n=n: Type.mat(n, n, t), (n, n))
    declare("quat", quaternion_base, floats, Type.quat, (4,))
    declare("transform", transformation_base, floats, Type.transform, (7,))
    declare("spatial_vector", vector_base, floats, lambda t: Type.vec(6, t), (6,))
    declare("spatial_matrix", matrix_base, floats, lambda t: Type.mat(6, 6, t), (6, 6))
    return classes


_predeclared = _make_predeclared()
globals().update(_predeclared)

vector_types = [c for c in _predeclared.values() if issubclass(c, value_base)]
PREDECLARED = {**_scalar_classes, **_predeclared}


def convert_plain(value):
    """An argument of a call at Python scope: NumPy's numbers become Python's."""
    if not isinstance(value, (builtins.int, builtins.float, scalar_base, _core.Value)) and hasattr(value, "item"):
        return value.item()
    return value


# ---- NumPy ----

_NUMPY_NAMES = {
    **{n: n for n in SCALARS},
    "bfloat16": "uint16",  # NumPy has no such type: its bits
}


def numpy_name(scalar):
    """The name of NumPy's type for a scalar class."""
    return _NUMPY_NAMES[scalar.__name__]


def part_shape(dtype):
    """The shape of one element as NumPy sees it: () for a scalar, (3,) for vec3, (2, 2) for mat22."""
    return getattr(dtype, "_shape_", ())


def scalar_of(dtype):
    return getattr(dtype, "_wp_scalar_type_", dtype)


def dtype_from_numpy(numpy_dtype):
    """The scalar class for a NumPy dtype; TypeError where there is none."""
    import numpy as np

    name = np.dtype(numpy_dtype).name
    if name not in SCALARS:
        raise TypeError(f"no scalar type of Warp stands for NumPy's {np.dtype(numpy_dtype)}")
    return _scalar_classes[name]


def dtype_to_numpy(warp_dtype):
    import numpy as np

    scalar = scalar_of(canonical(warp_dtype))
    if not (isinstance(scalar, type) and issubclass(scalar, scalar_base)):
        raise TypeError(f"no NumPy type stands for {warp_dtype}")
    return getattr(np, numpy_name(scalar) if scalar.__name__ != "bool" else "bool_")


def type_size_in_bytes(dtype):
    return type_of(dtype).size


def type_is_int(dtype):
    return canonical(dtype) in int_types


def type_is_float(dtype):
    return canonical(dtype) in float_types


def type_is_vector(dtype):
    return isinstance(dtype, type) and issubclass(dtype, vector_base)


def type_is_matrix(dtype):
    return isinstance(dtype, type) and issubclass(dtype, matrix_base)
