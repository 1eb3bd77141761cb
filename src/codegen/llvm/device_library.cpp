#include "codegen/llvm/device_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/llvm/widen.h"
#include "embedded/device_bitcode.h"

namespace weft::codegen::llvm_backend {
namespace {

std::string_view text(llvm::StringRef name) { return {name.data(), name.size()}; }

std::set<std::string> unbound(const llvm::Module& module, const Machine& machine) {
    std::set<std::string> out;
    for (const llvm::Function& function : module) {
        const bool made_here = !scalar_name_of(function.getName().str()).empty();
        if (function.isDeclaration() && !made_here && !function.isIntrinsic() &&
            !machine.is_bound_at_load(text(function.getName()))) {
            out.insert(function.getName().str());
        }
    }
    return out;
}

std::unique_ptr<llvm::Module> device_module(llvm::LLVMContext& context, std::string_view triple) {
    for (const auto& [name, bytes] : embedded::device_bitcode()) {
        if (name != std::string(triple) + ".bc") continue;
        const llvm::MemoryBufferRef buffer(llvm::StringRef(bytes.data(), bytes.size()), "device");
        auto module = llvm::getLazyBitcodeModule(buffer, context);
        if (!module) throw InternalError("the device library is not readable: " + llvm::toString(module.takeError()));
        return std::move(*module);
    }
    return nullptr;
}

// Code of a kernel that calls a function everywhere would grow, and with it the time that compiling takes, for calls
// that cost little beside what they do.
void inline_if_few(llvm::Function& function) {
    constexpr unsigned kMostCopies = 8;
    function.addFnAttr(function.hasNUsesOrMore(kMostCopies + 1) ? llvm::Attribute::NoInline
                                                                : llvm::Attribute::AlwaysInline);
}

}  // namespace

void link_device_library(llvm::Module& module, const Machine& machine) {
    // Functions of vectors are made of those of numbers, once these are there.
    std::vector<llvm::Function*> wide;
    for (llvm::Function& function : module) {
        if (function.isDeclaration() && !scalar_name_of(function.getName().str()).empty()) wide.push_back(&function);
    }
    for (const llvm::Function* function : wide) {
        auto* type = function->getFunctionType();
        llvm::SmallVector<llvm::Type*, 2> parameters;
        for (llvm::Type* parameter : type->params()) parameters.push_back(parameter->getScalarType());
        module.getOrInsertFunction(scalar_name_of(function->getName().str()),
                                   llvm::FunctionType::get(type->getReturnType()->getScalarType(), parameters, false));
    }
    const auto wanted = unbound(module, machine);
    if (wanted.empty()) return;
    auto library = device_module(module.getContext(), module.getTargetTriple());
    for (const std::string& name : wanted) {
        const llvm::Function* there = library ? library->getFunction(name) : nullptr;
        WEFT_CHECK(there != nullptr && !there->isDeclarationForLinker(),
                   "no function " + name + " in the device library");
        WEFT_CHECK(there->getFunctionType() == module.getFunction(name)->getFunctionType(),
                   name + " is called with another signature than the device library's");
    }
    library->setTargetTriple(module.getTargetTriple());
    library->setDataLayout(module.getDataLayout());
    std::set<std::string> mine;
    for (const llvm::GlobalValue& value : module.global_values()) {
        if (!value.isDeclaration()) mine.insert(value.getName().str());
    }
    WEFT_CHECK(!llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded),
               "the device library does not link");
    for (llvm::GlobalValue& value : module.global_values()) {
        if (value.isDeclaration() || mine.contains(value.getName().str())) continue;
        if (machine.is_set_at_load(text(value.getName()))) continue;
        value.setLinkage(llvm::GlobalValue::InternalLinkage);
        value.setVisibility(llvm::GlobalValue::DefaultVisibility);
        if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(&value)) object->setComdat(nullptr);
    }
    for (llvm::Function& function : module) {
        // The library was compiled for the least of machines: it now is code for this one.
        function.removeFnAttr("target-cpu");
        function.removeFnAttr("target-features");
        function.removeFnAttr("tune-cpu");
        function.removeFnAttr(llvm::Attribute::UWTable);
        if (function.size() == 1 && function.hasLocalLinkage() && !mine.contains(function.getName().str())) {
            inline_if_few(function);
        }
    }
    for (llvm::Function* function : wide) {
        widen(*function, *module.getFunction(scalar_name_of(function->getName().str())));
        function->setLinkage(llvm::GlobalValue::InternalLinkage);
        inline_if_few(*function);
    }
    const auto left = unbound(module, machine);
    WEFT_CHECK(left.empty(), "the device library calls unknown " + *left.begin());
}

}  // namespace weft::codegen::llvm_backend
