"""What identifies a function before it is compiled: its text, and everything it captures, functions it calls included.

Two definitions of equal fingerprint are one kernel where a module is unique. Compiled code has an identity of its own:
the text of its intermediate form.
"""

import ast
import types as _types

from warp import _core
from warp.source import definition_text


def _names(code):
    found = set(code.co_names) | set(code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, _types.CodeType):
            found |= _names(constant)
    return found


def captured(function):
    """The values that the free names of a function have now, by name; those without one are left out."""
    code = function.__code__
    closure = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        try:
            closure[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    values = {}
    for name in sorted(_names(code)):
        if name in closure:
            values[name] = closure[name]
        elif name in function.__globals__:
            values[name] = function.__globals__[name]
    return values


def _attributes(text):
    """The dotted names in a function's text, as (root, path)."""
    found = set()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return found
    for node in tree.body:
        getattr(node, "decorator_list", []).clear()  # what makes it a kernel is no part of its code
    for node in ast.walk(tree):
        path = []
        while isinstance(node, ast.Attribute):
            path.append(node.attr)
            node = node.value
        if path and isinstance(node, ast.Name):
            found.add((node.id, tuple(reversed(path))))
    return found


def _describe(value, seen):
    """A text for a captured value; equal texts mean equal code."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{type(value).__name__} {value!r}"
    if hasattr(value, "_weft_function_name_") and not isinstance(value, type):
        if isinstance(value.overloads, list):  # declared only
            seen[id(value)] = value
            return f"external {value.key} {value.identity()}"
        parts = []
        for function in value.overloads.functions:
            if id(function) in seen:
                continue
            seen[id(function)] = function
            parts.append(f"{function.key} {function.identity()} {_text(function.func, seen)}")
        return f"function {value.key} {sorted(parts)}"
    if isinstance(value, _types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, _core.Value) and not isinstance(value, type) and hasattr(value, "_members"):
        return f"struct {value._weft_type_} {[(n, _describe(v, seen)) for n, v in value._members.items()]}"
    kind = getattr(value, "_weft_type_", None)
    if isinstance(kind, _core.Type):
        if isinstance(value, type):
            return f"type {value.__module__}.{value.__qualname__} {kind}"
        numbers = getattr(value, "_weft_value_", None)
        return f"value {kind} {numbers[1] if numbers else ''}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} {[_describe(v, seen) for v in value]}"
    name = getattr(value, "_weft_builtin_", None)
    if isinstance(name, str):
        return f"builtin {name}"
    if isinstance(value, type) or callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', id(value))} {id(value)}"
    return f"object {id(value)}"


def _attribute(value, name):
    """An attribute, but for those of objects that are computed when they are asked for."""
    if not isinstance(value, (_types.ModuleType, type)) and hasattr(type(value), name):
        found = getattr(type(value), name)
        return None if hasattr(found, "__get__") and not isinstance(found, _types.FunctionType) else found
    return getattr(value, name, None)


def _text(function, seen):
    text = definition_text(function)
    values = captured(function)
    parts = [text]
    for annotation in getattr(function, "__annotations__", {}).items():
        parts.append(_annotation(annotation))
    for value in function.__defaults__ or ():
        parts.append(f"default: {_describe(value, seen)}")
    for name, value in values.items():
        parts.append(f"{name}: {_describe(value, seen)}")
    for root, path in sorted(_attributes(text)):
        value = values.get(root)
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            continue
        for step in path:
            value = _attribute(value, step)
            if value is None:
                break
        if value is not None and not isinstance(value, _types.ModuleType):
            parts.append(f"{root}.{'.'.join(path)}: {_describe(value, seen)}")
    return "\n".join(parts)


def _annotation(pair):
    name, value = pair
    kind = getattr(value, "_weft_type_", None)
    return f"{name}: {kind if kind is not None else getattr(value, '_weft_pattern_', value)!s}"


def fingerprint(function, seen=None):
    """The hash; `seen` collects the functions that are called, directly or not."""
    return _core.sha256(_text(function, {} if seen is None else seen).encode())
