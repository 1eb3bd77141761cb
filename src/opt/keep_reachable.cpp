#include <unordered_set>

#include "opt/opt.h"

namespace weft::opt {

void keep_reachable(ir::Module& module, std::string_view entry) {
    std::unordered_set<std::string> reached;
    std::vector<const ir::Function*> pending = {module.find(entry)};
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
    }
}

}  // namespace weft::opt
