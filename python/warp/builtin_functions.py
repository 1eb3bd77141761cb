"""The builtins of the kernel language as objects, made from the registry: `wp.sin`, `wp.tid`, ..."""

import builtins
import typing

from warp import _core, config, types
from warp.errors import WarpCodegenTypeError
from warp.kernels import MapKernel


class Builtin:
    """A builtin function. Kernels call it; the overloads are listed in its documentation."""

    def __init__(self, name):
        self._weft_builtin_ = name
        self.__name__ = self.__qualname__ = self.key = name

    @property
    def rows(self):
        """The overloads, as the registry describes them."""
        return _core.builtin_rows(self._weft_builtin_)

    @property
    def __doc__(self):
        lines = []
        for row in self.rows:
            parameters = ", ".join(f"{n}: {t}" + (f" = {d}" if d else "") for n, t, d in row["parameters"])
            lines.append(f"{self.key}({parameters})" + (f" -> {row['result']}" if row["result"] else ""))
        rows = self.rows
        return "\n".join(lines) + (f"\n\n{rows[0]['doc']}" if rows else "")

    def __call__(self, *args, **kwargs):
        return call(self, self._bound(args, kwargs) if kwargs else args)

    def _bound(self, args, kwargs):
        """Arguments given by name in their places."""
        for row in self.rows:
            names = [n for n, _, _ in row["parameters"]]
            rest = names[len(args) : len(args) + len(kwargs)]
            if set(rest) == set(kwargs):
                return (*args, *(kwargs[n] for n in rest))
        raise RuntimeError(f"Couldn't find a function '{self.key}' that takes the arguments {', '.join(kwargs)}")

    def __repr__(self):
        return f"<builtin {self.key}>"


_calls = {}


def call(function, args, derivative=False):
    """Runs a builtin (or a function of the user) once on plain values, through a kernel made for their types.

    `derivative`: its gradient instead.
    """
    values = [types.convert_plain(a) for a in args]
    operand_types = tuple(_core.type_of_argument(v) for v in values)
    for type, value in zip(operand_types, values, strict=True):
        if type.kind == "void":
            raise WarpCodegenTypeError(
                f"{function.key}() does not take an argument of type {builtins.type(value).__name__}: construct a "
                "vector, a matrix, a quaternion or a transform of it"
            )
    # A user's function is itself: another may have its name.
    identity = (function.key if isinstance(function, Builtin) else function, operand_types, derivative)
    made = _calls.get(identity)
    if made is None:
        operands = [(type, 0, (), "array") for type in operand_types]
        try:
            made = _core.make_map_kernel(function, function.key, 0, operands, MapKernel, derivative=derivative)
        except WarpCodegenTypeError as error:
            names = ", ".join(builtins.type(v).__name__ for v in args)
            raise WarpCodegenTypeError(
                f"Couldn't find a function '{function.key}' compatible with the arguments '{names}': {error}"
            ) from None
        _calls[identity] = made
    kernel, result_types = made
    results = _core.call_kernel(kernel, values, result_types)
    read = [types.class_of(r._type) for r in results]
    out = tuple(_plain(cls, r) for cls, r in zip(read, results, strict=True))
    return out[0] if len(out) == 1 else out if out else None


def _plain(cls, value):
    """A result as Python has it: numbers of Python's own types, else an object of the class."""
    if issubclass(cls, types.scalar_base):
        number = value._get(0)
        return number if cls in types.PLAIN or config.legacy_scalar_return_types else cls(number)
    return cls.from_ptr(value._address)


class TypeBuiltin(Builtin):
    """`wp.vector` and its like: constructors in kernels; called with a dtype alone, or with types, the class."""

    def __init__(self, name, make):
        super().__init__(name)
        self._make_class = make

    def __call__(self, *args, **kwargs):
        if not args or any(isinstance(a, builtins.type) or a is typing.Any for a in args):
            return self._make_class(*args, **kwargs)
        if not kwargs:
            return super().__call__(*args)
        made = self._make_class(**self._shape_of(args, kwargs))
        return made(*args)

    def _shape_of(self, args, kwargs):
        if self.key == "vector":
            return {"length": len(args), **kwargs}
        return kwargs


_TYPE_BUILTINS = {
    "vector": types.vector,
    "matrix": types.matrix,
    "quaternion": types.quaternion,
    "transformation": types.transformation,
}


def make():
    """All builtins by name."""
    names = [*_core.builtin_names(), *_TYPE_BUILTINS]
    return {n: TypeBuiltin(n, _TYPE_BUILTINS[n]) if n in _TYPE_BUILTINS else Builtin(n) for n in names}
