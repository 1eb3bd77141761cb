// clang as a function: C++ text to an LLVM module.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/snippet_errors.h"

namespace weft::codegen::llvm_backend {

// The module for `triple`, or null and messages. The text follows the headers of device/snippets/; there are no others.
std::unique_ptr<llvm::Module> run_clang(llvm::LLVMContext& context, const std::string& triple,
                                        const std::string& source, const Options& options,
                                        std::vector<CompilerMessage>& messages);

}  // namespace weft::codegen::llvm_backend
