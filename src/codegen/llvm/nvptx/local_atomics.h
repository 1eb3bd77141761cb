// Atomics on variables of a thread, which NVIDIA's GPUs do not have, as plain reads and writes.
#pragma once

#include <llvm/IR/PassManager.h>

namespace weft::codegen::llvm_backend {

// After the inliner. An atomic on memory of the thread becomes plain; one on memory that may be the thread's asks when
// it runs. Without this the machine would change other memory, or none.
class LocalAtomicsPass : public llvm::PassInfoMixin<LocalAtomicsPass> {
  public:
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
    static bool isRequired() { return true; }  // NOLINT(readability-identifier-naming): LLVM's name
};

}  // namespace weft::codegen::llvm_backend
