// Races on the memory that the threads of a block share, found while the kernel runs on the CPU.
#pragma once

#include <llvm/IR/Module.h>

#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// Makes all code tell codegen/shared_access.h what it reads and writes. The module has lines (debug_lines.h).
void tell_accesses(const ir::Module& source, llvm::Module& module);

}  // namespace weft::codegen::llvm_backend
