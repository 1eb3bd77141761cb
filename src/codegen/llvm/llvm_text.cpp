#include "codegen/llvm/llvm_text.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"

namespace weft::codegen::llvm_backend {

std::string printed(const llvm::Module& module) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module.print(stream, nullptr);
    return out;
}

void check_module(const llvm::Module& module) {
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module, &stream)) throw InternalError("bad LLVM IR: " + problem + printed(module));
}

}  // namespace weft::codegen::llvm_backend
