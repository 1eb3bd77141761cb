// One pass from Python's ast to the tree of the kernel language. What kernels cannot contain becomes an Unsupported
// node that carries the construct's name: it is refused only if lowering reaches it.
#include <Python.h>
#include <nanobind/nanobind.h>

#include <string>
#include <unordered_map>

#include "base/error.h"
#include "bind/objects.h"
#include "frontend/tree.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using frontend::Expr;
using frontend::ExprKind;
using frontend::ExprPtr;
using frontend::FunctionTree;
using frontend::Span;
using frontend::Stmt;
using frontend::StmtKind;
using frontend::StmtPtr;

// Classes of Python's ast module that become a node, by name.
enum class Class {
    Other,
    Name,
    Constant,
    Attribute,
    Subscript,
    Slice,
    Call,
    Starred,
    UnaryOp,
    BinOp,
    BoolOp,
    Compare,
    IfExp,
    Tuple,
    Assign,
    AugAssign,
    Expr,
    If,
    For,
    While,
    Break,
    Continue,
    Return,
    Assert,
    Pass,
};

struct ClassInfo {
    Class kind = Class::Other;
    std::string construct;  // "a list comprehension"
};

const char* const kSupported[] = {"",         "Name",      "Constant", "Attribute", "Subscript", "Slice", "Call",
                                  "Starred",  "UnaryOp",   "BinOp",    "BoolOp",    "Compare",   "IfExp", "Tuple",
                                  "Assign",   "AugAssign", "Expr",     "If",        "For",       "While", "Break",
                                  "Continue", "Return",    "Assert",   "Pass"};

const std::unordered_map<std::string, std::string>& constructs() {
    static const std::unordered_map<std::string, std::string> names = {
        {"List", "a list"},
        {"Dict", "a dict"},
        {"Set", "a set"},
        {"ListComp", "a list comprehension"},
        {"SetComp", "a set comprehension"},
        {"DictComp", "a dict comprehension"},
        {"GeneratorExp", "a generator expression"},
        {"Lambda", "a lambda"},
        {"NamedExpr", "an assignment expression (:=)"},
        {"JoinedStr", "an f-string"},
        {"Await", "await"},
        {"Yield", "yield"},
        {"YieldFrom", "yield"},
        {"FunctionDef", "a nested function"},
        {"AsyncFunctionDef", "a nested function"},
        {"ClassDef", "a class"},
        {"Delete", "del"},
        {"AnnAssign", "an annotated assignment (write the type as a call: x = float(1.0))"},
        {"AsyncFor", "async for"},
        {"With", "a with statement"},
        {"AsyncWith", "a with statement"},
        {"Match", "a match statement"},
        {"Raise", "raise"},
        {"Try", "a try statement"},
        {"TryStar", "a try statement"},
        {"Import", "an import"},
        {"ImportFrom", "an import"},
        {"Global", "a global statement"},
        {"Nonlocal", "a nonlocal statement"},
    };
    return names;
}

// Operators by the name of their class.
const std::unordered_map<std::string, std::string>& operators() {
    static const std::unordered_map<std::string, std::string> names = {
        {"Add", "+"},    {"Sub", "-"},       {"Mult", "*"},    {"Div", "/"},    {"FloorDiv", "//"},
        {"Mod", "%"},    {"Pow", "**"},      {"MatMult", "@"}, {"BitAnd", "&"}, {"BitOr", "|"},
        {"BitXor", "^"}, {"LShift", "<<"},   {"RShift", ">>"}, {"UAdd", "+"},   {"USub", "-"},
        {"Invert", "~"}, {"Not", "not"},     {"Eq", "=="},     {"NotEq", "!="}, {"Lt", "<"},
        {"LtE", "<="},   {"Gt", ">"},        {"GtE", ">="},    {"Is", "is"},    {"IsNot", "is_not"},
        {"In", "in"},    {"NotIn", "not_in"}};
    return names;
}

std::string class_name(nb::handle object) { return Py_TYPE(object.ptr())->tp_name; }

// "ast.ListComp" and "_ast.ListComp" as "ListComp".
std::string short_name(nb::handle object) {
    const std::string name = class_name(object);
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string text(nb::handle string) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    if (!data) nb::raise_python_error();
    return {data, static_cast<size_t>(size)};
}

class Reader {
  public:
    explicit Reader(std::shared_ptr<const SourceFile> file) : file_(std::move(file)) {}

    std::unique_ptr<FunctionTree> function(nb::handle definition) {
        auto tree = std::make_unique<FunctionTree>();
        tree->name = text(definition.attr("name"));
        tree->span = span(definition);
        // Errors about the function as a whole point at its first line.
        tree->span.end_line = tree->span.line;
        tree->span.end_column = tree->span.column + 4 + static_cast<int>(tree->name.size());
        if (const nb::object returns = definition.attr("returns"); !returns.is_none())
            tree->returns_span = span(returns);
        parameters(definition.attr("args"), *tree);
        tree->body = block(definition.attr("body"));
        if (!tree->body.empty() && tree->body[0]->kind == StmtKind::Expression &&
            tree->body[0]->child(0).kind == ExprKind::String) {
            tree->doc = tree->body[0]->child(0).text;
        }
        return tree;
    }

  private:
    static int number(nb::handle node, const char* name) {
        const nb::object value = nb::getattr(node, name);
        return value.is_none() ? 0 : static_cast<int>(PyLong_AsLong(value.ptr()));
    }

    static Span span(nb::handle node) {
        return {number(node, "lineno"), number(node, "col_offset"), number(node, "end_lineno"),
                number(node, "end_col_offset")};
    }

    const ClassInfo& info(nb::handle node) {
        auto& entry = classes_[Py_TYPE(node.ptr())];
        if (entry.construct.empty()) {
            const std::string name = short_name(node);
            for (int i = 1; i <= static_cast<int>(Class::Pass); ++i) {
                if (name == kSupported[i]) entry.kind = static_cast<Class>(i);
            }
            const auto it = constructs().find(name);
            entry.construct = it == constructs().end() ? name : it->second;
        }
        return entry;
    }

    const std::string& operator_of(nb::handle op) {
        auto& entry = operators_[Py_TYPE(op.ptr())];
        if (entry.empty()) entry = operators().at(short_name(op));
        return entry;
    }

    void parameters(nb::handle arguments, FunctionTree& tree) {
        std::vector<nb::object> all;
        for (const char* list : {"posonlyargs", "args", "kwonlyargs"}) {
            for (nb::handle one : arguments.attr(list)) all.push_back(nb::borrow(one));
        }
        for (const char* star : {"vararg", "kwarg"}) {
            const nb::object one = arguments.attr(star);
            if (one.is_none()) continue;
            const Span at = span(one);
            throw UserError(ErrorKind::Syntax,
                            (std::string_view(star) == "kwarg" ? "`**" : "`*") + text(one.attr("arg")) +
                                "`: functions of kernels have a fixed number of parameters",
                            {file_, at.line, at.column, at.end_line, at.end_column});
        }
        for (const auto& one : all) {
            frontend::Parameter parameter;
            parameter.name = text(one.attr("arg"));
            parameter.span = span(one);
            tree.parameters.push_back(std::move(parameter));
        }
        const nb::object defaults = arguments.attr("defaults");
        const nb::object named = arguments.attr("kw_defaults");
        const size_t positional = all.size() - nb::len(named);
        size_t i = positional - nb::len(defaults);
        for (nb::handle one : defaults) tree.parameters[i++].default_value = expr(one);
        for (nb::handle one : named) {
            if (!one.is_none()) tree.parameters[i].default_value = expr(one);
            ++i;
        }
    }

    std::vector<StmtPtr> block(const nb::object& list) {
        std::vector<StmtPtr> statements;
        for (nb::handle one : list) statements.push_back(stmt(one));
        return statements;
    }

    static ExprPtr make(ExprKind kind, const Span& at) {
        auto e = std::make_unique<Expr>();
        e->kind = kind;
        e->span = at;
        return e;
    }

    static ExprPtr unsupported(const Span& at, const std::string& construct) {
        auto e = make(ExprKind::Unsupported, at);
        e->text = construct;
        return e;
    }

    void add(Expr& parent, nb::handle child) { parent.children.push_back(expr(child)); }

    ExprPtr constant(nb::handle node) {
        const Span at = span(node);
        const nb::object value = node.attr("value");
        PyObject* p = value.ptr();
        if (value.is_none()) return make(ExprKind::None, at);
        if (PyBool_Check(p)) {
            auto e = make(ExprKind::Bool, at);
            e->number = p == Py_True ? 1 : 0;
            return e;
        }
        if (PyLong_Check(p)) {
            auto e = make(ExprKind::Int, at);
            // An int beyond 64 bits is too large whatever its digits are (Python itself refuses to print very long
            // ones).
            int overflow = 0;
            const long long small = PyLong_AsLongLongAndOverflow(p, &overflow);
            if (overflow == 0) {
                e->text = std::to_string(small);
            } else {
                const unsigned long long big = PyLong_AsUnsignedLongLong(p);
                const bool too_large = PyErr_Occurred() != nullptr;
                PyErr_Clear();
                e->text = too_large ? "99999999999999999999" : std::to_string(big);
            }
            return e;
        }
        if (PyFloat_Check(p)) {
            auto e = make(ExprKind::Float, at);
            e->number = PyFloat_AsDouble(p);
            return e;
        }
        if (PyUnicode_Check(p)) {
            auto e = make(ExprKind::String, at);
            e->text = text(value);
            return e;
        }
        if (p == Py_Ellipsis) return unsupported(at, "...");
        return unsupported(at, "a constant of type " + class_name(value));
    }

    ExprPtr expr(nb::handle node) {
        const ClassInfo& what = info(node);
        const Span at = span(node);
        switch (what.kind) {
            case Class::Constant:
                return constant(node);
            case Class::Name: {
                auto e = make(ExprKind::Name, at);
                e->text = text(node.attr("id"));
                return e;
            }
            case Class::Attribute: {
                auto e = make(ExprKind::Attribute, at);
                e->text = text(node.attr("attr"));
                add(*e, node.attr("value"));
                return e;
            }
            case Class::Subscript: {
                auto e = make(ExprKind::Subscript, at);
                add(*e, node.attr("value"));
                const nb::object index = node.attr("slice");
                if (info(index).kind == Class::Tuple) {
                    for (nb::handle one : index.attr("elts")) add(*e, one);
                } else {
                    add(*e, index);
                }
                return e;
            }
            case Class::Slice: {
                auto e = make(ExprKind::Slice, at);
                for (const char* part : {"lower", "upper", "step"}) {
                    const nb::object bound = node.attr(part);
                    e->children.push_back(bound.is_none() ? make(ExprKind::Missing, at) : expr(bound));
                }
                return e;
            }
            case Class::Call: {
                auto e = make(ExprKind::Call, at);
                add(*e, node.attr("func"));
                for (nb::handle one : node.attr("args")) add(*e, one);
                for (nb::handle one : node.attr("keywords")) {
                    const nb::object name = one.attr("arg");
                    if (name.is_none()) return unsupported(span(one), "`**` arguments");
                    auto keyword = make(ExprKind::Keyword, span(one));
                    keyword->text = text(name);
                    add(*keyword, one.attr("value"));
                    e->children.push_back(std::move(keyword));
                }
                return e;
            }
            case Class::Starred: {
                auto e = make(ExprKind::Starred, at);
                add(*e, node.attr("value"));
                return e;
            }
            case Class::UnaryOp: {
                auto e = make(ExprKind::Unary, at);
                e->text = operator_of(node.attr("op"));
                add(*e, node.attr("operand"));
                return e;
            }
            case Class::BinOp: {
                auto e = make(ExprKind::Binary, at);
                e->text = operator_of(node.attr("op"));
                add(*e, node.attr("left"));
                add(*e, node.attr("right"));
                return e;
            }
            case Class::BoolOp: {
                auto e = make(short_name(node.attr("op")) == "And" ? ExprKind::And : ExprKind::Or, at);
                for (nb::handle one : node.attr("values")) add(*e, one);
                return e;
            }
            case Class::Compare: {
                auto e = make(ExprKind::Compare, at);
                for (nb::handle op : node.attr("ops")) e->text += (e->text.empty() ? "" : " ") + operator_of(op);
                add(*e, node.attr("left"));
                for (nb::handle one : node.attr("comparators")) add(*e, one);
                return e;
            }
            case Class::IfExp: {
                auto e = make(ExprKind::Conditional, at);
                for (const char* part : {"test", "body", "orelse"}) add(*e, node.attr(part));
                return e;
            }
            case Class::Tuple: {
                auto e = make(ExprKind::Tuple, at);
                for (nb::handle one : node.attr("elts")) add(*e, one);
                return e;
            }
            default:
                return unsupported(at, what.construct);
        }
    }

    StmtPtr stmt(nb::handle node) {
        const ClassInfo& what = info(node);
        auto s = std::make_unique<Stmt>();
        s->span = span(node);
        const auto children = [&](std::initializer_list<const char*> names) {
            for (const char* name : names) s->children.push_back(expr(node.attr(name)));
        };
        const auto blocks = [&] {
            s->body = block(node.attr("body"));
            s->otherwise = block(node.attr("orelse"));
        };
        switch (what.kind) {
            case Class::Assign: {
                const nb::object targets = node.attr("targets");
                s->kind = StmtKind::Assign;
                s->children.push_back(expr(targets[0]));
                children({"value"});
                for (size_t i = 1; i < nb::len(targets); ++i) s->children.push_back(expr(targets[i]));
                return s;
            }
            case Class::AugAssign:
                s->kind = StmtKind::Augment;
                s->text = operator_of(node.attr("op"));
                children({"target", "value"});
                return s;
            case Class::Expr:
                s->kind = StmtKind::Expression;
                children({"value"});
                if (s->child(0).kind == ExprKind::Unsupported && s->child(0).text == "...") {
                    s->kind = StmtKind::Pass;
                    s->children.clear();
                }
                return s;
            case Class::If:
                s->kind = StmtKind::If;
                children({"test"});
                blocks();
                return s;
            case Class::For:
                s->kind = StmtKind::For;
                children({"target", "iter"});
                blocks();
                return s;
            case Class::While:
                s->kind = StmtKind::While;
                children({"test"});
                blocks();
                return s;
            case Class::Break:
                s->kind = StmtKind::Break;
                return s;
            case Class::Continue:
                s->kind = StmtKind::Continue;
                return s;
            case Class::Return:
                s->kind = StmtKind::Return;
                if (!nb::object(node.attr("value")).is_none()) children({"value"});
                return s;
            case Class::Assert: {
                s->kind = StmtKind::Assert;
                children({"test"});
                const nb::object message = node.attr("msg");
                const bool constant = !message.is_none() && info(message).kind == Class::Constant;
                s->text = constant ? text(nb::str(message.attr("value"))) : "assertion failed";
                return s;
            }
            case Class::Pass:
                s->kind = StmtKind::Pass;
                return s;
            default:
                s->kind = StmtKind::Unsupported;
                s->text = what.construct;
                return s;
        }
    }

    std::shared_ptr<const SourceFile> file_;
    std::unordered_map<PyTypeObject*, ClassInfo> classes_;
    std::unordered_map<PyTypeObject*, std::string> operators_;
};

}  // namespace

std::unique_ptr<FunctionTree> read_tree(nb::handle definition, std::shared_ptr<const SourceFile> file) {
    return Reader(std::move(file)).function(definition);
}

}  // namespace weft::bind
