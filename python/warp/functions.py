"""`@wp.func` and its relatives: functions that kernels call."""

import collections.abc
import functools
import inspect
import sys
import typing

from warp import _core, dtypes, modules
from warp.annotations import check_annotations
from warp.errors import WarpCodegenTypeError, WarpSyntaxError
from warp.fingerprint import fingerprint
from warp.source import locate, read_lines, text_hash, uses_static

_P, _R = typing.ParamSpec("_P"), typing.TypeVar("_R")


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
        values = function._signature_key(values=True)
        for other in self.functions:
            if other._signature_key() != signature and other._signature_key(values=True) == values:
                raise RuntimeError(
                    f"two definitions of '{function.key}' differ only in what they take by wp.ref: a call could mean "
                    "either"
                )
        result = self
        if any(other._signature_key() == signature for other in self.functions):
            result = OverloadSet(self.name)
            result.functions = [f for f in self.functions if f._signature_key() != signature]
        result.functions.append(function)
        return result

    def make(self):
        # In this order, whichever was made first: the same in every process.
        self.core.arrange([function._make() for function in self.functions])


class Defaults(dict):
    """The defaults of a Python function, by name: what is set here is set there."""

    def __init__(self, function):
        self._function = function
        parameters = inspect.signature(function).parameters.values()
        super().__init__((p.name, p.default) for p in parameters if p.default is not p.empty)

    def __setitem__(self, name, value):
        if name not in self:
            raise KeyError(name)
        super().__setitem__(name, value)
        self._function.__defaults__ = tuple(self.values())


class Function:
    """A function of the kernel language."""

    _weft_pattern_ = "Callable"  # as an annotation: a function passed by name
    _weft_function_name_ = True

    def __init__(self, function, overloads, native=None, name=None, module=None, inline=None):
        check_annotations(function)
        functools.update_wrapper(self, function)
        self.func = function
        self.key = name or modules.full_name(function)
        self.module = module or modules.get_module(modules.name_of_module(function))
        self.native = native
        if inline is not None and not isinstance(inline, bool):
            raise TypeError(f"inline must be a bool or None, found {inline!r}")
        self.inline = inline
        self.gradient = None
        self.replay = None
        self.overloads = overloads.including(self)
        self._lines = read_lines(function)
        self._made = None
        self.map_kernels = {}  # of wp.map
        replaced = self.overloads is not overloads
        self.module.register_function(self)
        # Defined anew at the top of a module (a reload, a notebook's cell): kernels look again at what they call.
        if replaced and "<locals>" not in function.__qualname__:
            modules.redefined()
        if uses_static(function):
            self._make()

    def _signature_key(self, values=False):
        """The types of the parameters as texts; with `values` those of what references refer to."""
        types = [_type_key(p.annotation) for p in inspect.signature(self.func).parameters.values()]
        if values:
            types = [t.target if isinstance(t, _core.Type) and t.kind == "ref" else t for t in types]
        return tuple(map(repr, types))

    def identity(self):
        """What beside its text makes the function what it is."""
        derived = [repr(self.native), repr(self.inline)]
        for other in (self.gradient, self.replay):
            derived.append("" if other is None else fingerprint(other.func))
        return " ".join(derived)

    def _make(self):
        """The core's function; sources are read when a kernel first needs them."""
        if self._made is None:
            source, node = locate(self.func, self._lines)
            self._made = _core.Function(self.func.__name__, source, node, self.func, self.overloads.core)
            if self.native is not None:
                self._made.set_native(*self.native)
            if self.gradient is not None:
                self._made.set_gradient(self.gradient._make())
            if self.replay is not None:
                self._made.set_replay(self.replay._make())
        return self._made

    @property
    def _weft_function_(self):
        self.overloads.make()
        return self._make()

    def _definitions(self):
        """Of every definition of this name, and of what derives from it: the Python function, the core's if it has been
        made, and what it is beside what its names mean."""
        found = []
        for function in self.overloads.functions:
            parts = (("", function), ("gradient", function.gradient), ("replay", function.replay))
            found += [part._definition(role) for role, part in parts if part is not None]
        return found

    def _definition(self, role):
        code = self.func.__code__
        text = text_hash(code, self._lines) or "\0".join(self._lines)
        place = (role, code.co_filename, code.co_firstlineno, code.co_name, self.func.__name__, self.native)
        return self.func, self._made, f"{place!r} {text}"

    # ---- what programs ask of a function ----

    @property
    def user_overloads(self):
        """The definitions of this name, by their parameters' types."""
        return {" ".join(f._signature_key()): f for f in self.overloads.functions}

    @property
    def input_types(self):
        return {n: p.annotation for n, p in inspect.signature(self.func).parameters.items()}

    @property
    def defaults(self):
        """The values of parameters that need not be given, by name; setting one changes what kernels take."""
        return Defaults(self.func)

    @defaults.setter
    def defaults(self, values):
        self.func.__defaults__ = tuple(values.values()) or None

    def get_overload(self, arg_types, kwarg_types):
        """The definition that takes arguments of these types; None where none does."""
        for function in reversed(self.overloads.functions):
            try:
                bound = inspect.signature(function.func).bind(*arg_types, **kwarg_types)
            except TypeError:
                continue
            wanted = function.input_types
            if all(_takes(wanted[n], dtypes.canonical(t)) for n, t in bound.arguments.items()):
                return function
        return None

    @property
    def is_generic(self):
        return any(dtypes.is_generic(t) for t in self.input_types.values())

    def is_simple(self):
        return len(self.overloads.functions) == 1

    def __call__(self, *args, **kwargs):
        """At Python scope the function runs as Python."""
        if self.native is not None:
            raise RuntimeError(f"'{self.key}' is a native function: it can be called from kernels only")
        return self._overload_for(args, kwargs).func(*args, **kwargs)

    def _overload_for(self, args, kwargs):
        """The definition that takes these values."""
        generic = None
        for function in reversed(self.overloads.functions):
            try:
                bound = inspect.signature(function.func).bind(*args, **kwargs)
            except TypeError:
                if self.is_simple():
                    raise
                continue
            fits = [_accepts(function.input_types[n], v) for n, v in bound.arguments.items()]
            if all(fits):
                if "generic" not in fits:
                    return function
                generic = generic or function
        if generic is not None:
            return generic
        raise RuntimeError(f"Error calling function '{self.key}', no overload found for arguments {args}")

    def __repr__(self):
        return f"<Function {self.key}>"


def _takes(annotation, type):
    """Whether a parameter takes arguments of a type."""
    kind = getattr(type, "_weft_type_", None)
    if not isinstance(kind, _core.Type):
        return getattr(annotation, "_weft_pattern_", None) == getattr(type, "_weft_pattern_", "")
    return _core.matches(dtypes.pattern_of(annotation), kind)


def _accepts(annotation, value):
    """Whether a parameter takes a value at Python scope: False, True or "generic"."""
    annotation = dtypes.canonical(annotation)
    if annotation is inspect.Parameter.empty:
        return True
    if annotation is typing.Any:  # it runs as Python, on whatever Python has
        return "generic"
    if getattr(annotation, "_weft_pattern_", None) == "Callable":
        return isinstance(value, Function) or hasattr(value, "_weft_builtin_")
    kind = getattr(annotation, "_weft_type_", None)
    found = _core.type_of_argument(value)
    if isinstance(kind, _core.Type):
        return kind == found
    return "generic" if dtypes.is_generic(annotation) and _core.matches(dtypes.pattern_of(annotation), found) else False


def _type_key(annotation):
    annotation = dtypes.canonical(annotation)
    type = getattr(annotation, "_weft_type_", None)
    if type is None:
        type = getattr(annotation, "_weft_pattern_", annotation)
    return type


def _scope_set(name, depth):
    """The overload set that a definition belongs to: that of the function of this name in the same scope."""
    existing = sys._getframe(depth).f_locals.get(name)
    return existing.overloads if isinstance(existing, Function) else OverloadSet(name)


@typing.overload
def func(f: collections.abc.Callable[_P, _R]) -> collections.abc.Callable[_P, _R]: ...


@typing.overload
def func(
    *, name: str | None = None, module: str | modules.Module | None = None, inline: bool | None = None
) -> collections.abc.Callable[[collections.abc.Callable[_P, _R]], collections.abc.Callable[_P, _R]]: ...


def func(f=None, *, name=None, module=None, inline=None):
    """Makes a Python function callable from kernels. Several definitions of one name are overloads.

    `inline` is a wish that the compiler may follow.
    """

    def decorate(function, depth=2):
        owner = module
        if owner == "unique":
            owner = modules.Module(f"{modules.full_name(function)}_{fingerprint(function)[:8]}_{inline}")
        elif isinstance(owner, str):
            owner = modules.get_module(owner)
        overloads = _scope_set(name or function.__name__, depth + 1)
        return Function(function, overloads, name=name, module=owner, inline=inline)

    # Called from one frame further down in both cases: its scope is looked up from there.
    return (lambda function: decorate(function)) if f is None else decorate(f)


def func_native(snippet, adj_snippet=None, replay_snippet=None):
    """A function whose body is C++ (and CUDA) source; the Python body is ignored.

    Without `adj_snippet` it has no gradient, and kernels that need one refuse it; with an empty one the gradient is
    zero. `replay_snippet` stands in for the snippet where the backward pass repeats it; without one the snippet itself
    runs again, and only if what it returns is needed.
    """
    for name, text in (("snippet", snippet), ("adj_snippet", adj_snippet), ("replay_snippet", replay_snippet)):
        if not isinstance(text, str) and (text is not None or name == "snippet"):
            raise TypeError(f"@wp.func_native takes C++ source: {name} is {text!r}")

    def decorate(function):
        native = (snippet, adj_snippet, replay_snippet)
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
    """What runs instead of a function where the adjoint repeats what led to it: takes and returns the same."""

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


static._weft_builtin_ = "static"  # whatever name a program gives it


def constant(value):
    """Marks a value that kernels use; any number, vector or matrix can be used without it too."""
    if not isinstance(value, (int, float, bool)) and not hasattr(value, "_weft_value_"):
        raise TypeError(f"Invalid constant type: {type(value)}")
    return value


__all__ = ["Function", "WarpSyntaxError", "constant", "func", "func_grad", "func_native", "func_replay", "static"]
