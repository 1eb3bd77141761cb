#include "codegen/llvm/scalar.h"

#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "codegen/llvm/widen.h"
#include "codegen/symbols.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::Scalar;
using llvm::Value;

llvm::FastMathFlags math_flags(const Options& options) {
    llvm::FastMathFlags flags;
    if (options.contract) flags.setAllowContract();
    if (options.fast_math) {
        flags.setAllowReassoc();
        flags.setAllowReciprocal();
        flags.setApproxFunc();
    }
    return flags;
}

ScalarEmitter::ScalarEmitter(llvm::Module& module, llvm::IRBuilder<>& builder, const Machine& machine, bool fast_math)
    : module_(module), builder_(builder), machine_(machine), fast_math_(fast_math) {}

llvm::Type* ScalarEmitter::type(Scalar scalar) const {
    auto& context = module_.getContext();
    switch (scalar) {
        case Scalar::Bool:
            return llvm::Type::getInt1Ty(context);
        case Scalar::F16:
        case Scalar::BF16:
            return llvm::Type::getInt16Ty(context);
        case Scalar::F32:
            return llvm::Type::getFloatTy(context);
        case Scalar::F64:
            return llvm::Type::getDoubleTy(context);
        default:
            return llvm::Type::getIntNTy(context, static_cast<unsigned>(ir::scalar_bits(scalar)));
    }
}

llvm::Type* ScalarEmitter::type(Scalar scalar, const llvm::Value* like) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    return vector == nullptr ? type(scalar) : llvm::FixedVectorType::get(type(scalar), vector->getNumElements());
}

llvm::Constant* ScalarEmitter::constant(Scalar scalar, uint64_t bits) const {
    llvm::Type* t = type(scalar);
    if (scalar == Scalar::F32)
        return llvm::ConstantFP::get(t, llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits)));
    if (scalar == Scalar::F64)
        return llvm::ConstantFP::get(t, llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, bits)));
    if (scalar == Scalar::Bool) return llvm::ConstantInt::getBool(t, bits != 0);
    return llvm::ConstantInt::get(t, bits);
}

// --- half precision --------------------------------------------------------------------------------------------------

llvm::Type* ScalarEmitter::half_type(const Value* like) const {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
    auto* half = builder_.getHalfTy();
    return vector == nullptr ? static_cast<llvm::Type*>(half)
                             : llvm::FixedVectorType::get(half, vector->getNumElements());
}

Value* ScalarEmitter::widen(Scalar half, Value* bits) {
    if (half == Scalar::BF16) {
        return builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(bits, type(Scalar::U32, bits)), 16),
                                      type(Scalar::F32, bits));
    }
    if (machine_.has_half_instructions()) {
        return builder_.CreateFPExt(builder_.CreateBitCast(bits, half_type(bits)), type(Scalar::F32, bits));
    }
    auto* signature = llvm::FunctionType::get(builder_.getFloatTy(), {builder_.getInt16Ty()}, false);
    auto* call = builder_.CreateCall(outside_function("weft_f16_to_f32", signature, true), {bits});
    call->addParamAttr(0, llvm::Attribute::ZExt);
    return call;
}

Value* ScalarEmitter::narrow(Scalar half, Value* f32) {
    if (half == Scalar::F16) {
        if (machine_.has_half_instructions()) {
            return builder_.CreateBitCast(builder_.CreateFPTrunc(f32, half_type(f32)), type(Scalar::U16, f32));
        }
        auto* signature = llvm::FunctionType::get(builder_.getInt16Ty(), {builder_.getFloatTy()}, false);
        return builder_.CreateCall(outside_function("weft_f32_to_f16", signature, true), {f32});
    }
    Value* bits = builder_.CreateBitCast(f32, type(Scalar::U32, f32));
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), uint64_t{1});
    Value* half_unit = llvm::ConstantInt::get(bits->getType(), 0x7fff);
    Value* rounded = builder_.CreateLShr(builder_.CreateAdd(bits, builder_.CreateAdd(odd, half_unit)), 16);
    Value* quiet = builder_.CreateOr(builder_.CreateLShr(bits, 16), uint64_t{0x40});
    Value* chosen = builder_.CreateSelect(builder_.CreateFCmpUNO(f32, f32), quiet, rounded);
    return builder_.CreateTrunc(chosen, type(Scalar::U16, f32));
}

Value* ScalarEmitter::narrow_double(Scalar half, Value* f64) {
    // Rounding twice would be wrong, so the first step rounds to odd: an inexact f32 gets its last bit set, which keeps
    // it on the right side of every tie of the shorter format.
    Value* near = builder_.CreateFPTrunc(f64, type(Scalar::F32, f64));
    Value* back = builder_.CreateFPExt(near, f64->getType());
    auto magnitude = [&](Value* v) { return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
    Value* above = builder_.CreateFCmpOGT(magnitude(back), magnitude(f64));
    Value* inexact = builder_.CreateFCmpONE(back, f64);
    Value* bits = builder_.CreateBitCast(near, type(Scalar::U32, f64));
    Value* toward_zero = builder_.CreateSub(bits, builder_.CreateZExt(above, bits->getType()));
    Value* odd = builder_.CreateOr(toward_zero, builder_.CreateZExt(inexact, bits->getType()));
    return narrow(half, builder_.CreateBitCast(odd, near->getType()));
}

// --- arithmetic ------------------------------------------------------------------------------------------------------

Value* ScalarEmitter::unary(Opcode code, Scalar scalar, Value* a) {
    if (scalar == Scalar::Bool) {
        WEFT_CHECK(code == Opcode::Not, std::string(ir::mnemonic(code)) + " of bool");
        return builder_.CreateNot(a);
    }
    if (is_half(scalar)) {
        if (code == Opcode::Neg) return builder_.CreateXor(a, uint64_t{0x8000});
        WEFT_CHECK(code == Opcode::Abs, std::string(ir::mnemonic(code)) + " of a half");
        return builder_.CreateAnd(a, uint64_t{0x7fff});
    }
    if (ir::is_float(scalar)) {
        if (code == Opcode::Neg) return builder_.CreateFNeg(a);
        WEFT_CHECK(code == Opcode::Abs, std::string(ir::mnemonic(code)) + " of a float");
        return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    }
    switch (code) {
        case Opcode::Neg:
            return builder_.CreateNeg(a);
        case Opcode::Not:
            return builder_.CreateNot(a);
        case Opcode::Abs:
            if (!ir::is_signed_int(scalar)) return a;
            return builder_.CreateSelect(builder_.CreateICmpSLT(a, llvm::Constant::getNullValue(a->getType())),
                                         builder_.CreateNeg(a), a);
        default:
            break;
    }
    WEFT_CHECK(false, std::string(ir::mnemonic(code)) + " is not unary");
}

Value* ScalarEmitter::float_binary(Opcode code, Value* a, Value* b) {
    const auto choose = [&](Value* better) {
        Value* take_b = builder_.CreateOr(better, builder_.CreateFCmpUNO(a, a));
        return builder_.CreateSelect(take_b, b, a);
    };
    switch (code) {
        case Opcode::Add:
            return builder_.CreateFAdd(a, b);
        case Opcode::Sub:
            return builder_.CreateFSub(a, b);
        case Opcode::Mul:
            return builder_.CreateFMul(a, b);
        case Opcode::Div:
            return builder_.CreateFDiv(a, b);
        case Opcode::FloorDiv:
            return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, builder_.CreateFDiv(a, b));
        case Opcode::Rem:
            return call_math(a->getType()->getScalarType()->isDoubleTy() ? "fmod" : "fmodf", {a, b});
        case Opcode::Min:
            return choose(builder_.CreateFCmpOLT(b, a));
        case Opcode::Max:
            return choose(builder_.CreateFCmpOGT(b, a));
        default:
            break;
    }
    WEFT_CHECK(false, std::string(ir::mnemonic(code)) + " of floats");
}

// There are no instructions that divide vectors of integers. The quotient of two numbers of 32 bits, rounded to the 53
// bits of a double, has their true integer part.
Value* ScalarEmitter::vector_division(bool is_signed, Value* a, Value* b) {
    llvm::Type* floats = type(Scalar::F64, a);
    const auto convert = [&](Value* v) {
        return is_signed ? builder_.CreateSIToFP(v, floats) : builder_.CreateUIToFP(v, floats);
    };
    Value* quotient = builder_.CreateFDiv(convert(a), convert(b));
    return is_signed ? builder_.CreateFPToSI(quotient, a->getType()) : builder_.CreateFPToUI(quotient, a->getType());
}

Value* ScalarEmitter::integer_division(Opcode code, Scalar scalar, Value* a, Value* b) {
    const bool is_signed = ir::is_signed_int(scalar);
    Value* none = llvm::ConstantInt::get(a->getType(), 0);
    Value* one = llvm::ConstantInt::get(a->getType(), 1);
    const auto* vector = llvm::dyn_cast<llvm::Constant>(b);
    const auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(
        vector != nullptr && b->getType()->isVectorTy() ? vector->getSplatValue() : b);
    if (known != nullptr && known->isZero()) return none;
    const bool maybe_zero = known == nullptr;
    const bool maybe_minus_one = is_signed && (known == nullptr || known->isMinusOne());
    // Dividing by one instead where the machine would trap; the true results are put in afterwards.
    Value* never = llvm::ConstantInt::getFalse(llvm::CmpInst::makeCmpResultType(a->getType()));
    Value* zero = maybe_zero ? builder_.CreateICmpEQ(b, none) : never;
    Value* minus_one =
        maybe_minus_one ? builder_.CreateICmpEQ(b, llvm::ConstantInt::getSigned(b->getType(), -1)) : never;
    Value* safe = builder_.CreateSelect(builder_.CreateOr(zero, minus_one), one, b);
    const bool slow = a->getType()->isVectorTy() && known == nullptr && ir::scalar_bits(scalar) <= 32;
    Value* quotient = slow        ? vector_division(is_signed, a, safe)
                      : is_signed ? builder_.CreateSDiv(a, safe)
                                  : builder_.CreateUDiv(a, safe);
    if (code == Opcode::Rem) {
        if (slow) return builder_.CreateSub(a, builder_.CreateMul(quotient, safe));
        return is_signed ? builder_.CreateSRem(a, safe) : builder_.CreateURem(a, safe);
    }
    if (code == Opcode::FloorDiv && is_signed) {
        Value* remainder = builder_.CreateSub(a, builder_.CreateMul(quotient, safe));
        Value* inexact = builder_.CreateICmpNE(remainder, none);
        Value* opposite = builder_.CreateICmpSLT(builder_.CreateXor(remainder, safe), none);
        Value* down = builder_.CreateZExt(builder_.CreateAnd(inexact, opposite), a->getType());
        quotient = builder_.CreateSub(quotient, down);
    }
    Value* result = builder_.CreateSelect(minus_one, builder_.CreateNeg(a), quotient);
    return builder_.CreateSelect(zero, none, result);
}

Value* ScalarEmitter::binary(Opcode code, Scalar scalar, Value* a, Value* b) {
    if (is_half(scalar)) return narrow(scalar, float_binary(code, widen(scalar, a), widen(scalar, b)));
    if (ir::is_float(scalar)) return float_binary(code, a, b);
    const bool is_signed = ir::is_signed_int(scalar);
    const auto count = [&] {
        return builder_.CreateAnd(
            b, llvm::ConstantInt::get(b->getType(), static_cast<uint64_t>(ir::scalar_bits(scalar) - 1)));
    };
    switch (code) {
        case Opcode::Add:
            return builder_.CreateAdd(a, b);
        case Opcode::Sub:
            return builder_.CreateSub(a, b);
        case Opcode::Mul:
            return builder_.CreateMul(a, b);
        case Opcode::Div:
        case Opcode::FloorDiv:
        case Opcode::Rem:
            return integer_division(code, scalar, a, b);
        case Opcode::Min:
            return builder_.CreateSelect(is_signed ? builder_.CreateICmpSLT(b, a) : builder_.CreateICmpULT(b, a), b, a);
        case Opcode::Max:
            return builder_.CreateSelect(is_signed ? builder_.CreateICmpSGT(b, a) : builder_.CreateICmpUGT(b, a), b, a);
        case Opcode::And:
            return builder_.CreateAnd(a, b);
        case Opcode::Or:
            return builder_.CreateOr(a, b);
        case Opcode::Xor:
            return builder_.CreateXor(a, b);
        case Opcode::Shl:
            return builder_.CreateShl(a, count());
        case Opcode::Shr:
            return is_signed ? builder_.CreateAShr(a, count()) : builder_.CreateLShr(a, count());
        default:
            break;
    }
    WEFT_CHECK(false, std::string(ir::mnemonic(code)) + " is not binary");
}

Value* ScalarEmitter::compare(Opcode code, Scalar scalar, Value* a, Value* b) {
    if (is_half(scalar)) {
        a = widen(scalar, a);
        b = widen(scalar, b);
    }
    const auto predicate = [&](llvm::CmpInst::Predicate floats, llvm::CmpInst::Predicate signeds,
                               llvm::CmpInst::Predicate unsigneds) {
        return ir::is_float(scalar) ? floats : ir::is_signed_int(scalar) ? signeds : unsigneds;
    };
    using P = llvm::CmpInst;
    switch (code) {
        case Opcode::Eq:
            return builder_.CreateCmp(predicate(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ), a, b);
        case Opcode::Ne:
            return builder_.CreateCmp(predicate(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE), a, b);
        case Opcode::Lt:
            return builder_.CreateCmp(predicate(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT), a, b);
        case Opcode::Le:
            return builder_.CreateCmp(predicate(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE), a, b);
        case Opcode::Gt:
            return builder_.CreateCmp(predicate(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT), a, b);
        case Opcode::Ge:
            return builder_.CreateCmp(predicate(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE), a, b);
        default:
            break;
    }
    WEFT_CHECK(false, std::string(ir::mnemonic(code)) + " is not a comparison");
}

// --- maths -----------------------------------------------------------------------------------------------------------

llvm::Function* declared(llvm::Module& module, std::string_view name, llvm::FunctionType* type) {
    const llvm::StringRef symbol(name.data(), name.size());
    if (llvm::Function* known = module.getFunction(symbol)) return known;
    auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
    function->setDoesNotThrow();
    function->setWillReturn();
    return function;
}

llvm::FunctionCallee ScalarEmitter::outside_function(std::string_view name, llvm::FunctionType* type,
                                                     bool reads_nothing) {
    llvm::Function* function = declared(module_, name, type);
    if (reads_nothing) function->setDoesNotAccessMemory();
    return function;
}

// A function that calls another one for each lane: the same bits whatever their number. One for all places, as so many
// calls take the compiler long.
llvm::Function* ScalarEmitter::lane_by_lane(std::string_view name, llvm::ArrayRef<Value*> operands) {
    auto* vector = llvm::cast<llvm::FixedVectorType>(operands[0]->getType());
    const std::string own_name = std::string(name) + ".x" + std::to_string(vector->getNumElements());
    if (llvm::Function* made = module_.getFunction(own_name)) return made;
    const llvm::SmallVector<llvm::Type*, 2> types(operands.size(), vector);
    auto* function = llvm::Function::Create(llvm::FunctionType::get(vector, types, false),
                                            llvm::Function::InternalLinkage, own_name, module_);
    function->addFnAttr(llvm::Attribute::NoInline);
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setDoesNotAccessMemory();
    const llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    Value* out = llvm::PoisonValue::get(vector);
    for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
        llvm::SmallVector<Value*, 2> parts;
        for (llvm::Argument& argument : function->args()) {
            parts.push_back(builder_.CreateExtractElement(&argument, lane));
        }
        out = builder_.CreateInsertElement(out, call_math(name, parts), lane);
    }
    builder_.CreateRet(out);
    return function;
}

Value* ScalarEmitter::call_math(std::string_view name, llvm::ArrayRef<Value*> operands) {
    if (operands[0]->getType()->isVectorTy()) return builder_.CreateCall(lane_by_lane(name, operands), operands);
    llvm::SmallVector<llvm::Type*, 2> types(operands.size(), operands[0]->getType());
    auto* signature = llvm::FunctionType::get(operands[0]->getType(), types, false);
    auto* call = builder_.CreateCall(outside_function(machine_.math_symbol(name), signature, true), operands);
    // LLVM would fold calls of constants with other digits than the library's.
    call->addFnAttr(llvm::Attribute::NoBuiltin);
    return call;
}

Value* ScalarEmitter::math(ir::MathFn fn, Scalar scalar, llvm::ArrayRef<Value*> operands) {
    if (is_half(scalar)) {
        llvm::SmallVector<Value*, 2> wide;
        for (Value* operand : operands) wide.push_back(widen(scalar, operand));
        return narrow(scalar, math(fn, Scalar::F32, wide));
    }
    const auto exact = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, operands[0]); };
    switch (fn) {
        case ir::MathFn::Sqrt:
            return exact(llvm::Intrinsic::sqrt);
        case ir::MathFn::Floor:
            return exact(llvm::Intrinsic::floor);
        case ir::MathFn::Ceil:
            return exact(llvm::Intrinsic::ceil);
        case ir::MathFn::Trunc:
            return exact(llvm::Intrinsic::trunc);
        case ir::MathFn::Rint:
            return exact(llvm::Intrinsic::rint);
        case ir::MathFn::Round:
            return exact(llvm::Intrinsic::round);
        default:
            if (machine_.uses_device_maths() && scalar == Scalar::F32 && ir::math_kind(fn) != ir::MathKind::Library) {
                return device_math(fn, operands);
            }
            return call_math(math_symbol(fn, scalar == Scalar::F64), operands);
    }
}

// A function of device/maths.h, of all lanes at once; the C library's where it does not hold.
Value* ScalarEmitter::device_math(ir::MathFn fn, llvm::ArrayRef<Value*> operands) {
    Value* x = operands[0];
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
    std::string name = "weft_" + std::string(ir::mnemonic(fn)) + "_f32";
    if (vector != nullptr) name = wide_name(name, vector->getNumElements());
    const llvm::SmallVector<llvm::Type*, 2> types(operands.size(), x->getType());
    auto callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(x->getType(), types, false));
    auto* function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setDoesNotAccessMemory();
    Value* fast = builder_.CreateCall(callee, operands);
    if (ir::math_kind(fn) == ir::MathKind::Device) return fast;
    Value* limit = llvm::ConstantFP::get(x->getType(), kDeviceMathLimit);
    Value* holds = builder_.CreateFCmpOLT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), limit);
    llvm::Function* here = builder_.GetInsertBlock()->getParent();
    auto* before = builder_.GetInsertBlock();
    auto* beyond = llvm::BasicBlock::Create(module_.getContext(), "beyond", here);
    auto* after = llvm::BasicBlock::Create(module_.getContext(), "computed", here);
    builder_.CreateCondBr(vector != nullptr ? builder_.CreateAndReduce(holds) : holds, after, beyond);
    builder_.SetInsertPoint(beyond);
    Value* slow = call_math(math_symbol(fn, false), {x});
    if (vector != nullptr) slow = builder_.CreateSelect(holds, fast, slow);
    beyond = builder_.GetInsertBlock();
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    auto* out = builder_.CreatePHI(x->getType(), 2);
    out->addIncoming(fast, before);
    out->addIncoming(slow, beyond);
    return out;
}

// --- conversion ------------------------------------------------------------------------------------------------------

Value* ScalarEmitter::to_integer(Scalar to, Value* value) {
    // What x86 computes: one truncating instruction, whose answer out of range is the most negative number. Narrow
    // types take the low bits of 32, u32 those of 64; u64 has a second try above 2^63.
    const bool is_double = value->getType()->getScalarType()->isDoubleTy();
    const auto convert = [&](Value* v, bool wide) -> Value* {
        if (v->getType()->isVectorTy()) {
            const double limit = wide ? 0x1p63 : 0x1p31;
            // Of f32, and of f64 to 64 bits, no number lies between -limit - 1 and -limit.
            Value* above = !wide && is_double
                               ? builder_.CreateFCmpOGT(v, llvm::ConstantFP::get(v->getType(), -limit - 1))
                               : builder_.CreateFCmpOGE(v, llvm::ConstantFP::get(v->getType(), -limit));
            Value* fits =
                builder_.CreateAnd(above, builder_.CreateFCmpOLT(v, llvm::ConstantFP::get(v->getType(), limit)));
            Value* safe = builder_.CreateSelect(fits, v, llvm::Constant::getNullValue(v->getType()));
            llvm::Type* out = type(wide ? Scalar::I64 : Scalar::I32, v);
            return builder_.CreateSelect(fits, builder_.CreateFPToSI(safe, out),
                                         llvm::ConstantInt::get(out, uint64_t{1} << (wide ? 63 : 31)));
        }
        return machine_.to_integer(builder_, v, wide);
    };
    const int bits = ir::scalar_bits(to);
    if (to == Scalar::U64) {
        auto* limit = llvm::ConstantFP::get(value->getType(), 0x1p63);
        Value* high = builder_.CreateOr(convert(builder_.CreateFSub(value, limit), true),
                                        llvm::ConstantInt::get(type(to, value), uint64_t{1} << 63));
        return builder_.CreateSelect(builder_.CreateFCmpOGE(value, limit), high, convert(value, true));
    }
    const bool wide = bits == 64 || to == Scalar::U32;
    return builder_.CreateTrunc(convert(value, wide), type(to, value));
}

Value* ScalarEmitter::cast(Scalar to, Scalar from, Value* value) {
    if (to == from) return value;
    const bool from_float = ir::is_float(from);
    if (is_half(from)) {
        value = widen(from, value);
        from = Scalar::F32;
        if (to == from) return value;
    }
    if (to == Scalar::Bool) {
        if (from_float) return builder_.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0.0));
        return builder_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
    }
    if (is_half(to)) {
        if (from == Scalar::F32) return narrow(to, value);
        return narrow_double(to, cast(Scalar::F64, from, value));
    }
    if (ir::is_float(to)) {
        if (from_float) return builder_.CreateFPCast(value, type(to, value));
        return ir::is_signed_int(from) ? builder_.CreateSIToFP(value, type(to, value))
                                       : builder_.CreateUIToFP(value, type(to, value));
    }
    if (from_float) return to_integer(to, value);
    return builder_.CreateIntCast(value, type(to, value), ir::is_signed_int(from));
}

Value* ScalarEmitter::bitcast(Scalar to, Scalar from, Value* value) {
    if (from == Scalar::Bool && to != Scalar::Bool) return builder_.CreateZExt(value, type(to, value));
    if (to == Scalar::Bool && from != Scalar::Bool) {
        return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    }
    return builder_.CreateBitCast(value, type(to, value));
}

// --- memory ----------------------------------------------------------------------------------------------------------

llvm::Align ScalarEmitter::alignment(int64_t bytes) const {
    return llvm::Align(machine_.takes_unaligned() ? 1 : static_cast<uint64_t>(bytes));
}

Value* ScalarEmitter::load(Scalar scalar, Value* address, llvm::Align at) {
    if (scalar == Scalar::Bool) {
        return builder_.CreateICmpNE(builder_.CreateLoad(builder_.getInt8Ty(), address), builder_.getInt8(0));
    }
    return builder_.CreateAlignedLoad(type(scalar), address, at);
}

void ScalarEmitter::store(Scalar scalar, Value* value, Value* address, llvm::Align at) {
    if (scalar == Scalar::Bool) {
        builder_.CreateStore(builder_.CreateZExt(value, builder_.getInt8Ty()), address);
    } else {
        builder_.CreateAlignedStore(value, address, at);
    }
}

Value* ScalarEmitter::updated(ir::AtomicKind kind, Scalar scalar, Value* old, Value* value) {
    const bool is_bool = scalar == Scalar::Bool;
    switch (kind) {
        case ir::AtomicKind::Add:
            return is_bool ? builder_.CreateOr(old, value) : binary(Opcode::Add, scalar, old, value);
        case ir::AtomicKind::Sub:
            return is_bool ? builder_.CreateXor(old, value) : binary(Opcode::Sub, scalar, old, value);
        case ir::AtomicKind::Min:
            return is_bool ? builder_.CreateAnd(old, value) : binary(Opcode::Min, scalar, old, value);
        case ir::AtomicKind::Max:
            return is_bool ? builder_.CreateOr(old, value) : binary(Opcode::Max, scalar, old, value);
        case ir::AtomicKind::And:
            return builder_.CreateAnd(old, value);
        case ir::AtomicKind::Or:
            return builder_.CreateOr(old, value);
        case ir::AtomicKind::Xor:
            return builder_.CreateXor(old, value);
        case ir::AtomicKind::Exchange:
            return value;
    }
    WEFT_CHECK(false, "unknown atomic");
}

Value* ScalarEmitter::exchange_loop(ir::AtomicKind kind, Scalar scalar, Value* address, Value* value) {
    const bool is_bool = scalar == Scalar::Bool;
    const unsigned bits = static_cast<unsigned>(ir::scalar_bits(scalar));
    auto* raw = builder_.getIntNTy(bits);
    const auto to_raw = [&](Value* v) {
        return is_bool ? builder_.CreateZExt(v, raw) : builder_.CreateBitCast(v, raw);
    };
    const auto from_raw = [&](Value* v) -> Value* {
        return is_bool ? builder_.CreateICmpNE(v, builder_.getInt8(0)) : builder_.CreateBitCast(v, type(scalar));
    };
    llvm::Function* function = builder_.GetInsertBlock()->getParent();
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(module_.getContext(), "exchange", function);
    auto* after = llvm::BasicBlock::Create(module_.getContext(), "exchanged", function);
    auto* first = builder_.CreateAlignedLoad(raw, address, llvm::Align(bits / 8));
    first->setAtomic(llvm::AtomicOrdering::Monotonic);
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    auto* seen = builder_.CreatePHI(raw, 2);
    seen->addIncoming(first, before);
    Value* old = from_raw(seen);
    Value* next = updated(kind, scalar, old, value);
    auto* pair = builder_.CreateAtomicCmpXchg(address, seen, to_raw(next), llvm::Align(bits / 8),
                                              llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
    seen->addIncoming(builder_.CreateExtractValue(pair, 0), builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateExtractValue(pair, 1), after, loop);
    builder_.SetInsertPoint(after);
    return old;
}

Value* ScalarEmitter::atomic(ir::AtomicKind kind, Scalar scalar, Value* address, Value* value) {
    using enum ir::AtomicKind;
    const bool floating = ir::is_float(scalar);
    if (scalar == Scalar::Bool || is_half(scalar)) return exchange_loop(kind, scalar, address, value);
    if (floating && (kind == Min || kind == Max)) return exchange_loop(kind, scalar, address, value);
    const bool is_signed = ir::is_signed_int(scalar);
    using RMW = llvm::AtomicRMWInst;
    RMW::BinOp op = RMW::Xchg;
    switch (kind) {
        case Add:
            op = floating ? RMW::FAdd : RMW::Add;
            break;
        case Sub:
            op = floating ? RMW::FSub : RMW::Sub;
            break;
        case Min:
            op = is_signed ? RMW::Min : RMW::UMin;
            break;
        case Max:
            op = is_signed ? RMW::Max : RMW::UMax;
            break;
        case And:
            op = RMW::And;
            break;
        case Or:
            op = RMW::Or;
            break;
        case Xor:
            op = RMW::Xor;
            break;
        case Exchange:
            op = RMW::Xchg;
            break;
    }
    WEFT_CHECK(!floating || op == RMW::FAdd || op == RMW::FSub || op == RMW::Xchg, "bitwise atomic on floats");
    return builder_.CreateAtomicRMW(op, address, value, llvm::Align(static_cast<uint64_t>(ir::scalar_bits(scalar)) / 8),
                                    llvm::AtomicOrdering::Monotonic);
}

}  // namespace weft::codegen::llvm_backend
