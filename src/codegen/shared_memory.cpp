#include "codegen/shared_memory.h"

#include <string>

#include "base/error.h"

namespace weft::codegen {
namespace {

// Of the first snippet that has such memory.
Location shared_place(const ir::Module& module) {
    Location out;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::Snippet && !out && op.text.find("__shared__") != std::string::npos)
                out = op.location;
        });
    }
    return out;
}

}  // namespace

void check_shared_memory(const ir::Module& module, int64_t used, int64_t most) {
    if (used <= most) return;
    throw UserError(ErrorKind::Value,
                    "the threads of a block of this kernel share " + std::to_string(used) +
                        " bytes of memory: a block has " + std::to_string(most),
                    shared_place(module));
}

}  // namespace weft::codegen
