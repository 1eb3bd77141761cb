// The entry of a kernel: unpacks its arguments once, then loops over the items [begin, end), row by row.
#pragma once

#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/lanes.h"

namespace weft::codegen::llvm_backend {

// Fills `target`, of the type KernelEntry. The bodies, widest first, run so many items at a time as they have lanes, on
// what the one before left of a row, where their conditions (the same for all) hold; the rest goes item by item.
void emit_kernel_entry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target,
                       llvm::ArrayRef<LaneBody> bodies);

}  // namespace weft::codegen::llvm_backend
