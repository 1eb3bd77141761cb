// Loads of a block ask for their memory together, before the block computes.
#pragma once

#include <llvm/IR/PassManager.h>

namespace weft::codegen::llvm_backend {

// NVIDIA's assembler makes branches of roots and divisions, and moves no load across them: the turns of an unrolled
// loop would wait for memory one after the other. In blocks that have them each load goes to the front, as far as its
// address and earlier writes allow, up to a number of registers.
class EarlyLoadsPass : public llvm::PassInfoMixin<EarlyLoadsPass> {
  public:
    static llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace weft::codegen::llvm_backend
