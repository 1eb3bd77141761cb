"""Lambdas and plain Python functions as functions of the kernel language: `wp.map(lambda x: x * x, a)`.

A lambda becomes a function of the same code with generic parameters; where several stand on a line, it is found by its
code.
"""

import ast
import linecache
import types as _types
import typing

from warp import _core
from warp.errors import WarpSyntaxError
from warp.functions import Function, OverloadSet
from warp.modules import digest


def _signature(code):
    """What tells lambdas of one line apart."""
    constants = [_signature(c) if isinstance(c, _types.CodeType) else (type(c), c) for c in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, _types.CodeType):
            yield from _codes(constant)


def _find(function):
    """The syntax tree of a lambda in its file, with the file's text."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise WarpSyntaxError(f"the source of a lambda is not available ({code.co_filename})")
    text = "".join(lines)
    tree = ast.parse(text, code.co_filename)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno <= code.co_firstlineno <= n.end_lineno]
    found = [n for n in found if [a.arg for a in n.args.args] == list(code.co_varnames[: code.co_argcount])]
    if len(found) > 1:
        found = [n for n in found if _compiles_to(n, code, text)] or found
    if not found:
        raise WarpSyntaxError(f"a lambda is not at line {code.co_firstlineno} of {code.co_filename} any more")
    return found[0], text


def _compiles_to(node, code, text):
    """Whether a lambda's text compiles to this code, as far as names and constants go."""
    made = compile(ast.Expression(node), "<lambda>", "eval")
    inner = next(c for c in _codes(made) if c.co_name == "<lambda>")
    names = set(inner.co_names) | set(inner.co_freevars)
    return names == set(code.co_names) | set(code.co_freevars) and inner.co_consts == code.co_consts


class _Lambda(Function):
    """A lambda, or a plain function, with generic parameters where nothing is annotated."""

    def __init__(self, function, node, text):
        self._node, self._text = node, text
        super().__init__(function, OverloadSet(function.__name__))

    def _make(self):
        if self._made is None:
            source = _core.SourceFile(self.func.__code__.co_filename, self._text)
            self._made = _core.Function(self.func.__name__, source, self._node, self.func, self.overloads.core)
        return self._made


def function_of(function):
    """The function of the kernel language that a function, a lambda or a builtin is."""
    if isinstance(function, Function) or not isinstance(function, _types.FunctionType):
        return function
    if function.__name__ != "<lambda>":
        return Function(function, OverloadSet(function.__name__))
    node, text = _find(function)
    name = f"func_{digest(ast.unparse(node), function.__code__.co_filename)[:16]}"
    body = ast.Return(value=node.body)
    made = ast.FunctionDef(name=name, args=node.args, body=[body], decorator_list=[], returns=None, type_params=[])
    ast.copy_location(body, node.body)
    ast.copy_location(made, node)
    twin = _types.FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    twin.__qualname__ = name
    twin.__module__ = function.__module__
    twin.__annotations__ = {a.arg: typing.Any for a in node.args.args}
    return _Lambda(twin, made, text)
