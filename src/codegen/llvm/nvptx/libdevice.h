// NVIDIA's libdevice: the maths functions of their GPUs, as LLVM bitcode that the build has embedded.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <string_view>

namespace weft::codegen::llvm_backend {

// Whether the build found libdevice.
bool has_libdevice();
// "sinf" -> "__nv_sinf".
std::string libdevice_symbol(std::string_view c_name);
bool is_libdevice_symbol(std::string_view symbol);
// Links what the module calls of it, as functions to be made part of their callers.
void link_libdevice(llvm::Module& module);

}  // namespace weft::codegen::llvm_backend
