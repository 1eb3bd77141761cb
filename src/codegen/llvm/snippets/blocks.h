// Kernels whose threads wait for each other, on the CPU: their items run by blocks (runtime/cpu/blocks.h).
#pragma once

#include <llvm/IR/Module.h>

#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// Where the module, with its snippets linked, calls functions of blocks: gives each kernel an entry that runs blocks,
// shared variables their place in the block's memory, and defines kRunsBlocks (codegen/backend.h). Throws UserError
// where there is too much shared memory.
void use_blocks(const ir::Module& source, llvm::Module& module);

}  // namespace weft::codegen::llvm_backend
