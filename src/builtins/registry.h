// The registry of builtins: one row an overload, written in operators.cpp, math.cpp, linalg.cpp, memory.cpp,
// kernel.cpp, native.cpp and prelude/*.py; frozen when first asked for. Rows say how a builtin is typed, lowered,
// derived, sampled by tests and documented. How calls are resolved is the front end's business.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "builtins/pattern.h"
#include "ir/builder.h"
#include "ir/ir.h"

namespace weft::builtins {

struct Parameter {
    std::string name;
    TypePattern type;
    std::string default_text;  // a literal in the kernel language; "" when there is none
};

struct Signature {
    std::vector<Parameter> parameters;
    TypePattern result;  // an Exact of Void: no result; a Tuple: several
    std::string str() const;
};

// "(a: Vector[Scalar, n], b: Scalar = 1) -> Scalar"; no arrow: no result.
Signature parse_signature(std::string_view text);

// A signature that is read from its text when it is first asked for: a program uses few of the rows, and a start from
// the cache none.
class LazySignature {
  public:
    explicit LazySignature(std::string_view text) : text_(text) {}
    LazySignature(LazySignature&& other) noexcept;
    LazySignature& operator=(LazySignature&&) = delete;
    ~LazySignature();
    const Signature& operator()() const;

  private:
    std::string text_;
    mutable std::atomic<const Signature*> read_ = nullptr;
};

// ---- how a builtin is lowered: a closed list, so that nothing else switches on builtins ----

struct LowerOp {  // one IR op, elementwise
    ir::Opcode code;
};
struct LowerMath {  // one math op
    ir::MathFn fn;
};
struct ExpandContext {
    ir::Builder& builder;
    std::span<ir::Value* const> arguments;
    ir::Type result;
};
struct LowerExpand {  // a few IR ops; null when there is no result
    std::function<ir::Value*(const ExpandContext&)> expand;
};
struct LowerNative {  // a function of the device library: symbol from the argument types
    std::function<std::string(std::span<const ir::Type>)> symbol;
};
struct LowerPrelude {  // a function of the prelude, as a serialised tree
    std::string_view tree;
    std::string_view gradient;  // serialised tree of its @func_grad, "" when autodiff makes it
    std::string_view file;
    // Parameters whose arguments are variables that take the last results as their new values (a random state).
    std::vector<std::string> updates = {};
};
struct LowerSpecial {};  // the front end's own (tid, printf, static, ...)
using Lowering = std::variant<LowerSpecial, LowerOp, LowerMath, LowerExpand, LowerNative, LowerPrelude>;

// Where tests sample an argument. Points closer than 1e-3 to an excluded one are skipped (kinks, poles).
struct Domain {
    double low = -2;
    double high = 2;
    std::vector<double> excluded = {};
};

struct Row {
    std::string name;
    std::string group;
    LazySignature signature;
    Lowering lowering;
    std::vector<Domain> domains;  // one an argument, or one for all, or none: not sampled
    std::string doc;
    bool differentiable = true;
};

struct Builtin {
    std::string name;
    std::string group;
    std::string doc;
    std::vector<const Row*> rows;  // in order of declaration: the first that fits is taken
};

// The registry, built on first use. Helpers of the prelude, whose names start with `_`, are found but not listed.
const std::vector<Builtin>& all();
const Builtin* find(std::string_view name);
// Names close to a misspelt one, best first; at most three.
std::vector<std::string> similar(std::string_view name, std::span<const std::string> candidates);

// The derivative of a math op: the adjoint of each operand, from operands, result and the result's adjoint g.
using MathDerivative = std::function<std::vector<ir::Value*>(ir::Builder&, std::span<ir::Value* const> operands,
                                                             ir::Value* result, ir::Value* g)>;
const MathDerivative& derivative(ir::MathFn fn);

}  // namespace weft::builtins
