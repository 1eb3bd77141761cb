// Loops whose turns are unrolled by four: what one of them waits for, the others hide.
#pragma once

#include <llvm/IR/PassManager.h>

namespace weft::codegen::llvm_backend {

// Marks innermost loops of unknown length whose body is small, for LLVM's unroller, whose own bound for GPUs is too low
// for a body with a root in it.
class TurnsTogetherPass : public llvm::PassInfoMixin<TurnsTogetherPass> {
  public:
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen::llvm_backend
