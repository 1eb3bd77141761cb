#include "ad/snippets.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ad/overwritten.h"
#include "base/error.h"
#include "opt/snippet_access.h"

namespace weft::ad {

using namespace ir;

void pass_values_to_snippets(Module& module) {
    for (const auto& function : module.functions) {
        walk(function->body, [&](Op& op) {
            if (op.code != Opcode::Call) return;
            const Function& callee = *module.find(op.text);
            if (!callee.by_value.empty()) op.text = callee.by_value;
        });
    }
}

void repeat_snippet(Builder& b, const Op& op, ValueMap& values) {
    std::vector<Value*> operands;
    for (const Value* v : op.operands) operands.push_back(values.at(v));
    std::vector<Type> types;
    for (const Value* v : op.results) types.push_back(v->type);
    b.set_location(op.location);
    const std::vector<Value*> results = b.snippet(op.text, SnippetUse::Repeat, false, types, operands);
    for (size_t i = 0; i < results.size(); ++i) values[op.results[i]] = results[i];
}

bool has_snippets(const Module& module, const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) {
        found = found || op.code == Opcode::Snippet ||
                (op.code == Opcode::Call && has_snippets(module, *module.find(op.text)));
    });
    return found;
}

namespace {

// The parameters whose arrays a snippet in the function may write to.
std::set<int> written(const Module& module, const Function& function);

void add_written(const Module& module, const Function& function, const Op& op, std::set<int>& out) {
    const auto add = [&](const Value* v) {
        for (const int root : root_parameters(v, function)) out.insert(root);
    };
    if (op.code == Opcode::Snippet) {
        const std::vector<bool> writes = opt::written_by_snippet(op);
        for (size_t i = 0; i < op.operands.size(); ++i) {
            if (writes[i]) add(op.operands[i]);
        }
    } else if (op.code == Opcode::Call) {
        for (const int parameter : written(module, *module.find(op.text))) {
            add(op.operands[static_cast<size_t>(parameter)]);
        }
    }
}

std::set<int> written(const Module& module, const Function& function) {
    std::set<int> out;
    walk(function.body, [&](const Op& op) { add_written(module, function, op, out); });
    return out;
}

}  // namespace

std::unordered_set<const Op*> loads_before_snippets(const Module& module, const Function& function) {
    std::unordered_set<const Op*> out;
    if (!has_snippets(module, function)) return out;
    std::vector<const Op*> order;
    walk(function.body, [&](const Op& op) { order.push_back(&op); });
    std::set<int> later;  // what is written behind the place reached, last to first
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const Op& op = **it;
        add_written(module, function, op, later);
        if (op.code != Opcode::Load) continue;
        std::set<int> overwritten = later;
        for (const Op* loop = op.parent->parent; loop; loop = loop->parent->parent) {
            if (!is_loop(*loop)) continue;
            for (const auto& region : loop->regions) {
                walk(*region, [&](const Op& inner) { add_written(module, function, inner, overwritten); });
            }
        }
        const auto roots = root_parameters(op.operands[0], function);
        if (std::ranges::any_of(roots, [&](int root) { return overwritten.contains(root); })) out.insert(&op);
    }
    return out;
}

void refuse_loads_before_snippets(const Module& module, const Function& kernel, const Function& adjoint) {
    const Op* found = nullptr;
    for (const Function* function : {&adjoint}) {
        walk(function->body, [&](const Op& op) {
            if (op.code == Opcode::Load && op.text == kBeforeSnippet && !found) found = &op;
        });
    }
    if (!found || !module.find(kernel.name)) return;
    throw UserError(ErrorKind::Gradient,
                    "the gradient of kernel '" + kernel.name +
                        "' needs a value of an array that a native snippet may overwrite afterwards; let the snippet "
                        "write to another array",
                    found->location);
}

}  // namespace weft::ad
