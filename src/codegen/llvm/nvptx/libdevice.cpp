#include "codegen/llvm/nvptx/libdevice.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <vector>

#include "base/error.h"
#include "embedded/libdevice.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr std::string_view kPrefix = "__nv_";

std::vector<llvm::Function*> functions_of(llvm::Module& module, bool declarations) {
    std::vector<llvm::Function*> out;
    for (llvm::Function& function : module) {
        const llvm::StringRef name = function.getName();
        if (function.isDeclaration() == declarations && is_libdevice_symbol({name.data(), name.size()})) {
            out.push_back(&function);
        }
    }
    return out;
}

// The library asks how it is to be compiled by __nvvm_reflect("__CUDA_FTZ") and the like: exactly, is the answer.
void answer_questions(llvm::Module& module) {
    llvm::Function* ask = module.getFunction("__nvvm_reflect");
    if (ask == nullptr) return;
    std::vector<llvm::CallInst*> calls;
    for (llvm::User* user : ask->users()) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), 0));
        call->eraseFromParent();
    }
    if (ask->use_empty()) ask->eraseFromParent();
}

}  // namespace

bool has_libdevice() { return !embedded::libdevice().empty(); }

std::string libdevice_symbol(std::string_view c_name) { return std::string(kPrefix) + std::string(c_name); }

bool is_libdevice_symbol(std::string_view symbol) { return symbol.starts_with(kPrefix); }

void link_libdevice(llvm::Module& module) {
    if (functions_of(module, true).empty()) return;
    WEFT_CHECK(has_libdevice(), "this build has no libdevice");
    const auto& bytes = embedded::libdevice().front().second;
    const llvm::MemoryBufferRef buffer(llvm::StringRef(bytes.data(), bytes.size()), "libdevice");
    auto library = llvm::getLazyBitcodeModule(buffer, module.getContext());
    if (!library) throw InternalError("libdevice is not readable: " + llvm::toString(library.takeError()));
    (*library)->setTargetTriple(module.getTargetTriple());
    (*library)->setDataLayout(module.getDataLayout());
    WEFT_CHECK(!llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded),
               "libdevice does not link");
    for (llvm::Function* function : functions_of(module, false)) {
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
        function->removeFnAttr(llvm::Attribute::NoInline);
        function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
    for (const llvm::Function* function : functions_of(module, true)) {
        WEFT_CHECK(false, "libdevice has no function " + function->getName().str());
    }
    answer_questions(module);
}

}  // namespace weft::codegen::llvm_backend
