// LLVM modules as text, and their check.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace weft::codegen::llvm_backend {

std::string printed(const llvm::Module& module);
// InternalError with the module's text where LLVM's verifier finds fault.
void check_module(const llvm::Module& module);

}  // namespace weft::codegen::llvm_backend
