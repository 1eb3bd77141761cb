#include <unordered_set>

#include "opt/opt.h"

namespace weft::opt {
namespace {

void keep(ir::Module& module, std::vector<const ir::Function*> pending) {
    std::unordered_set<std::string> reached;
    while (!pending.empty()) {
        const ir::Function* function = pending.back();
        pending.pop_back();
        if (!function || !reached.insert(function->name).second) continue;
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::Call) pending.push_back(module.find(op.text));
        });
    }
    std::erase_if(module.functions, [&](const auto& f) { return !reached.contains(f->name); });
    for (const auto& function : module.functions) {
        if (!reached.contains(function->adjoint)) function->adjoint.clear();
        if (!reached.contains(function->replay)) function->replay.clear();
        if (!reached.contains(function->by_value)) function->by_value.clear();
    }
}

}  // namespace

void keep_reachable(ir::Module& module, std::string_view entry) { keep(module, {module.find(entry)}); }

void keep_called(ir::Module& module) {
    std::vector<const ir::Function*> kernels;
    for (const auto& function : module.functions) {
        if (function->kind == ir::FunctionKind::Kernel) kernels.push_back(function.get());
    }
    keep(module, std::move(kernels));
}

}  // namespace weft::opt
