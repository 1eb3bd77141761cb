// `wp.grad(f)(...)` in forward code: each Gradient op becomes a call of f's adjoint with seeds of 1. Gradients of
// arrays are not kept: their parameters get null arrays.
#include "ad/reverse.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::ad {
namespace {

using namespace ir;

Value* ones(Builder& b, Type type) {
    if (type.is_scalar() || type.is_uniform()) return type.has_float_elements() ? b.fill(type, 1.0) : b.zero(type);
    if (!type.is_aggregate()) return b.zero(type);
    std::vector<Value*> parts;
    for (int i = 0; i < type.part_count(); ++i) parts.push_back(ones(b, type.part(i)));
    return b.compose(type, parts);
}

bool has_gradients(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) { found = found || op.code == Opcode::Gradient; });
    return found;
}

}  // namespace

void expand_gradients(Module& module) {
    // Functions that are made on the way are appended and have none.
    for (size_t i = 0; i < module.functions.size(); ++i) {
        Function& function = *module.functions[i];
        if (!has_gradients(function)) continue;
        Function made;
        made.results = function.results;
        made.adjoint = function.adjoint;
        made.replay = function.replay;
        made.by_value = function.by_value;
        Builder b(module, made);
        ValueMap map;
        for (const Value* p : function.parameters()) map[p] = b.parameter(p->type, p->name);
        const auto expand = [&](const Op& op, ValueMap& values) {
            if (op.code != Opcode::Gradient) return false;
            b.set_location(op.location);
            const Function& callee = *module.find(op.text);
            const Function& adjoint = adjoint_of(module, callee);
            std::vector<Value*> arguments;
            for (const Value* v : op.operands) arguments.push_back(values.at(v));
            for (const Value* v : op.operands) {
                if (v->type.contains_array() && v->type.is_differentiable()) arguments.push_back(b.zero(v->type));
            }
            for (const Type type : callee.results) {
                if (type.is_differentiable()) arguments.push_back(ones(b, type));
            }
            const auto results = b.call(adjoint, arguments);
            size_t k = 0;
            for (Value* result : results) {
                if (!result->type.contains_array()) values[op.results.at(k++)] = result;
            }
            WEFT_CHECK(k == op.results.size(), "the adjoint of " + op.text + " has other results");
            return true;
        };
        clone_into(b, function.body, map, expand);
        clone_op(b, *function.body.terminator(), map, expand);
        function.replace_body(std::move(made));
    }
    verify(module);
}

}  // namespace weft::ad
