#include "codegen/llvm/snippets/blocks.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/ReplaceConstant.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/snippets/races.h"
#include "codegen/shared_memory.h"
#include "codegen/snippet_text.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr const char* kSection = "weft_shared";

// Bytes of all shared variables, which become places behind weft_shared_memory().
int64_t place_shared(const ir::Module& source, llvm::Module& module) {
    std::vector<llvm::GlobalVariable*> variables;
    for (llvm::GlobalVariable& variable : module.globals()) {
        if (variable.getSection() == kSection) variables.push_back(&variable);
    }
    std::vector<llvm::Constant*> constants(variables.begin(), variables.end());
    llvm::convertUsersOfConstantsToInstructions(constants);
    auto* pointer = llvm::PointerType::getUnqual(module.getContext());
    auto* type = llvm::FunctionType::get(pointer, {}, false);
    std::map<llvm::Function*, llvm::Value*> bases;
    int64_t used = 0;
    for (llvm::GlobalVariable* variable : variables) {
        const auto bytes = static_cast<int64_t>(module.getDataLayout().getTypeAllocSize(variable->getValueType()));
        used = (used + 15) / 16 * 16;
        while (!variable->use_empty()) {
            llvm::Use& use = *variable->use_begin();
            auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
            WEFT_CHECK(user != nullptr, "a shared variable is used by a constant");
            llvm::Function* function = user->getFunction();
            llvm::BasicBlock& entry = function->getEntryBlock();
            llvm::IRBuilder<> start(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
            llvm::Value*& base = bases[function];
            if (base == nullptr) base = start.CreateCall(type, declared(module, "weft_shared_memory", type));
            if (auto* made = llvm::cast<llvm::Instruction>(base); made->getNextNode() != nullptr) {
                start.SetInsertPoint(made->getNextNode());
            }
            use.set(start.CreateGEP(start.getInt8Ty(), base, start.getInt64(static_cast<uint64_t>(used))));
        }
        variable->eraseFromParent();
        used += bytes;
    }
    check_shared_memory(source, used);
    return used;
}

// `kernel` as it was becomes the function that runs items; its name belongs to what runs blocks of them.
void enter_by_blocks(llvm::Module& module, llvm::Function& kernel, int64_t shared, bool races) {
    const std::string name = kernel.getName().str();
    kernel.setName(name + ".items");
    kernel.setLinkage(llvm::GlobalValue::InternalLinkage);
    auto* entry = llvm::Function::Create(kernel.getFunctionType(), llvm::Function::ExternalLinkage, name, module);
    entry->setDoesNotThrow();
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "blocks", entry));
    auto* pointer = b.getPtrTy();
    auto* word = b.getInt64Ty();
    auto* type =
        llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer, word, word, word, b.getInt32Ty()}, false);
    b.CreateCall(type, declared(module, "weft_run_blocks", type),
                 {&kernel, entry->getArg(0), entry->getArg(1), entry->getArg(2), entry->getArg(3),
                  b.getInt64(static_cast<uint64_t>(shared)), b.getInt32(races ? 1 : 0)});
    b.CreateRetVoid();
}

bool calls_blocks(const llvm::Module& module) {
    for (const llvm::GlobalVariable& variable : module.globals()) {
        if (variable.getSection() == kSection) return true;
    }
    for (const char* name : {"weft_this_thread", "weft_barrier", "weft_warp"}) {
        const llvm::Function* function = module.getFunction(name);
        if (function != nullptr && !function->use_empty()) return true;
    }
    return false;
}

}  // namespace

void use_blocks(const ir::Module& source, llvm::Module& module) {
    if (!calls_blocks(module)) return;
    const int64_t shared = place_shared(source, module);
    const bool races = shared > 0 && has_checked_snippets(source);
    if (races) tell_accesses(source, module);
    for (const auto& function : source.functions) {
        if (function->kind == ir::FunctionKind::Kernel) {
            enter_by_blocks(module, *module.getFunction(entry_symbol(function->name)), shared, races);
        }
    }
    auto* byte = llvm::Type::getInt8Ty(module.getContext());
    auto* mark = llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal(kRunsBlocks, byte));
    mark->setConstant(true);
    mark->setInitializer(llvm::ConstantInt::get(byte, 1));
}

}  // namespace weft::codegen::llvm_backend
