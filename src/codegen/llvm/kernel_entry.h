// The entry of a kernel: unpacks its arguments once, then loops over the items [begin, end), row by row.
#pragma once

#include "codegen/llvm/function_emitter.h"

namespace weft::codegen::llvm_backend {

// Fills `target`, of the type KernelEntry.
void emit_kernel_entry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target);

}  // namespace weft::codegen::llvm_backend
