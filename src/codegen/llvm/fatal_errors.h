// LLVM's own answer to an error is to end the process: from now on it throws InternalError.
#pragma once

namespace weft::codegen::llvm_backend {

void handle_fatal_errors();

}  // namespace weft::codegen::llvm_backend
