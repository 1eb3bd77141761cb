#include "codegen/llvm/nvptx/early_loads.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace weft::codegen::llvm_backend {
namespace {

constexpr int kMostBytes = 128;  // of registers, in one block

// What computes an address and costs next to nothing where it stands earlier.
bool is_arithmetic_of_addresses(const llvm::Instruction& instruction) {
    return llvm::isa<llvm::GetElementPtrInst, llvm::CastInst>(instruction) ||
           (llvm::isa<llvm::BinaryOperator>(instruction) && instruction.getType()->isIntegerTy() &&
            !instruction.isIntDivRem());
}

// Puts what an address is made of, as far as it stands in this block behind `place`, before `place`. False, and nothing
// has moved, where that cannot be.
bool collect(llvm::Value* value, llvm::Instruction& place, llvm::SmallVectorImpl<llvm::Instruction*>& moved) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr || instruction->getParent() != place.getParent()) return true;
    if (instruction->comesBefore(&place)) return true;
    if (llvm::is_contained(moved, instruction)) return true;
    if (instruction == &place || !is_arithmetic_of_addresses(*instruction)) return false;
    for (llvm::Value* operand : instruction->operands()) {
        if (!collect(operand, place, moved)) return false;
    }
    moved.push_back(instruction);
    return true;
}

bool becomes_branches(const llvm::Instruction& instruction) {
    if (!instruction.getType()->isFloatingPointTy()) return false;
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return instruction.getOpcode() == llvm::Instruction::FDiv ||
           (call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::sqrt);
}

bool move_loads(llvm::BasicBlock& block) {
    bool changed = false;
    int64_t bytes = 0;
    const llvm::DataLayout& layout = block.getDataLayout();
    llvm::Instruction* place = &*block.getFirstInsertionPt();
    bool after_others = false;  // whether something stands between `place` and the loads that have been moved
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::make_range(place->getIterator(), block.end()))) {
        if (instruction.mayWriteToMemory() || instruction.isTerminator()) {
            if (instruction.isTerminator()) break;
            place = instruction.getNextNode();
            after_others = false;
            continue;
        }
        auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (load == nullptr || !load->isSimple()) {
            after_others = true;
            continue;
        }
        bytes += static_cast<int64_t>(layout.getTypeStoreSize(load->getType()));
        if (bytes > kMostBytes) break;
        if (!after_others) {
            place = load->getNextNode();
            continue;
        }
        llvm::SmallVector<llvm::Instruction*> moved;
        if (!collect(load->getPointerOperand(), *place, moved)) continue;
        for (llvm::Instruction* part : moved) part->moveBefore(place);
        load->moveBefore(place);
        changed = true;
    }
    return changed;
}

}  // namespace

llvm::PreservedAnalyses EarlyLoadsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    bool changed = false;
    for (llvm::BasicBlock& block : function) {
        if (llvm::any_of(block, becomes_branches)) changed |= move_loads(block);
    }
    if (!changed) return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses preserved;
    preserved.preserveSet<llvm::CFGAnalyses>();
    return preserved;
}

}  // namespace weft::codegen::llvm_backend
