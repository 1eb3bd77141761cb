// The entry of a kernel: unpacks its arguments once, then loops over the items [begin, end), row by row.
#pragma once

#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/lanes.h"

namespace weft::codegen::llvm_backend {

// Fills `target`, of the type KernelEntry. `body`, if there is one, runs `lanes` items at a time where its conditions
// hold, and item by item what is left of a row.
void emit_kernel_entry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target, const LaneBody& body,
                       int lanes);

}  // namespace weft::codegen::llvm_backend
