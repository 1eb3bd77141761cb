#include "codegen/llvm/module_emitter.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "codegen/llvm/function_emitter.h"

namespace weft::codegen::llvm_backend {
namespace {

int coordinates_used(const ir::Module& module) {
    int used = 0;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::ThreadIndex) used = std::max(used, static_cast<int>(op.ints.at(0)) + 1);
        });
    }
    return used;
}

llvm::Function* declare(ModuleContext& module, const ir::Function& function) {
    auto& context = module.llvm.getContext();
    auto* pointer = llvm::PointerType::getUnqual(context);
    auto* word = llvm::Type::getInt64Ty(context);
    if (function.kind == ir::FunctionKind::Kernel) return module.machine.declare_kernel(module, function);
    llvm::IRBuilder<> builder(context);
    ScalarEmitter scalars(module.llvm, builder, module.machine, false);
    const auto append = [&](ir::Type type, llvm::SmallVectorImpl<llvm::Type*>& out) {
        for (const Leaf& leaf : module.leaves_of(type)) {
            out.push_back(leaf.kind == LeafKind::Number    ? scalars.type(leaf.scalar)
                          : leaf.kind == LeafKind::Pointer ? static_cast<llvm::Type*>(pointer)
                                                           : word);
        }
    };
    llvm::SmallVector<llvm::Type*, 8> parameters = {pointer, word};
    parameters.append(static_cast<size_t>(module.coordinates), llvm::Type::getInt32Ty(context));
    for (const ir::Value* parameter : function.parameters()) append(parameter->type, parameters);
    llvm::SmallVector<llvm::Type*, 8> results;
    for (const ir::Type type : function.results) append(type, results);
    // A struct of nothing is no result that PTX has.
    llvm::Type* result = results.empty() ? llvm::Type::getVoidTy(context)
                                         : static_cast<llvm::Type*>(llvm::StructType::get(context, results));
    auto* type = llvm::FunctionType::get(result, parameters, false);
    auto* out = llvm::Function::Create(type, llvm::Function::InternalLinkage, function.name, module.llvm);
    out->setDoesNotThrow();
    return out;
}

void emit_function(ModuleContext& module, const ir::Function& function, llvm::Function& target) {
    FunctionEmitter emitter(module, function, target);
    ItemContext& item = emitter.item();
    unsigned next = 0;
    item.shape = target.getArg(next++);
    item.item = target.getArg(next++);
    for (int i = 0; i < module.coordinates; ++i) item.coordinates.push_back(target.getArg(next++));
    for (const ir::Value* parameter : function.parameters()) {
        Scalars scalars;
        for (size_t i = 0; i < module.leaves_of(parameter->type).size(); ++i) scalars.push_back(target.getArg(next++));
        emitter.set(parameter, std::move(scalars));
    }
    auto& b = emitter.builder();
    llvm::BasicBlock* body = emitter.block("body");
    b.CreateBr(body);
    b.SetInsertPoint(body);
    Join exit = emitter.join("return", function.results);
    emitter.body(exit);
    emitter.finish(exit);
    emitter.free_stacks();
    if (target.getReturnType()->isVoidTy()) {
        b.CreateRetVoid();
        return;
    }
    llvm::Value* result = llvm::PoisonValue::get(target.getReturnType());
    for (unsigned i = 0; i < exit.phis.size(); ++i) {
        if (exit.phis[i] != nullptr) result = b.CreateInsertValue(result, exit.phis[i], i);
    }
    b.CreateRet(result);
}

// Functions become part of their callers where that keeps the code small: short ones, those called once, and those
// whose copies together stay below a bound.
void decide_inlining(ModuleContext& module) {
    constexpr size_t kShort = 60;
    constexpr size_t kCopies = 2000;
    for (const auto& [source, target] : module.functions) {
        if (source->kind == ir::FunctionKind::Kernel) continue;
        size_t ops = 0;
        ir::walk(source->body, [&](const ir::Op&) { ++ops; });
        const size_t uses = target->getNumUses();
        if (ops <= kShort || uses <= 1 || ops * uses <= kCopies) target->addFnAttr(llvm::Attribute::AlwaysInline);
    }
}

}  // namespace

void emit_module(const ir::Module& source, llvm::Module& target, const Options& options, const Machine& machine) {
    ModuleContext module{source, target, options, machine, coordinates_used(source), {}, {}};
    std::optional<DebugLines> lines;
    if (options.line_info) module.lines = &lines.emplace(target);
    for (const auto& function : source.functions) module.functions[function.get()] = declare(module, *function);
    for (const auto& function : source.functions) {
        llvm::Function& out = *module.functions.at(function.get());
        if (function->kind == ir::FunctionKind::Kernel) {
            machine.emit_kernel(module, *function, out);
        } else {
            emit_function(module, *function, out);
        }
    }
    if (lines) lines->finish();
    if (options.optimize > 0) decide_inlining(module);
}

}  // namespace weft::codegen::llvm_backend
