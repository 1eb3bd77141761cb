"""Makes the serialised form (src/frontend/tree.h) of functions of the kernel language.

usage: embed_prelude.py OUT.cpp [FILE.py...]     the prelude, as a C++ source: weft::builtins::prelude()
       embed_prelude.py --trees FILE.py          every function of a file, one serialised tree a line (for tests)

A prelude file sets GROUP. Each of its functions is a builtin (its docstring is the documentation), but for names that
start with `_` (helpers) and functions below `@func_grad(f)`: those are the derivative of the definition of `f` right
above. `@updates("p", "q")`: the last results are the new values of the arguments for these parameters.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFINITIONS = (ROOT / "src/frontend/tree.def").read_text()
EXPR = dict(re.findall(r'^EXPR\((\w+), "(\w+)"\)', DEFINITIONS, re.M))
STMT = dict(re.findall(r'^STMT\((\w+), "(\w+)"\)', DEFINITIONS, re.M))

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.UAdd: "+", ast.USub: "-", ast.Invert: "~", ast.Not: "not",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is_not", ast.In: "in", ast.NotIn: "not_in",
}  # fmt: skip


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def node(word: str, at: ast.AST, *parts: str) -> str:
    span = f"{at.lineno}:{at.col_offset}:{at.end_lineno}:{at.end_col_offset}"
    return "(" + " ".join((word, span, *(p for p in parts if p))) + ")"


def expr(e: ast.expr, parent: ast.AST | None = None) -> str:
    """One expression."""
    match e:
        case None:
            return node(EXPR["Missing"], parent)
        case ast.Name():
            return node(EXPR["Name"], e, quote(e.id))
        case ast.Constant(value=bool()):
            return node(EXPR["Bool"], e, f"#{int(e.value)}")
        case ast.Constant(value=int()):
            return node(EXPR["Int"], e, quote(str(e.value)))
        case ast.Constant(value=float()):
            return node(EXPR["Float"], e, f"#{e.value!r}")
        case ast.Constant(value=str()):
            return node(EXPR["String"], e, quote(e.value))
        case ast.Constant(value=None):
            return node(EXPR["None"], e)
        case ast.Attribute():
            return node(EXPR["Attribute"], e, quote(e.attr), expr(e.value))
        case ast.Subscript():
            parts = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
            return node(EXPR["Subscript"], e, expr(e.value), *map(expr, parts))
        case ast.Slice():
            return node(EXPR["Slice"], e, *(expr(p, e) for p in (e.lower, e.upper, e.step)))
        case ast.Call():
            named = [node(EXPR["Keyword"], k, quote(k.arg), expr(k.value)) for k in e.keywords if k.arg]
            return node(EXPR["Call"], e, expr(e.func), *map(expr, e.args), *named)
        case ast.Starred():
            return node(EXPR["Starred"], e, expr(e.value))
        case ast.UnaryOp():
            return node(EXPR["Unary"], e, quote(OPERATORS[type(e.op)]), expr(e.operand))
        case ast.BinOp():
            return node(EXPR["Binary"], e, quote(OPERATORS[type(e.op)]), expr(e.left), expr(e.right))
        case ast.BoolOp():
            return node(EXPR["And" if isinstance(e.op, ast.And) else "Or"], e, *map(expr, e.values))
        case ast.Compare():
            operators = " ".join(OPERATORS[type(op)] for op in e.ops)
            return node(EXPR["Compare"], e, quote(operators), *map(expr, [e.left, *e.comparators]))
        case ast.IfExp():
            return node(EXPR["Conditional"], e, expr(e.test), expr(e.body), expr(e.orelse))
        case ast.Tuple():
            return node(EXPR["Tuple"], e, *map(expr, e.elts))
    return node(EXPR["Unsupported"], e, quote(type(e).__name__))


def block(statements: list[ast.stmt]) -> str:
    return "{" + "".join(map(stmt, statements)) + "}"


def stmt(s: ast.stmt) -> str:
    """One statement."""
    match s:
        case ast.Assign(targets=[target]):
            return node(STMT["Assign"], s, expr(target), expr(s.value))
        case ast.AugAssign():
            return node(STMT["Augment"], s, quote(OPERATORS[type(s.op)]), expr(s.target), expr(s.value))
        case ast.Expr():
            return node(STMT["Expression"], s, expr(s.value))
        case ast.If():
            return node(STMT["If"], s, expr(s.test), block(s.body), s.orelse and block(s.orelse))
        case ast.For():
            return node(STMT["For"], s, expr(s.target), expr(s.iter), block(s.body), s.orelse and block(s.orelse))
        case ast.While():
            return node(STMT["While"], s, expr(s.test), block(s.body), s.orelse and block(s.orelse))
        case ast.Break():
            return node(STMT["Break"], s)
        case ast.Continue():
            return node(STMT["Continue"], s)
        case ast.Return():
            return node(STMT["Return"], s, s.value and expr(s.value))
        case ast.Assert():
            return node(STMT["Assert"], s, quote(ast.unparse(s.test)), expr(s.test))
        case ast.Pass():
            return node(STMT["Pass"], s)
    return node(STMT["Unsupported"], s, quote(type(s).__name__))


def function(f: ast.FunctionDef) -> str:
    """A function definition, docstring apart."""
    doc = ast.get_docstring(f) or ""
    body = f.body[1:] if doc else f.body
    defaults = [None] * (len(f.args.args) - len(f.args.defaults)) + f.args.defaults
    parameters = [
        node("parameter", p, quote(p.arg), quote(ast.unparse(p.annotation) if p.annotation else ""), d and expr(d))
        for p, d in zip(f.args.args, defaults, strict=True)
    ]
    returns = ast.unparse(f.returns) if f.returns else ""
    return node("function", f, quote(f.name), quote(returns), quote(doc), *parameters, block(body))


def signature(f: ast.FunctionDef) -> str:
    """The annotations of a prelude function, as a row of the registry writes them."""
    return f"({ast.unparse(f.args)})" + (f" -> {ast.unparse(f.returns)}" if f.returns else "")


def literal(text: str) -> str:
    pieces = [text[i : i + 2000] for i in range(0, len(text), 2000)] or [""]
    return "\n            ".join('R"~(' + piece + ')~"' for piece in pieces)


def rows(path: Path) -> list[str]:
    """The initialisers of a prelude file's builtins."""
    group = ""
    entries: list[list[str]] = []  # name, signature, documentation, updated parameters, tree, gradient
    for item in ast.parse(path.read_text()).body:
        if isinstance(item, ast.Assign) and item.targets[0].id == "GROUP":
            group = item.value.value
        elif isinstance(item, ast.FunctionDef):
            decorators = {d.func.id: d.args for d in item.decorator_list}
            if "func_grad" in decorators:
                base = decorators["func_grad"][0].id
                if entries[-1][0] != base:
                    raise SystemExit(f"{path}:{item.lineno}: the derivative of {base} must stand right beneath it")
                entries[-1][-1] = function(item)
            else:
                updated = " ".join(name.value for name in decorators.get("updates", []))
                entries.append([item.name, signature(item), ast.get_docstring(item) or "", updated, function(item), ""])
    return [
        f'        {{"{name}", "{group}", "prelude/{path.name}", ' + ",\n            ".join(map(literal, texts)) + "},"
        for name, *texts in entries
    ]


def main(arguments: list[str]) -> None:
    if arguments[0] == "--trees":
        text = sys.stdin.read() if arguments[1] == "-" else Path(arguments[1]).read_text()
        for item in ast.parse(text).body:
            if isinstance(item, ast.FunctionDef):
                print(function(item))
        return
    entries = [row for path in map(Path, arguments[1:]) for row in rows(path)]
    out = Path(arguments[0])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        "// Written by tools/embed_prelude.py.\n"
        '#include "builtins/prelude.h"\n\n#pragma GCC diagnostic ignored "-Woverlength-strings"\n\n'
        "namespace weft::builtins {\n\nstd::span<const PreludeFunction> prelude() {\n"
        "    static const std::vector<PreludeFunction> functions = {\n"
        + "\n".join(entries)
        + "\n    };\n    return functions;\n}\n\n"
        "}  // namespace weft::builtins\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
