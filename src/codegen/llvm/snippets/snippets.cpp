#include "codegen/llvm/snippets/snippets.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Linker/Linker.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/llvm/optimize.h"
#include "codegen/llvm/snippets/clang.h"
#include "codegen/snippet_place.h"
#include "codegen/snippet_text.h"

namespace weft::codegen::llvm_backend {
namespace {

#if WEFT_SNIPPETS

// The snippet that the code of `name` belongs to: all that a snippet defines lies in a namespace of its own.
const ir::Op& snippet_of(llvm::StringRef name, const SnippetText& text) {
    constexpr llvm::StringLiteral kNamespace = "weft_snippet_";
    unsigned index = 0;
    for (const ir::Op* op : text.snippets) {
        if (name == snippet_symbol(*op)) return *op;
    }
    if (const size_t at = name.find(kNamespace); at != llvm::StringRef::npos) {
        name.substr(at + kNamespace.size()).take_while(llvm::isDigit).getAsInteger(10, index);
    }
    return *text.snippets.at(std::min<size_t>(index, text.snippets.size() - 1));
}

// "mystery(float)" of a name as the linker sees it.
std::string written_name(llvm::StringRef name) {
    std::string out = llvm::demangle(name);
    if (const auto at = out.find("weft_snippet_"); at != std::string::npos) {
        out.erase(at, out.find("::", at) + 2 - at);
    }
    return out;
}

// What is left to be bound later must be there.
void check_calls(const llvm::Module& made, const SnippetText& text, const Machine& machine) {
    for (const llvm::Function& function : made) {
        const llvm::StringRef name = function.getName();
        const bool ours = name.starts_with("weft_") || machine.is_bound_at_load(name.str());
        if (!function.isDeclaration() || function.isIntrinsic() || ours) continue;
        llvm::StringRef caller = name;
        for (const llvm::User* user : function.users()) {
            if (const auto* call = llvm::dyn_cast<llvm::Instruction>(user)) caller = call->getFunction()->getName();
        }
        throw UserError(
            ErrorKind::Name,
            "the native snippet calls `" + written_name(name) + "`, which is not there: it has what it defines itself",
            snippet_of(caller, text).location);
    }
    for (const llvm::GlobalVariable& variable : made.globals()) {
        const llvm::StringRef name = variable.getName();
        if (!variable.isDeclaration() && name != "llvm.global_ctors") continue;
        throw UserError(
            ErrorKind::Unsupported,
            variable.isDeclaration()
                ? "the native snippet uses `" + written_name(name) + "`, which is not there"
                : "a variable of the native snippet would be set by code before it runs, which nothing does",
            snippet_of(name, text).location);
    }
}

// Functions that call functions: more of them than this are taken for a recursion.
constexpr int kDeepest = 8;

// Whether running the function changes anything but its own variables and what its last parameters, from `results` on,
// point to.
bool has_effects(const llvm::Function& function, unsigned results, int depth = 0) {
    if (depth == kDeepest) return true;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        if (!instruction.mayWriteToMemory()) continue;
        const llvm::Value* place = nullptr;
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) place = store->getPointerOperand();
        if (const auto* intrinsic = llvm::dyn_cast<llvm::AnyMemIntrinsic>(&instruction))
            place = intrinsic->getRawDest();
        if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
            const llvm::Function* callee = call->getCalledFunction();
            const bool of_numbers = callee != nullptr && llvm::none_of(call->args(), [](const llvm::Use& use) {
                                        return use->getType()->isPointerTy();
                                    });
            // The mathematics of the C library, or of a GPU's by way of functions of ours.
            const bool maths = of_numbers && callee->isDeclaration() && !callee->getName().starts_with("weft_");
            if (maths && (!callee->isIntrinsic() || callee->doesNotAccessMemory())) continue;
            if (of_numbers && !callee->isDeclaration() && !has_effects(*callee, callee->arg_size(), depth + 1))
                continue;
        }
        if (place == nullptr) return true;
        const llvm::Value* object = llvm::getUnderlyingObject(place);
        const auto* argument = llvm::dyn_cast<llvm::Argument>(object);
        if (!llvm::isa<llvm::AllocaInst>(object) && (argument == nullptr || argument->getArgNo() < results))
            return true;
    }
    return false;
}

// A snippet that the backward pass would run a second time must change nothing.
void check_repeated(llvm::Module& made, const SnippetText& text) {
    for (const ir::Op* op : text.snippets) {
        if (op->snippet_use() != ir::SnippetUse::Repeat) continue;
        llvm::Function* function = made.getFunction(snippet_symbol(*op));
        if (!has_effects(*function, static_cast<unsigned>(op->operands.size()))) continue;
        throw repeated_snippet_error(*op);
    }
}

#endif

}  // namespace

void link_snippets(const ir::Module& module, [[maybe_unused]] llvm::Module& target,
                   [[maybe_unused]] const Options& options, [[maybe_unused]] const Machine& machine) {
    const SnippetText text = snippet_text(module);
    if (text.snippets.empty()) return;
#if WEFT_SNIPPETS
    std::vector<CompilerMessage> messages;
    const auto translated = [&](const std::string& source, const Options& how) {
        messages.clear();
        return run_clang(target.getContext(), target.getTargetTriple(), source, how, messages);
    };
    std::unique_ptr<llvm::Module> made;
    if (options.line_info) made = translated(snippet_text(module, true).source, options);
    if (!made) {  // messages are placed by the snippet that they are about
        Options plain = options;
        plain.line_info = false;
        made = translated(text.source, plain);
    }
    if (!made) throw snippet_error(messages, text);
    check_calls(*made, text, machine);
    made->setDataLayout(target.getDataLayout());
    const bool repeats = std::ranges::any_of(
        text.snippets, [](const ir::Op* op) { return op->snippet_use() == ir::SnippetUse::Repeat; });
    if (options.optimize > 0 || repeats) unroll(*made);
    check_repeated(*made, text);
    std::set<std::string> names;
    for (const llvm::GlobalValue& value : made->global_values()) {
        if (!value.isDeclaration()) names.insert(value.getName().str());
    }
    if (auto* used = made->getGlobalVariable("llvm.used")) used->eraseFromParent();
    if (auto* used = made->getGlobalVariable("llvm.compiler.used")) used->eraseFromParent();
    WEFT_CHECK(!llvm::Linker::linkModules(target, std::move(made)), "the snippets do not link");
    for (const std::string& name : names) {
        auto* value = target.getNamedValue(name);
        if (value == nullptr) continue;
        value->setLinkage(llvm::GlobalValue::InternalLinkage);
        value->setVisibility(llvm::GlobalValue::DefaultVisibility);
        value->setDSOLocal(true);
        if (auto* object = llvm::dyn_cast<llvm::GlobalObject>(value)) object->setComdat(nullptr);
        auto* function = llvm::dyn_cast<llvm::Function>(value);
        if (function == nullptr) continue;
        for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"}) function->removeFnAttr(attribute);
        function->removeFnAttr(llvm::Attribute::UWTable);
        function->setDoesNotThrow();
        if (!function->hasFnAttribute(llvm::Attribute::NoInline)) function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
#else
    throw UserError(
        ErrorKind::Unsupported,
        "this build of Weft has no C++ compiler for native snippets (it was configured with WEFT_SNIPPETS=OFF)",
        text.snippets.front()->location);
#endif
}

}  // namespace weft::codegen::llvm_backend
