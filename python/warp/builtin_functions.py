"""The builtins of the kernel language as objects, made from the registry: `wp.sin`, `wp.tid`, ..."""

import builtins

from warp import _core, types
from warp.errors import WarpCodegenTypeError


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

    def __call__(self, *args):
        return call(self, args)

    def __repr__(self):
        return f"<builtin {self.key}>"


_calls = {}


def call(function, args):
    """Runs a builtin (or a function of the user) once on plain values, through a kernel made for their types."""
    values = [types.convert_plain(a) for a in args]
    operand_types = tuple(_core.type_of_argument(v) for v in values)
    for type, value in zip(operand_types, values, strict=True):
        if type.kind == "void":
            raise WarpCodegenTypeError(
                f"{function.key}() does not take an argument of type {builtins.type(value).__name__}"
            )
    made = _calls.get((function, operand_types))
    if made is None:
        operands = [(type, 0, ()) for type in operand_types]
        made = _calls[function, operand_types] = _core.make_map_kernel(function, function.key, 0, operands, MapKernel)
    kernel, result_types = made
    results = _core.call_kernel(kernel, values, result_types)
    read = [types.class_of(r._type) for r in results]
    out = tuple(_plain(cls, r) for cls, r in zip(read, results, strict=True))
    return out[0] if len(out) == 1 else out


def _plain(cls, value):
    """A result as Python has it: numbers of Python's own types, else an object of the class."""
    if issubclass(cls, types.scalar_base):
        number = value._get(0)
        return number if cls in types._PLAIN else cls(number)
    return cls.from_ptr(value._address)


class MapKernel(_core.Kernel):
    """A kernel made by the core itself."""

    @property
    def key(self):
        return self._name

    is_generic = False


def make():
    """All builtins by name."""
    return {name: Builtin(name) for name in _core.builtin_names()}
