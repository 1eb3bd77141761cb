"""Matrices at Python scope: indexing by row, element and block, products."""

from warp import _core
from warp.dtypes import MAKERS, Type, canonical, class_of, is_generic, pattern_of, type_of
from warp.scalars import no_function, number
from warp.values import flatten, is_number, make_class, value_base
from warp.vectors import generic, length_text, position, vector, vector_base


def _row_dot(cls, a, b):
    """A sum of products, rounded after each step as a kernel does."""
    element = cls._weft_type_
    total = None
    for x, y in zip(a, b, strict=True):
        product = _core.round_number(element, x * y)
        total = product if total is None else _core.round_number(element, total + product)
    return total


def _key_error(key):
    if isinstance(key, tuple) and len(key) != 2:
        return KeyError(f"Invalid key, expected one or two indices, got {len(key)}")
    return KeyError(f"Invalid key {key}, expected int or pair of ints")


class matrix_base(value_base):
    """A matrix, row by row."""

    def __init__(self, *args):
        super().__init__(self._weft_type_)
        rows, columns = self._shape_
        count = rows * columns
        if not args:
            return
        if len(args) == 1:
            only = args[0]
            if not hasattr(only, "__len__") or isinstance(only, str):
                args = args * count
            elif isinstance(only, matrix_base) or getattr(only, "ndim", 0) == 2 or len(only) == rows:
                args = tuple(only)
            else:
                args = tuple(flatten(only))
        if len(args) == rows and (rows < count or columns == 1) and hasattr(args[0], "__len__"):
            for row in args:
                if not hasattr(row, "__len__") or len(row) != columns:
                    raise TypeError(
                        f"Invalid argument in matrix constructor, expected row of length {columns}, got {row}"
                    )
            args = tuple(flatten(args))
        if len(args) != count:
            raise ValueError(
                f"Invalid number of arguments in matrix constructor, expected {count} elements, got {len(args)}"
            )
        try:
            self._assign([number(a) for a in args])
        except TypeError:
            wrong = next(a for a in args if not is_number(number(a)) or isinstance(number(a), str))
            raise TypeError(f"must be real number, not {type(wrong).__name__}") from None

    def __len__(self):
        return self._shape_[0]

    def __iter__(self):
        return iter([self.get_row(i) for i in range(self._shape_[0])])

    def _rows(self):
        numbers, columns = self._numbers(), self._shape_[1]
        return [numbers[i : i + columns] for i in range(0, len(numbers), columns)]

    def _place(self, key, axis):
        try:
            return position(key, self._shape_[axis])
        except IndexError:
            raise IndexError(f"Invalid {('row', 'column')[axis]} index") from None

    def _axis(self, key, axis):
        """The places along an axis, and whether the key was a slice."""
        if isinstance(key, slice):
            return range(*key.indices(self._shape_[axis])), True
        if not hasattr(key, "__index__"):
            raise _key_error(key)
        return (self._place(key, axis),), False

    def get_row(self, r):
        return vector(self._shape_[1], self._wp_scalar_type_)._of(self._rows()[self._place(r, 0)])

    def get_col(self, c):
        c = self._place(c, 1)
        return vector(self._shape_[0], self._wp_scalar_type_)._of([row[c] for row in self._rows()])

    def set_row(self, r, v):
        columns, r = self._shape_[1], self._place(r, 0)
        self._put_all(range(r * columns, (r + 1) * columns), v)

    def set_col(self, c, v):
        columns, c = self._shape_[1], self._place(c, 1)
        self._put_all(range(c, self._weft_type_.part_count, columns), v)

    def _both(self, key):
        """(rows, row is a slice, columns, column is a slice) of a key."""
        if isinstance(key, tuple):
            if len(key) != 2:
                raise _key_error(key)
            return *self._axis(key[0], 0), *self._axis(key[1], 1)
        return *self._axis(key, 0), range(self._shape_[1]), True

    def __getitem__(self, key):
        rows, row_range, columns, column_range = self._both(key)
        width = self._shape_[1]
        if not row_range and not column_range:
            return self._wrap(self._get(rows[0] * width + columns[0]))
        all_numbers = self._numbers()
        numbers = [all_numbers[r * width + c] for r in rows for c in columns]
        scalar = self._wp_scalar_type_
        if row_range and column_range:
            if not numbers:
                raise ValueError("a matrix without elements does not exist")
            return matrix((len(rows), len(columns)), scalar)._of(numbers)
        return vector(len(numbers), scalar)._of(numbers)

    def __setitem__(self, key, value):
        rows, row_range, columns, column_range = self._both(key)
        width = self._shape_[1]
        if not row_range and not column_range:
            self._put(rows[0] * width + columns[0], value)
            return
        places = [r * width + c for r in rows for c in columns]
        if row_range and column_range and hasattr(value, "__len__"):
            if len(value) != len(rows):
                raise ValueError(f"Can only assign sequence of same size: {len(rows)} rows, {len(value)} values")
            value = tuple(flatten(value))
        self._put_all(places, value)

    def __eq__(self, other):
        if isinstance(other, value_base):
            return self._shape_ == other._shape_ and self._numbers() == other._numbers()
        if hasattr(other, "__len__") and not isinstance(other, str):
            return self._numbers() == tuple(flatten(other))
        return NotImplemented

    __hash__ = value_base.__hash__

    def __mul__(self, other):
        if isinstance(other, (matrix_base, vector_base)):
            product = self.__matmul__(other)
            if product is NotImplemented:
                raise no_function("mul", self, other)
            return product
        return super().__mul__(other)

    def __matmul__(self, other):
        scalar = self._wp_scalar_type_
        if isinstance(other, value_base) and other._wp_scalar_type_ is scalar:
            if isinstance(other, matrix_base) and self._shape_[1] == other._shape_[0]:
                columns = list(zip(*other._rows(), strict=True))
                numbers = [_row_dot(scalar, row, column) for row in self._rows() for column in columns]
                return matrix((self._shape_[0], other._shape_[1]), scalar)._of(numbers)
            if isinstance(other, vector_base) and self._shape_[1] == other._length_:
                numbers = [_row_dot(scalar, row, other._numbers()) for row in self._rows()]
                return vector(self._shape_[0], scalar)._of(numbers)
        return NotImplemented

    def __rmatmul__(self, other):
        if (
            isinstance(other, vector_base)
            and other._length_ == self._shape_[0]
            and other._wp_scalar_type_ is self._wp_scalar_type_
        ):
            columns = zip(*self._rows(), strict=True)
            numbers = [_row_dot(self._wp_scalar_type_, other._numbers(), column) for column in columns]
            return vector(self._shape_[1], self._wp_scalar_type_)._of(numbers)
        return NotImplemented

    def __rmul__(self, other):
        if isinstance(other, vector_base):
            product = self.__rmatmul__(other)
            if product is NotImplemented:
                raise no_function("mul", other, self)
            return product
        return super().__rmul__(other)

    def __str__(self):
        rows = ["[" + ", ".join(map(repr, row)) + "]" for row in self._rows()]
        return "[" + ",\n ".join(rows) + "]"

    def __repr__(self):
        return f"{type(self).__name__}({self})"


def make_matrix(name, type, scalar):
    return make_class(matrix_base, name, type, scalar, (type.rows, type.columns), "matrix")


MAKERS["mat"] = lambda type: make_matrix("mat_t", type, class_of(type.element))


def matrix(shape, dtype):
    """The class of matrices of `shape` (rows, columns) with numbers of type `dtype`."""
    rows, columns = shape
    if not isinstance(rows, int) or not isinstance(columns, int) or is_generic(dtype):
        return generic("Matrix", pattern_of(dtype), length_text(rows), length_text(columns))
    return class_of(Type.mat(rows, columns, type_of(canonical(dtype))))
