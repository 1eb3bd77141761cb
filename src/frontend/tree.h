// The syntax tree of the kernel language: what `bind/ast.cpp` makes of Python's ast, and what the prelude is stored as.
// Plain located nodes without any meaning; the kinds and what each holds are listed in tree.def.
// Not here: names and types (lowering), the objects of Python that names stand for (environment.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace weft::frontend {

enum class ExprKind : uint8_t {
#define EXPR(Kind, word) Kind,
#include "frontend/tree.def"
};

enum class StmtKind : uint8_t {
#define STMT(Kind, word) Kind,
#include "frontend/tree.def"
};

std::string_view word(ExprKind kind);
std::string_view word(StmtKind kind);

// Where a node lies in its source file; lines and columns as in Location (columns are bytes of the UTF-8 line).
struct Span {
    int line = 0;
    int column = 0;
    int end_line = 0;
    int end_column = 0;
};

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using StmtPtr = std::unique_ptr<Stmt>;

struct Expr {
    ExprKind kind = ExprKind::None;
    Span span;
    std::string text;
    double number = 0;
    std::vector<ExprPtr> children;

    const Expr& child(size_t i) const { return *children.at(i); }
};

struct Stmt {
    StmtKind kind = StmtKind::Pass;
    Span span;
    std::string text;
    std::vector<ExprPtr> children;
    std::vector<StmtPtr> body;
    std::vector<StmtPtr> otherwise;

    const Expr& child(size_t i) const { return *children.at(i); }
};

// A parameter without its annotation and default: those are Python objects by then, which the Environment gives. The
// prelude has no Python, so it keeps them as text.
struct Parameter {
    std::string name;
    Span span;
    std::string annotation;  // source text, "" when there is none
    ExprPtr default_value;   // null when there is none
};

struct FunctionTree {
    std::string name;
    Span span;
    std::vector<Parameter> parameters;
    std::string returns;  // source text of the annotation, of the prelude's functions only
    Span returns_span;    // where it stands in those of Python
    std::string doc;
    std::vector<StmtPtr> body;
};

// The serialised form: S-expressions, `(word line:column:end_line:end_column text-or-number child...)`.
std::string serialize(const FunctionTree& tree);
// Throws InternalError on malformed text: only our own tools write it.
std::unique_ptr<FunctionTree> deserialize(std::string_view text);

}  // namespace weft::frontend
