#include "codegen/llvm/nvptx/arrays_apart.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/MDBuilder.h>

namespace weft::codegen::llvm_backend {
namespace {

const llvm::Value* accessed(const llvm::Instruction& i) {
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) return update->getPointerOperand();
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) return exchange->getPointerOperand();
    // A sum of several numbers: vector_sums.cpp.
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i); call != nullptr && call->isInlineAsm()) {
        return call->arg_empty() || !call->onlyAccessesArgMemory() ? nullptr : call->getArgOperand(0);
    }
    return llvm::getLoadStorePointerOperand(&i);
}

}  // namespace

void say_apart(llvm::Function& kernel, llvm::ArrayRef<llvm::Value*> arrays) {
    if (arrays.size() < 2) return;
    auto& context = kernel.getContext();
    llvm::MDBuilder builder(context);
    llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain("arrays");
    llvm::SmallVector<llvm::Metadata*, 8> scopes;
    for (size_t k = 0; k < arrays.size(); ++k) scopes.push_back(builder.createAnonymousAliasScope(domain, "array"));
    llvm::DenseMap<const llvm::Value*, std::pair<llvm::MDNode*, llvm::MDNode*>> said;
    for (size_t k = 0; k < arrays.size(); ++k) {
        llvm::SmallVector<llvm::Metadata*, 8> others = scopes;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
        said[arrays[k]] = {llvm::MDNode::get(context, {scopes[k]}), llvm::MDNode::get(context, others)};
    }
    for (llvm::Instruction& i : llvm::instructions(kernel)) {
        const llvm::Value* address = accessed(i);
        while (address != nullptr && !said.contains(address)) {
            const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(address);
            const auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastInst>(address);
            address = step != nullptr   ? step->getPointerOperand()
                      : cast != nullptr ? cast->getPointerOperand()
                                        : nullptr;
        }
        if (address == nullptr) continue;
        const auto place = said.find(address);
        i.setMetadata(llvm::LLVMContext::MD_alias_scope, place->second.first);
        i.setMetadata(llvm::LLVMContext::MD_noalias, place->second.second);
    }
}

}  // namespace weft::codegen::llvm_backend
