// clang as a function: C++ text to an LLVM module.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"

namespace weft::codegen::llvm_backend {

// One line of clang's: an error or a note that belongs to the one before.
struct ClangMessage {
    bool is_note = false;
    std::string file;  // as #line calls it; "" where there is no place
    int line = 0;
    int column = 0;  // from 1
    std::string text;
};

// The module for `triple`, or null and messages. The text follows the headers of device/snippets/; there are no others.
std::unique_ptr<llvm::Module> run_clang(llvm::LLVMContext& context, const std::string& triple,
                                        const std::string& source, const Options& options,
                                        std::vector<ClangMessage>& messages);

}  // namespace weft::codegen::llvm_backend
