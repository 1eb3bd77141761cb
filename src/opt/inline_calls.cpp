#include "base/error.h"
#include "ir/builder.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

using namespace ir;

// Emits the body of `function` with its parameters mapped to the arguments; the results are what it returns.
std::vector<Value*> inlined(Builder& b, const Module& module, const Function& function,
                            std::span<Value* const> arguments) {
    ValueMap map;
    for (size_t i = 0; i < arguments.size(); ++i) map[function.parameters()[i]] = arguments[i];
    const auto replace_call = [&](const Op& op, ValueMap& values) {
        if (op.code != Opcode::Call) return false;
        // A derivative of its own belongs to the call, as does what is repeated in its place.
        const Function& callee = *module.find(op.text);
        if (!callee.adjoint.empty() || !callee.replay.empty()) return false;
        std::vector<Value*> passed;
        for (const Value* v : op.operands) passed.push_back(values.at(v));
        const auto results = inlined(b, module, *module.find(op.text), passed);
        for (size_t i = 0; i < results.size(); ++i) values[op.results[i]] = results[i];
        return true;
    };
    clone_into(b, function.body, map, replace_call);
    const Op& end = *function.body.terminator();
    WEFT_CHECK(end.code == Opcode::Return, "inlining a function that does not end in return");
    std::vector<Value*> results;
    for (const Value* v : end.operands) results.push_back(map.at(v));
    return results;
}

}  // namespace

void inline_calls(Module& module, Function& function) {
    Function made;
    made.results = function.results;
    Builder b(module, made);
    std::vector<Value*> arguments;
    for (const Value* p : function.parameters()) arguments.push_back(b.parameter(p->type, p->name));
    b.return_(inlined(b, module, function, arguments));
    function.replace_body(std::move(made));
}

}  // namespace weft::opt
