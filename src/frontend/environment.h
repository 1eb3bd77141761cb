// What the front end asks of the world outside a function while it lowers it: what a free name stands for, an attribute
// of a module or class, a parameter's annotation and default, the value of `wp.static(...)`.
// `bind/environment.cpp` answers from Python objects (taking the GIL inside each call); C++ tests and the prelude
// answer from tables. Nothing here is a Python object: an object that only takes attributes travels as an opaque
// Object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "builtins/pattern.h"
#include "frontend/tree.h"
#include "ir/type.h"

namespace weft::frontend {

class Environment;
struct FunctionSource;

// All `@wp.func` definitions of one name, in order of definition; shared by every object that stands for one of them,
// so that an overload added later is seen by all.
struct OverloadSet {
    std::string name;
    std::vector<std::shared_ptr<const FunctionSource>> functions;
};

// ---- what a name may stand for ----

struct Unknown {};    // no such name
struct NoneValue {};  // Python's None
// A Python int that is captured or computed by wp.static: int32, unless a typed constructor asks for its full value.
struct IntNumber {
    bool negative = false;
    uint64_t magnitude = 0;
    bool too_large = false;  // beyond 64 bits
};
struct FloatNumber {  // float32 likewise
    double value = 0;
};
struct BoolNumber {
    bool value = false;
};
// A typed scalar, a vec, mat, quat, transform or struct of these: the bits of each scalar, as an IR constant has them.
struct Constant {
    ir::Type type;
    std::vector<uint64_t> bits;
};
struct BuiltinName {
    std::string name;
};
struct StringValue {
    std::string text;
};
// A module, class or enum: only its attributes are of use. `handle` is the environment's.
struct Object {
    std::shared_ptr<void> handle;
    std::string description;  // "module 'numpy'", for messages
};
// Exists, but is nothing a kernel can use (a list, a dict, an array, ...).
struct Unusable {
    std::string description;  // "a list"
};

using Binding =
    std::variant<Unknown, NoneValue, IntNumber, FloatNumber, BoolNumber, Constant, ir::Type, builtins::TypePattern,
                 BuiltinName, std::shared_ptr<const OverloadSet>, StringValue, Object, Unusable>;

// The expressions of `wp.static(...)` in a function that name nothing the function assigns: they have one value, which
// the peer takes when the function is defined.
struct FixedStatic {
    std::string expression;
    Span span;
};
std::vector<FixedStatic> fixed_statics(const FunctionSource& function);

// One per user function or kernel. Calls may come from any thread, without the GIL, but not at the same time.
class Environment {
  public:
    virtual ~Environment() = default;

    // A free name of the function: closure, then globals, then names of the warp module, then Python's builtins.
    virtual Binding name(const std::string& name) = 0;
    virtual Binding attribute(const Object& object, const std::string& name) = 0;
    // The members of an enum; nothing for other objects.
    virtual std::vector<Binding> items(const Object&) { return {}; }
    // The annotation of a parameter ("return": of the result): a Type or a TypePattern; a tuple of them for a result is
    // a TypePattern::Tuple. Unknown when there is none, Unusable when it is no type.
    virtual Binding annotation(const std::string& parameter) = 0;
    // Unknown when the parameter has no default.
    virtual Binding default_value(const std::string& parameter) = 0;
    // wp.static(expression): evaluates source text with the function's names and `locals` (unrolled loop variables).
    // What Python raises becomes a UserError (Value).
    virtual Binding evaluate(std::string_view expression, const Span& where,
                             std::span<const std::pair<std::string, Binding>> locals) = 0;
    // Names close to `name`, for "did you mean"; may be empty.
    virtual std::vector<std::string> names() { return {}; }
};

// ---- a function of the user ----

// The body of a `@wp.func_native` function, in C++ (and CUDA).
struct NativeSnippet {
    std::string forward;
    std::optional<std::string> adjoint;  // "": the derivative is zero
    std::optional<std::string> replay;   // "": nothing is repeated
};

struct FunctionSource {
    std::string name;
    std::shared_ptr<const SourceFile> file;
    std::shared_ptr<const FunctionTree> tree;
    std::shared_ptr<Environment> environment;
    std::optional<NativeSnippet> native;
    // Set by `@wp.func_grad(f)`: parameters are those of f, then the adjoint of each result.
    std::shared_ptr<const FunctionSource> gradient;
    // Set by `@wp.func_replay(f)`: of the same parameters and results; runs where reverse mode would repeat f.
    std::shared_ptr<const FunctionSource> replay;

    // The source text of a node.
    std::string text(const Span& span) const;
    Location location(const Span& span) const { return {file, span.line, span.column, span.end_line, span.end_column}; }
};

}  // namespace weft::frontend
