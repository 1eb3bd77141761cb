#include "opt/opt.h"

namespace weft::opt {

bool has_effects(const ir::Module& module, const ir::Function& function) {
    bool found = false;
    ir::walk(function.body, [&](const ir::Op& op) {
        if (op.code == ir::Opcode::Call) {
            found = found || has_effects(module, *module.find(op.text));
        } else {
            found = found || ir::writes_memory(op.code);
        }
    });
    return found;
}

}  // namespace weft::opt
