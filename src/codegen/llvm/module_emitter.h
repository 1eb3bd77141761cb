// Emits a whole IR module as LLVM IR: every kernel an exported entry, every function internal.
#pragma once

#include <llvm/IR/Module.h>

#include "codegen/backend.h"
#include "codegen/llvm/machine.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// `target` has its triple and data layout.
void emit_module(const ir::Module& module, llvm::Module& target, const Options& options, const Machine& machine);

}  // namespace weft::codegen::llvm_backend
