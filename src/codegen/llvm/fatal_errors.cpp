#include "codegen/llvm/fatal_errors.h"

#include <llvm/Support/ErrorHandling.h>

#include <mutex>
#include <string>

#include "base/error.h"

namespace weft::codegen::llvm_backend {
namespace {

void on_fatal_error(void*, const char* reason, bool) { throw InternalError(std::string("LLVM: ") + reason); }

}  // namespace

void handle_fatal_errors() {
    static std::once_flag once;
    std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
}

}  // namespace weft::codegen::llvm_backend
