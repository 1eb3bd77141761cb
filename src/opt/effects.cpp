#include "opt/opt.h"

namespace weft::opt {

bool has_effects(const ir::Module& module, const ir::Function& function) {
    bool found = false;
    ir::walk(function.body, [&](const ir::Op& op) {
        if (op.code == ir::Opcode::Call) {
            found = found || has_effects(module, *module.find(op.text));
        } else {
            const bool stores = op.code == ir::Opcode::Store || op.code == ir::Opcode::Atomic;
            found = found || (ir::has_effect(op) && !(stores && ir::local_array_of(op.operands[0])));
        }
    });
    return found;
}

}  // namespace weft::opt
