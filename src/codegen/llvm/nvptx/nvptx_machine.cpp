#include "codegen/llvm/nvptx/nvptx_machine.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>

#include "codegen/llvm/nvptx/libdevice.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

namespace {

// In memory of this thread, one after the other, each at a multiple of its size.
Value* in_memory(llvm::IRBuilder<>& builder, llvm::ArrayRef<Value*> values) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (const Value* value : values) types.push_back(value->getType());
    auto* type = llvm::StructType::get(builder.getContext(), types);
    llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> start(&entry, entry.begin());
    Value* out = start.CreateAlloca(type);
    for (unsigned i = 0; i < values.size(); ++i) {
        builder.CreateStore(values[i], builder.CreateStructGEP(type, out, i));
    }
    return out;
}

Value* call(llvm::IRBuilder<>& builder, std::string_view name, llvm::Type* result, llvm::ArrayRef<Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 4> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    auto* type = llvm::FunctionType::get(result, types, false);
    return builder.CreateCall(type, declared(*builder.GetInsertBlock()->getModule(), name, type), arguments);
}

}  // namespace

std::string NvptxMachine::math_symbol(std::string_view c_name) const { return libdevice_symbol(c_name); }

bool NvptxMachine::is_bound_at_load(std::string_view symbol) const {
    // What the driver provides.
    constexpr auto kDriver = std::to_array<std::string_view>({"vprintf", "malloc", "free"});
    return std::find(kDriver.begin(), kDriver.end(), symbol) != kDriver.end() || is_libdevice_symbol(symbol);
}

// The instructions take the nearest number that fits, and 0 for NaN.
Value* NvptxMachine::to_integer(llvm::IRBuilder<>& builder, Value* number, bool wide) const {
    using namespace llvm::Intrinsic;
    const bool is_double = number->getType()->isDoubleTy();
    const ID id = is_double ? (wide ? nvvm_d2ll_rz : nvvm_d2i_rz) : (wide ? nvvm_f2ll_rz : nvvm_f2i_rz);
    Value* truncated = builder.CreateIntrinsic(id, {}, {number});
    Value* fits = builder.CreateFCmpOLT(number, llvm::ConstantFP::get(number->getType(), wide ? 0x1p63 : 0x1p31));
    return builder.CreateSelect(fits, truncated,
                                llvm::ConstantInt::get(truncated->getType(), uint64_t{1} << (wide ? 63 : 31)));
}

void NvptxMachine::print(llvm::IRBuilder<>& builder, llvm::Constant* format, llvm::ArrayRef<Value*> arguments) const {
    Value* packed =
        arguments.empty() ? llvm::ConstantPointerNull::get(builder.getPtrTy()) : in_memory(builder, arguments);
    call(builder, "vprintf", builder.getInt32Ty(), {format, packed});
}

void NvptxMachine::assert_failed(llvm::IRBuilder<>& builder, llvm::Constant* format, Value* shape, Value* item,
                                 llvm::ArrayRef<Value*> numbers) const {
    Value* packed = numbers.empty() ? llvm::ConstantPointerNull::get(builder.getPtrTy()) : in_memory(builder, numbers);
    call(builder, "weft_report_failure", builder.getVoidTy(),
         {format, shape, item, packed, builder.getInt32(static_cast<uint32_t>(numbers.size()))});
}

}  // namespace weft::codegen::llvm_backend
