"""The builtins of the kernel language as objects, made from the registry: `wp.sin`, `wp.tid`, ..."""

from warp import _core
from warp.errors import WarpUnsupportedError


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
        return call(self._weft_builtin_, args)

    def __repr__(self):
        return f"<builtin {self.key}>"


def call(name, args):
    raise WarpUnsupportedError(f"wp.{name}() can be called from kernels only")


def make():
    """All builtins by name."""
    return {name: Builtin(name) for name in _core.builtin_names()}
