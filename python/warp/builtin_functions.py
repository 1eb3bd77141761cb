"""The builtins of the kernel language as objects, made from the registry: `wp.sin`, `wp.tid`, ..."""

import builtins
import typing

from warp import _core, config, types
from warp.errors import WarpCodegenTypeError
from warp.kernels import MapKernel
from warp.scalars import no_function


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
    # A user's function keeps its own: another may have its name.
    calls = _calls if isinstance(function, Builtin) else function.map_kernels
    identity = (function.key, operand_types, derivative)
    made = calls.get(identity)
    if made is None:
        refused = no_function(function.key, *args)
        if any(type.kind == "void" for type in operand_types):
            raise refused
        operands = [(type, 0, (), "array") for type in operand_types]
        try:
            made = _core.make_map_kernel(function, function.key, 0, operands, MapKernel, derivative=derivative)
        except WarpCodegenTypeError as error:
            raise refused from error
        made[0].applied = function  # lives as long as the kernel
        calls[identity] = made
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


class IdentityBuiltin(Builtin):
    """A builtin whose arguments say what type its value has."""

    def __init__(self, name, make):
        super().__init__(name)
        self._make = make

    def __call__(self, *args, **kwargs):
        try:
            return self._make(*args, **kwargs)
        except TypeError as error:
            raise no_function(self.key, *args, *kwargs.values()) from error


def _float_class(dtype):
    """The class that a dtype argument means; TypeError where it is no float."""
    found = types.float32 if dtype is None else types.canonical(dtype)
    if found not in types.float_types:
        raise TypeError(f"expected a float type such as wp.float32, found {dtype!r}")
    return found


def _identity(n, dtype=None):
    made = types.matrix(shape=(n, n), dtype=types.float32 if dtype is None else dtype)
    return made(*(float(i % (n + 1) == 0) for i in range(n * n)))


def _quat_identity(dtype=None):
    return types.quaternion(dtype=_float_class(dtype))(0.0, 0.0, 0.0, 1.0)


def _transform_identity(dtype=None):
    return types.transformation(dtype=_float_class(dtype))(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


_IDENTITIES = {"identity": _identity, "quat_identity": _quat_identity, "transform_identity": _transform_identity}
_TYPE_BUILTINS = {
    "vector": types.vector,
    "matrix": types.matrix,
    "quaternion": types.quaternion,
    "transformation": types.transformation,
}


def _make(name):
    if name in _TYPE_BUILTINS:
        return TypeBuiltin(name, _TYPE_BUILTINS[name])
    return IdentityBuiltin(name, _IDENTITIES[name]) if name in _IDENTITIES else Builtin(name)


def make():
    """All builtins by name."""
    return {name: _make(name) for name in [*_core.builtin_names(), *_TYPE_BUILTINS]}
