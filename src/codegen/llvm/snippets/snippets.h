// Compiles the native snippets of a module by clang, in this process, and links them into its LLVM module. Where this
// library was built without clang, snippets are refused.
#pragma once

#include <llvm/IR/Module.h>

#include "codegen/backend.h"
#include "codegen/llvm/machine.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// `target` has its triple, data layout and calls of the snippets (codegen/snippet_text.h). Throws UserError (Syntax) at
// the user's line.
void link_snippets(const ir::Module& module, llvm::Module& target, const Options& options, const Machine& machine);

}  // namespace weft::codegen::llvm_backend
