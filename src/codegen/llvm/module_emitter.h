// Emits a whole IR module as LLVM IR: every kernel an exported entry, every function internal.
#pragma once

#include <llvm/IR/Module.h>

#include "codegen/backend.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// `target` has its triple and data layout. `half_instructions`: the machine converts float16 itself. `lanes`: so many
// items run side by side where that is possible; a power of two.
void emit_module(const ir::Module& module, llvm::Module& target, const Options& options, bool half_instructions,
                 int lanes);

}  // namespace weft::codegen::llvm_backend
