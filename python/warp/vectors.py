"""Vectors, quaternions and transforms at Python scope: indexing, slices, the products of rotations."""

import operator

from warp.dtypes import CLASSES, MAKERS, Type, canonical, class_of, generic_type, is_generic, pattern_of, type_of
from warp.scalars import number
from warp.values import flatten, make_class, value_base


def position(key, count):
    """An index as a number from 0 on; IndexError outside."""
    index = operator.index(key)
    if index < 0:
        index += count
    if not 0 <= index < count:
        raise IndexError(f"invalid index: {key} of {count}")
    return index


class vector_base(value_base):
    """A vector."""

    def __init__(self, *args):
        super().__init__(self._weft_type_)
        count = self._length_
        if len(args) == 1:
            only = args[0]
            if isinstance(only, value_base):
                args = only._numbers()
            elif hasattr(only, "__len__") and not isinstance(only, str):
                args = tuple(only)
            else:
                args = (only,) * count
        if not args:
            return
        if len(args) != count:
            flat = tuple(flatten(args))
            if len(flat) != count or len(args) == 1:
                raise ValueError(
                    f"Invalid number of arguments in {self._wp_constructor_} constructor, expected {count} elements, "
                    f"got {len(args)}"
                )
            args = flat
        try:
            self._assign([number(a) for a in args])
        except TypeError as error:
            raise self._conversion_error(args) from error

    def _conversion_error(self, args):
        is_int = "int" in self._wp_scalar_type_.__name__
        for a in args:
            a = number(a)
            if is_int and not hasattr(a, "__index__"):
                return TypeError(f"'{type(a).__name__}' object cannot be interpreted as an integer")
            if not is_int and not hasattr(a, "__float__"):
                return TypeError(f"must be real number, not {type(a).__name__}")
        return TypeError(f"cannot make a {type(self).__name__} from {args}")

    def __len__(self):
        return self._length_

    def __iter__(self):
        return iter([self._wrap(n) for n in self._numbers()])

    def __setattr__(self, name, value):
        # What would be a component, or several, of a longer vector is a mistake, not a new attribute.
        if set(name) <= set("xyzw") and not hasattr(type(self), name):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        super().__setattr__(name, value)

    def _key_error(self, key):
        return KeyError(f"Invalid key {key}, expected int or slice")

    def __getitem__(self, key):
        if isinstance(key, slice):
            numbers = self._numbers()[key]
            return vector(len(numbers), self._wp_scalar_type_)._of(numbers)
        if not hasattr(key, "__index__"):
            raise self._key_error(key)
        return self._wrap(self._get(position(key, self._length_)))

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            self._put_all(range(*key.indices(self._length_)), value)
        elif not hasattr(key, "__index__"):
            raise self._key_error(key)
        else:
            self._put(position(key, self._length_), value)

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
        name = type(self).__name__
        if name == "vec_t":
            name = f"vector(length={self._length_}, dtype={self._wp_scalar_type_.__name__})"
        return f"{name}([{', '.join(repr(x) for x in self)}])"


class quaternion_base(vector_base):
    """x, y, z, w; `*` is the product of quaternions."""

    @classmethod
    def identity(cls):
        return cls(0.0, 0.0, 0.0, 1.0)

    def __mul__(self, other):
        if isinstance(other, quaternion_base) and other._wp_scalar_type_ is self._wp_scalar_type_:
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
                raise TypeError(f"got an unexpected keyword argument '{next(iter(kwargs))}'")
            if len(args) == 1 and len(tuple(flatten(args))) != 3:
                super().__init__(*args)
                return
            p = args[0] if args else p
            q = args[1] if len(args) > 1 else q
            super().__init__(*flatten((p, q)))
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

    def __getattr__(self, name):
        if name in ("x", "y", "z", "w"):
            raise RuntimeError(f"a transformation has no attribute {name}: use p and q")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        if name in ("x", "y", "z", "w"):
            raise RuntimeError(f"Cannot set attribute {name} of transformation: use p and q")
        super().__setattr__(name, value)

    def __mul__(self, other):
        if isinstance(other, transformation_base) and other._wp_scalar_type_ is self._wp_scalar_type_:
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


# ---- making classes ----


def _component(index):
    return property(lambda self: self[index], lambda self, value: self.__setitem__(index, value))


_LETTERS = {letter: _component(i) for i, letter in enumerate("xyzw")}


def make_vector(name, type, scalar):
    length = type.part_count
    letters = list(_LETTERS.items())[:length] if length <= 4 else ()
    return make_class(vector_base, name, type, scalar, (length,), "vector", letters)


def make_quaternion(name, type, scalar):
    return make_class(quaternion_base, name, type, scalar, (4,), "quaternion", _LETTERS)


def make_transformation(name, type, scalar):
    return make_class(transformation_base, name, type, scalar, (7,), "transformation")


MAKERS["vec"] = lambda type: make_vector("vec_t", type, class_of(type.element))
MAKERS["quat"] = lambda type: make_quaternion("quat_t", type, class_of(type.element))
MAKERS["transform"] = lambda type: make_transformation("transform_t", type, class_of(type.element))


def generic(word, *parts):
    return generic_type(f"{word}[{', '.join(str(p) for p in parts)}]")


def length_text(length):
    return length if isinstance(length, int) else "Any"


def vector(length, dtype):
    """The class of vectors of `length` numbers of type `dtype`."""
    if not isinstance(length, int) or is_generic(dtype):
        return generic("Vector", pattern_of(dtype), length_text(length))
    return class_of(Type.vec(length, type_of(canonical(dtype))))


def quaternion(dtype=None):
    """The class of quaternions with numbers of type `dtype`."""
    if dtype is None or is_generic(dtype):
        return generic("Quaternion", "Any" if dtype is None else pattern_of(dtype))
    return class_of(Type.quat(type_of(canonical(dtype))))


def transformation(dtype=None):
    """The class of transforms with numbers of type `dtype`."""
    if dtype is None or is_generic(dtype):
        return generic("Transform", "Any" if dtype is None else pattern_of(dtype))
    return class_of(Type.transform(type_of(canonical(dtype))))


def transform_expand(t):
    """The transform of seven numbers: three of a position, four of a rotation."""
    cls = CLASSES[Type.transform(Type.scalar("f32"))]
    return cls(tuple(t[0:3]), tuple(t[3:7]))
