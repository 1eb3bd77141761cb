"""`@wp.func` and its relatives: functions that kernels call."""

import functools
import inspect
import sys

from warp import _core
from warp.errors import WarpCodegenTypeError, WarpSyntaxError
from warp.source import locate, read_lines, uses_static


class OverloadSet:
    """All functions of one name and scope, in order of definition."""

    def __init__(self, name):
        self.name = name
        self.core = _core.OverloadSet(name)
        self.functions = []

    def including(self, function):
        """This set with the function in it; another set where it stands in for one of equal parameter types, which
        whoever has the older one still means."""
        signature = function._signature_key()
        result = self
        if any(other._signature_key() == signature for other in self.functions):
            result = OverloadSet(self.name)
            result.functions = [f for f in self.functions if f._signature_key() != signature]
        result.functions.append(function)
        return result

    def make(self):
        for function in self.functions:
            self.core.add(function._make())


class Function:
    """A function of the kernel language."""

    _weft_pattern_ = "Callable"  # as an annotation: a function passed by name

    def __init__(self, function, overloads, native=None):
        functools.update_wrapper(self, function)
        self.func = function
        self.key = function.__qualname__.replace("<locals>.", "")
        self.native = native
        self.gradient = None
        self.replay = None
        self.overloads = overloads.including(self)
        self._lines = read_lines(function)
        self._made = None
        if uses_static(function):
            self._make()

    def _signature_key(self):
        parameters = inspect.signature(self.func).parameters
        return tuple(repr(_type_key(p.annotation)) for p in parameters.values())

    def _make(self):
        """The core's function; sources are read when a kernel first needs them."""
        if self._made is None:
            source, node = locate(self.func, self._lines)
            self._made = _core.Function(self.func.__name__, source, node, self.func, self.overloads.core)
            if self.native is not None:
                self._made.set_native(*self.native)
            if self.gradient is not None:
                self._made.set_gradient(self.gradient._make())
        return self._made

    @property
    def _weft_function_(self):
        self.overloads.make()
        return self._make()

    def __call__(self, *args, **kwargs):
        """At Python scope the function runs as Python."""
        if self.native is not None:
            raise RuntimeError(f"'{self.key}' is a native function: it can be called from kernels only")
        if len(self.overloads.functions) > 1:
            raise RuntimeError(f"'{self.key}' has several definitions: it can be called from kernels only")
        return self.func(*args, **kwargs)

    def __repr__(self):
        return f"<Function {self.key}>"


def _type_key(annotation):
    type = getattr(annotation, "_weft_type_", None)
    if type is None:
        type = getattr(annotation, "_weft_pattern_", annotation)
    return type


def _scope_set(name, depth):
    """The overload set that a definition belongs to: that of the function of this name in the same scope."""
    existing = sys._getframe(depth).f_locals.get(name)
    return existing.overloads if isinstance(existing, Function) else OverloadSet(name)


def func(f=None, *, name=None, module=None, inline=None):
    """Makes a Python function callable from kernels. Several definitions of one name are overloads."""

    def decorate(function, depth=2):
        return Function(function, _scope_set(function.__name__, depth + 1))

    return decorate if f is None else decorate(f)


def func_native(snippet, adj_snippet=None, replay_snippet=None):
    """A function whose body is C++ (and CUDA) source; the Python body is ignored."""

    def decorate(function):
        native = (snippet, adj_snippet or "", replay_snippet or "")
        return Function(function, _scope_set(function.__name__, 2), native)

    return decorate


def func_grad(forward_fn):
    """The derivative of a function, written by hand: takes its parameters, then the adjoint of each result."""

    def decorate(function):
        gradient = Function(function, OverloadSet(function.__name__))
        _matching(forward_fn, function, "func_grad").gradient = gradient
        return gradient

    return decorate


def func_replay(forward_fn):
    """What runs instead of a function in the forward part of the adjoint. Stored; not used yet."""

    def decorate(function):
        replay = Function(function, OverloadSet(function.__name__))
        _matching(forward_fn, function, "func_replay").replay = replay
        return replay

    return decorate


def _matching(forward, function, decorator):
    """The overload of `forward` whose parameters come first among those of `function`."""
    if not isinstance(forward, Function):
        raise WarpCodegenTypeError(f"@wp.{decorator} takes a function made by @wp.func")
    candidates = forward.overloads.functions
    if len(candidates) == 1:
        return candidates[0]
    mine = [repr(_type_key(p.annotation)) for p in inspect.signature(function).parameters.values()]
    for candidate in candidates:
        theirs = list(candidate._signature_key())
        if mine[: len(theirs)] == theirs:
            return candidate
    raise WarpCodegenTypeError(
        f"@wp.{decorator}: no definition of '{forward.key}' has the parameters of '{function.__name__}'"
    )


def static(expression):
    """In a kernel: the value of a Python expression, computed while the kernel is compiled. Elsewhere: the value."""
    return expression


def constant(value):
    """Marks a value that kernels use; any number, vector or matrix can be used without it too."""
    from warp import types

    if not isinstance(value, (int, float, bool, types.scalar_base, types.value_base)):
        raise TypeError(f"a constant is a number, a vector or a matrix, found {type(value).__name__}")
    return value


__all__ = ["Function", "WarpSyntaxError", "constant", "func", "func_grad", "func_native", "func_replay", "static"]
