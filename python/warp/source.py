"""Where a kernel's source is: each file is parsed once by Python's `ast`, and functions are found by their line."""

import ast
import linecache
import weakref

from warp import _core
from warp.errors import WarpSyntaxError


def _functions(statements):
    """All definitions of functions in a list of statements, however deep; expressions, which are most of a tree, have
    none."""
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, None)
            if inner:
                yield from _functions(inner)


class _File:
    """A parsed source file."""

    def __init__(self, path, lines):
        self.lines = lines
        text = "".join(lines)
        self.source = _core.SourceFile(path, text)
        self.functions = {}
        for node in _functions(ast.parse(text, path).body):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            self.functions[first, node.name] = node


# by path, for as long as there is a function of it
_files = weakref.WeakValueDictionary()


class _OfCode:
    """Something kept for each code object, by identity: code objects of other files may be equal, and other text."""

    def __init__(self):
        self._entries = {}

    def get(self, code):
        entry = self._entries.get(id(code))
        return entry[1] if entry is not None else None

    def __setitem__(self, code, value):
        key = id(code)
        self._entries[key] = (weakref.ref(code, lambda _: self._entries.pop(key, None)), value)


# of functions: the file may have changed later
_texts = _OfCode()
_lines = _OfCode()
_parsed = _OfCode()


def read_lines(function):
    """The lines of the file that a function was defined in; WarpSyntaxError where there is no such file."""
    code = function.__code__
    if function.__name__ == "<lambda>":
        raise WarpSyntaxError(f"a lambda cannot be compiled: use def ({code.co_filename}, line {code.co_firstlineno})")
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise WarpSyntaxError(
            f"the source of '{function.__qualname__}' is not available ({code.co_filename}): kernels and functions "
            "must be defined in a file or a notebook's cell"
        )
    _lines[code] = lines
    return lines


# path: its lines, and their hash where they are those of a file
_hashes = {}


def text_hash(code, lines):
    """A hash of the file that a function was defined in, as it was then; None where it was no file (a notebook's
    cell)."""
    path = code.co_filename
    known = _hashes.get(path)
    if known is None or known[0] is not lines:
        entry = linecache.cache.get(path)
        made = None
        if entry is not None and len(entry) == 4 and entry[1] is not None:
            made = _core.sha256("".join(lines).encode())
        known = _hashes[path] = (lines, made)
    return known[1]


def definition_text(function):
    """The text of a function's definition, from its first decorator on, without its indentation."""
    known = _texts.get(function.__code__)
    if known is None:
        try:
            _, node = locate(function, _lines.get(function.__code__) or read_lines(function))
        except WarpSyntaxError:
            return repr(function.__code__.co_code)
        known = _texts[function.__code__] = ast.unparse(node)
    return known


def uses_static(function):
    """Whether the function may contain wp.static(...), which is evaluated when the function is defined."""
    return "static" in function.__code__.co_names


def locate(function, lines):
    """The source file and the syntax tree of a function, from the lines that read_lines() gave."""
    code = function.__code__
    file = _files.get(code.co_filename)
    # A file that changed, or a module that was loaded anew, has other lines.
    if file is None or (file.lines is not lines and file.lines != lines):
        file = _files[code.co_filename] = _File(code.co_filename, lines)
    _parsed[code] = file
    node = file.functions.get((code.co_firstlineno, code.co_name))
    if node is None:
        raise WarpSyntaxError(
            f"'{function.__qualname__}' is not at line {code.co_firstlineno} of {code.co_filename} any more: the file "
            "has changed since it was loaded"
        )
    return file.source, node
