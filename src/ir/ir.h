// The structured SSA of Weft: modules of functions, functions of regions, regions of ops that define values.
// Passes read one function and build another (builder.h) or erase ops in place; nothing here folds or checks
// (builder.h, verify.h), and the text form lives in text.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "ir/type.h"

namespace weft::ir {

enum class Opcode : uint8_t {
#define OP(Name, mnemonic, flags) Name,
#include "ir/ops.def"
#undef OP
};

enum class MathFn : uint8_t {
#define MATH(Name, name, operands, kind) Name,
#include "ir/math.def"
#undef MATH
};
inline constexpr int kMathFnCount = [] {
    int count = 0;
#define MATH(Name, name, operands, kind) ++count;
#include "ir/math.def"
#undef MATH
    return count;
}();

enum class MathKind : uint8_t { Exact, Device, Bounded, Library };  // math.def

enum class AtomicKind : uint8_t { Add, Sub, Min, Max, And, Or, Xor, Exchange };
inline constexpr int kAtomicKindCount = 8;

// What a Snippet stands for: the user's function where it is called, the same again in an adjoint that needs its
// results (nothing else of it is wanted then), or what the user wrote as its adjoint.
enum class SnippetUse : uint8_t { Call, Repeat, Adjoint };

struct Op;

// Properties of an opcode, from ops.def.
std::string_view mnemonic(Opcode code);
bool is_pure(Opcode code);
bool is_elementwise(Opcode code);
bool is_terminator(Opcode code);
bool reads_memory(Opcode code);
bool writes_memory(Opcode code);
// Whether the op is of use without its results: it writes memory, and is no repetition of what has been written before.
bool has_effect(const Op& op);
std::string_view mnemonic(MathFn fn);
int operand_count(MathFn fn);
MathKind math_kind(MathFn fn);
std::string_view mnemonic(AtomicKind kind);

struct Region;

// Defined once, by an op or as an argument of a region.
struct Value {
    Type type;
    int id = 0;                // unique in the function, in order of creation
    Op* op = nullptr;          // null for a region's argument
    Region* region = nullptr;  // set for a region's argument
    int index = 0;             // which result or argument
    std::string name;          // the user's name, for readable text; may be empty or repeated
};

struct Op {
    Opcode code = Opcode::Const;
    std::vector<Value*> operands;
    std::vector<Value*> results;
    std::vector<int64_t> ints;  // see ops.def
    std::string text;           // see ops.def
    std::vector<std::unique_ptr<Region>> regions;
    Region* parent = nullptr;
    Location location;

    Value* result() const { return results.at(0); }
    MathFn math() const { return static_cast<MathFn>(ints.at(0)); }
    AtomicKind atomic() const { return static_cast<AtomicKind>(ints.at(0)); }
    SnippetUse snippet_use() const { return static_cast<SnippetUse>(ints.at(0)); }
    bool snippet_asserts() const { return ints.at(1) != 0; }
};

struct Region {
    std::vector<Value*> arguments;
    std::vector<Op*> ops;  // the last one is a terminator
    Op* parent = nullptr;  // null for a function's body

    Op* terminator() const { return ops.back(); }
};

// A For has begin, end and step before its carried values, and the index before the carried arguments of its body.
inline bool is_loop(const Op& op) { return op.code == Opcode::For || op.code == Opcode::While; }
inline size_t first_carried(const Op& loop) { return loop.code == Opcode::For ? 3 : 0; }
inline size_t first_argument(const Op& loop) { return loop.code == Opcode::For ? 1 : 0; }

enum class FunctionKind : uint8_t { Kernel, Function };

struct Function {
    std::string name;
    FunctionKind kind = FunctionKind::Function;
    std::vector<Type> results;  // none for a kernel
    Region body;                // its arguments are the parameters
    // For a Function with a derivative of its own: the name of the module's function that replaces the one reverse mode
    // would make (signature: see ad/reverse.h). Empty otherwise.
    std::string adjoint;
    // The name of the module's function that stands in for this one where reverse mode repeats it; empty: itself,
    // without its effects.
    std::string replay;
    // Of a function that has no derivative because it hands references on: the name of the module's function with the
    // same parameters and effects that has one. Empty otherwise.
    std::string by_value;
    Location location;

    Function() = default;
    Function(const Function&) = delete;
    Function& operator=(const Function&) = delete;

    const std::vector<Value*>& parameters() const { return body.arguments; }

    // Values and ops live as long as their function; erasing an op only unlinks it.
    Value* new_value(Type type, std::string_view user_name = {});
    Op* new_op(Opcode code, const Location& where);
    // Takes the body (and results) of a function built elsewhere; the old one is gone.
    void replace_body(Function&& other);

  private:
    std::deque<Value> values_;
    std::deque<Op> ops_;
};

// The LocalArray op that an array or Ref lies in, when that is certain; else null.
const Op* local_array_of(const Value* value);

// A compile unit: one kernel (two with its adjoint) and every function they call.
struct Module {
    std::vector<std::unique_ptr<Function>> functions;

    Function* find(std::string_view name) const;
    Function& add(std::string name, FunctionKind kind);
};

// Calls visit(op) for every op of the region and of regions within, outer before inner, in order.
template <typename Visit>
void walk(const Region& region, const Visit& visit) {
    for (Op* op : region.ops) {
        visit(*op);
        for (const auto& inner : op->regions) walk(*inner, visit);
    }
}

}  // namespace weft::ir
