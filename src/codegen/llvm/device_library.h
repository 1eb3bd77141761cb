// Links the functions of device/ that a module calls, from the bitcode that the build has embedded.
#pragma once

#include <llvm/IR/Module.h>

#include "codegen/llvm/machine.h"

namespace weft::codegen::llvm_backend {

// Afterwards every declaration that is left is a function that is bound at load; else InternalError.
void link_device_library(llvm::Module& module, const Machine& machine);

}  // namespace weft::codegen::llvm_backend
