#include "codegen/llvm/nvptx/turns_together.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

namespace weft::codegen::llvm_backend {
namespace {

constexpr int kTurns = 4;
constexpr int kLargestBody = 48;  // instructions

bool is_small(const llvm::Loop& loop) {
    int count = 0;
    for (const llvm::BasicBlock* block : loop.blocks()) {
        for (const llvm::Instruction& instruction : *block) {
            const bool calls = llvm::isa<llvm::CallBase>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction);
            if (calls || ++count > kLargestBody) return false;
        }
    }
    return true;
}

}  // namespace

llvm::PreservedAnalyses TurnsTogetherPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
        if (!loop->isInnermost() || evolution.getSmallConstantTripCount(loop) != 0 || !is_small(*loop)) continue;
        llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.count", kTurns);
    }
    return llvm::PreservedAnalyses::all();
}

}  // namespace weft::codegen::llvm_backend
