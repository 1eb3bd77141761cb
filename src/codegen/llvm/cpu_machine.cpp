#include "codegen/llvm/cpu_machine.h"

#if defined(__x86_64__)
#include <llvm/IR/IntrinsicsX86.h>
#endif

#include "base/error.h"
#include "codegen/compile.h"
#include "codegen/llvm/kernel_entry.h"
#include "codegen/llvm/lane_count.h"
#include "codegen/llvm/target.h"
#include "codegen/symbols.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

namespace {

void call_variadic(llvm::IRBuilder<>& builder, std::string_view name, llvm::ArrayRef<llvm::Type*> fixed,
                   llvm::ArrayRef<Value*> arguments) {
    llvm::Module& module = *builder.GetInsertBlock()->getModule();
    auto* type = llvm::FunctionType::get(builder.getVoidTy(), fixed, true);
    builder.CreateCall(type, declared(module, name, type), arguments);
}

// Widest first; none where the kernel is not fit for lanes.
llvm::SmallVector<LaneBody, 2> lane_bodies(ModuleContext& module, const ir::Function& kernel, int native,
                                           bool exactly) {
    if (native <= 1 || module.coordinates == 0) return {};
    const auto alone = for_lanes(module.ir, kernel.name);
    const ir::Function& body = *alone->find(kernel.name);
    llvm::SmallVector<LaneBody, 2> out;
    const int widest = exactly ? native : lane_count(body, module.coordinates, native);
    for (const int lanes : {widest, native}) {
        if (!out.empty() && lanes == out.back().lanes) break;
        out.push_back(emit_lanes(module, body, lanes));
        if (out.back().function == nullptr) return {};
        out.back().function->addFnAttr(llvm::Attribute::AlwaysInline);
    }
    WEFT_CHECK(out.front().conditions == out.back().conditions, "lanes of other conditions in " + kernel.name);
    return out;
}

}  // namespace

bool CpuMachine::has_half_instructions() const { return HostTarget::has_half_instructions(); }

bool CpuMachine::has_fast_gathers() const { return lanes_ == HostTarget::lanes() && HostTarget::has_fast_gathers(); }

bool CpuMachine::updates_unaligned() const {
#if defined(__x86_64__)
    return true;
#else
    return false;
#endif
}

bool CpuMachine::is_bound_at_load(std::string_view symbol) const { return is_host_symbol(symbol); }

Value* CpuMachine::to_integer(llvm::IRBuilder<>& builder, Value* number, bool wide) const {
#if defined(__x86_64__)
    const bool is_double = number->getType()->isDoubleTy();
    auto* vector = llvm::FixedVectorType::get(number->getType(), is_double ? 2 : 4);
    Value* lanes = builder.CreateInsertElement(llvm::PoisonValue::get(vector), number, uint64_t{0});
    using namespace llvm::Intrinsic;
    const ID id = is_double ? (wide ? x86_sse2_cvttsd2si64 : x86_sse2_cvttsd2si)
                            : (wide ? x86_sse_cvttss2si64 : x86_sse_cvttss2si);
    return builder.CreateIntrinsic(id, {}, {lanes});
#else
    // An instruction that saturates, and makes 0 of what is no number: it is right but from the limit on.
    const int bits = wide ? 64 : 32;
    llvm::Type* type = builder.getIntNTy(bits);
    Value* near = builder.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {type, number->getType()}, {number});
    Value* fits = builder.CreateFCmpOLT(number, llvm::ConstantFP::get(number->getType(), wide ? 0x1p63 : 0x1p31));
    return builder.CreateSelect(fits, near, llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(bits)));
#endif
}

void CpuMachine::print(llvm::IRBuilder<>& builder, llvm::Constant* format, llvm::ArrayRef<Value*> arguments) const {
    llvm::SmallVector<Value*, 8> all = {format};
    all.append(arguments.begin(), arguments.end());
    call_variadic(builder, "weft_print", {builder.getPtrTy()}, all);
}

void CpuMachine::assert_failed(llvm::IRBuilder<>& builder, llvm::Constant* format, Value* /*shape*/, Value* item,
                               llvm::ArrayRef<Value*> numbers) const {
    llvm::SmallVector<Value*, 8> all = {format, item};
    all.append(numbers.begin(), numbers.end());
    call_variadic(builder, "weft_assert_failed", {builder.getPtrTy(), builder.getInt64Ty()}, all);
}

llvm::Function* CpuMachine::declare_kernel(ModuleContext& module, const ir::Function& kernel) const {
    auto& context = module.llvm.getContext();
    auto* pointer = llvm::PointerType::getUnqual(context);
    auto* word = llvm::Type::getInt64Ty(context);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, word, word}, false);
    auto* out = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry_symbol(kernel.name), module.llvm);
    for (unsigned i = 0; i < 2; ++i) {
        out->addParamAttr(i, llvm::Attribute::NoAlias);
        out->addParamAttr(i, llvm::Attribute::ReadOnly);
    }
    out->setDoesNotThrow();
    return out;
}

void CpuMachine::emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const {
    const auto bodies = lane_bodies(module, kernel, lanes_, exactly_);
    if (!bodies.empty()) {
        const std::string bits = std::to_string(32 * lanes_);
        target.addFnAttr("prefer-vector-width", bits);
        target.addFnAttr("min-legal-vector-width", bits);
    }
    emit_kernel_entry(module, kernel, target, bodies);
}

}  // namespace weft::codegen::llvm_backend
