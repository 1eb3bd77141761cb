#include "ir/ir.h"

#include <array>

#include "base/error.h"

namespace weft::ir {
namespace {

enum Flags : unsigned { Pure = 1, Elementwise = 2, Reads = 4, Writes = 8, Terminator = 16, Local = 32 };

struct OpInfo {
    std::string_view mnemonic;
    unsigned flags;
};

constexpr auto kOps = std::to_array<OpInfo>({
#define OP(Name, mnemonic, flags) {mnemonic, flags},
#include "ir/ops.def"
#undef OP
});

struct MathInfo {
    std::string_view mnemonic;
    int operands;
    MathKind kind;
};

constexpr auto kMath = std::to_array<MathInfo>({
#define MATH(Name, name, operands, kind) {#name, operands, MathKind::kind},
#include "ir/math.def"
#undef MATH
});

constexpr std::array<std::string_view, kAtomicKindCount> kAtomic = {"add", "sub", "min", "max",
                                                                    "and", "or",  "xor", "exchange"};

unsigned flags(Opcode code) { return kOps[static_cast<size_t>(code)].flags; }

}  // namespace

std::string_view mnemonic(Opcode code) { return kOps[static_cast<size_t>(code)].mnemonic; }
bool is_pure(Opcode code) { return (flags(code) & Pure) != 0; }
bool is_elementwise(Opcode code) { return (flags(code) & Elementwise) != 0; }
bool is_terminator(Opcode code) { return (flags(code) & Terminator) != 0; }
bool reads_memory(Opcode code) { return (flags(code) & Reads) != 0; }
bool writes_memory(Opcode code) { return (flags(code) & Writes) != 0; }
bool has_effect(const Op& op) {
    return writes_memory(op.code) && !(op.code == Opcode::Snippet && op.snippet_use() == SnippetUse::Repeat);
}
std::string_view mnemonic(MathFn fn) { return kMath[static_cast<size_t>(fn)].mnemonic; }
int operand_count(MathFn fn) { return kMath[static_cast<size_t>(fn)].operands; }
MathKind math_kind(MathFn fn) { return kMath[static_cast<size_t>(fn)].kind; }
std::string_view mnemonic(AtomicKind kind) { return kAtomic[static_cast<size_t>(kind)]; }

Value* Function::new_value(Type type, std::string_view user_name) {
    Value& value = values_.emplace_back();
    value.type = type;
    value.id = static_cast<int>(values_.size()) - 1;
    value.name = user_name;
    return &value;
}

Op* Function::new_op(Opcode code, const Location& where) {
    Op& op = ops_.emplace_back();
    op.code = code;
    op.location = where;
    return &op;
}

void Function::replace_body(Function&& other) {
    body = std::move(other.body);
    results = std::move(other.results);
    values_ = std::move(other.values_);
    ops_ = std::move(other.ops_);
    for (Value* argument : body.arguments) argument->region = &body;
    for (Op* op : body.ops) op->parent = &body;
}

const Op* local_array_of(const Value* value) {
    while (value->op) {
        switch (value->op->code) {
            case Opcode::LocalArray:
                return value->op;
            case Opcode::At:
            case Opcode::Member:
            case Opcode::MemberAt:
            case Opcode::View:
            case Opcode::Slice:
                value = value->op->operands[0];
                break;
            default:
                return nullptr;
        }
    }
    return nullptr;
}

Function* Module::find(std::string_view name) const {
    for (const auto& function : functions) {
        if (function->name == name) return function.get();
    }
    return nullptr;
}

Function& Module::add(std::string name, FunctionKind kind) {
    WEFT_CHECK(find(name) == nullptr, "function " + name + " exists");
    functions.push_back(std::make_unique<Function>());
    functions.back()->name = std::move(name);
    functions.back()->kind = kind;
    return *functions.back();
}

}  // namespace weft::ir
