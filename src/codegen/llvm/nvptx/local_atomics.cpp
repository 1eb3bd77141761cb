#include "codegen/llvm/nvptx/local_atomics.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

namespace weft::codegen::llvm_backend {
namespace {

enum class Place { Thread, Elsewhere, Unknown };

// An address that the launch gave: of an array, say.
bool is_given(const llvm::Value* object) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(object);
    if (load == nullptr) return false;
    const auto* argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(load->getPointerOperand()));
    return argument != nullptr && argument->hasByValAttr();
}

Place place_of(const llvm::Value* pointer) {
    if (pointer->getType()->getPointerAddressSpace() != 0) return Place::Elsewhere;
    llvm::SmallVector<const llvm::Value*, 4> objects;
    llvm::getUnderlyingObjects(pointer, objects);
    size_t of_thread = 0;
    size_t elsewhere = 0;
    for (const llvm::Value* object : objects) {
        if (llvm::isa<llvm::AllocaInst>(object)) {
            ++of_thread;
        } else if (object->getType()->getPointerAddressSpace() != 0 || llvm::isa<llvm::GlobalVariable>(object) ||
                   is_given(object)) {
            ++elsewhere;
        }
    }
    if (of_thread == objects.size()) return Place::Thread;
    return elsewhere == objects.size() ? Place::Elsewhere : Place::Unknown;
}

void make_plain(llvm::Instruction* atomic) {
    if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(atomic)) {
        llvm::lowerAtomicRMWInst(update);
    } else {
        llvm::lowerAtomicCmpXchgInst(llvm::cast<llvm::AtomicCmpXchgInst>(atomic));
    }
}

// The atomic where the memory is not the thread's, and a plain copy of it where it is.
void ask_when_it_runs(llvm::Instruction* atomic, llvm::Value* pointer) {
    llvm::IRBuilder<> builder(atomic);
    llvm::Value* of_thread = builder.CreateIntrinsic(llvm::Intrinsic::nvvm_isspacep_local, {}, {pointer});
    llvm::Instruction* then = nullptr;
    llvm::Instruction* otherwise = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(of_thread, atomic->getIterator(), &then, &otherwise);
    llvm::Instruction* plain = atomic->clone();
    plain->insertBefore(then);
    llvm::PHINode* result = llvm::PHINode::Create(atomic->getType(), 2, "", atomic->getParent()->begin());
    atomic->replaceAllUsesWith(result);
    atomic->moveBefore(otherwise);
    result->addIncoming(plain, plain->getParent());
    result->addIncoming(atomic, atomic->getParent());
    make_plain(plain);
}

}  // namespace

llvm::PreservedAnalyses LocalAtomicsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    llvm::SmallVector<std::pair<llvm::Instruction*, llvm::Value*>> atomics;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
            atomics.emplace_back(update, update->getPointerOperand());
        } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
            atomics.emplace_back(exchange, exchange->getPointerOperand());
        }
    }
    bool changed = false;
    for (const auto& [atomic, pointer] : atomics) {
        const Place place = place_of(pointer);
        if (place == Place::Elsewhere) continue;
        changed = true;
        if (place == Place::Thread) {
            make_plain(atomic);
        } else {
            ask_when_it_runs(atomic, pointer);
        }
    }
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace weft::codegen::llvm_backend
