#include "codegen/llvm/lanes.h"

#include <algorithm>

#include "codegen/llvm/lane_emitter.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

LaneBody LaneEmitter::emit() {
    ir::walk(kernel_.body, [&](const ir::Op& op) {
        for (const ir::Value* operand : op.operands) used_.insert(operand);
        note_reads(op);
    });
    shape_ = target_.getArg(0);
    item_ = target_.getArg(1);
    unsigned next = 2;
    for (int d = 0; d < module_.coordinates; ++d) coordinates_.push_back(target_.getArg(next++));
    first_leaf_ = next;
    for (const ir::Value* parameter : kernel_.parameters()) {
        Scalars out;
        for (size_t i = 0; i < module_.leaves_of(parameter->type).size(); ++i) out.push_back(target_.getArg(next++));
        values_[parameter] = std::move(out);
    }
    llvm::SmallVector<llvm::Constant*, 16> numbers;
    for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(builder_.getInt64(lane));
    iota_ = llvm::ConstantVector::get(numbers);
    region(kernel_.body);
    builder_.CreateRetVoid();
    return {&target_, static_cast<int>(lanes_), std::move(conditions_), streams_};
}

void LaneEmitter::note_reads(const ir::Op& op) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
        const ir::Value* v = op.operands[i];
        if (v->type.is(TypeKind::Array) && !(op.code == Opcode::At && i == 0)) read_.insert(v);
        if (v->type.is(TypeKind::Ref) && !(op.code == Opcode::Store && i == 0)) read_.insert(array_of(v));
    }
}

llvm::SmallVector<llvm::Type*, 4> LaneEmitter::joined_types(const ir::Value* v) {
    if (v->type.is(TypeKind::Ref) || v->type.is(TypeKind::Stack)) throw NotForLanes();
    llvm::SmallVector<llvm::Type*, 4> out;
    for (const Leaf& leaf : module_.leaves_of(v->type)) {
        out.push_back(forms_.uniform(v) ? leaf_type(leaf) : wide(leaf_type(leaf)));
    }
    return out;
}

Scalars LaneEmitter::fitted(const ir::Value* v, const ir::Value* like) {
    Scalars out = value(v);
    if (!forms_.uniform(like)) {
        for (Value*& leaf : out) leaf = widen(leaf);
    }
    return out;
}

void LaneEmitter::by_leaf(const ir::Op& op, llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> make) {
    Scalars out;
    const size_t count = value(op.operands[0]).size();
    for (size_t i = 0; i < count; ++i) {
        llvm::SmallVector<Value*, 2> parts;
        bool vector = false;
        for (const ir::Value* operand : op.operands) {
            parts.push_back(value(operand)[i]);
            vector = vector || is_vector(parts.back());
        }
        for (Value*& part : parts) part = widen_if(vector, part);
        out.push_back(make(parts));
    }
    define(op, std::move(out));
}

bool LaneEmitter::is_called(ir::Type type) const {
    return !module_.machine.has_half_instructions() && (type.is_scalar() || type.is_uniform()) &&
           type.element() == ir::Scalar::F16;
}

Value* LaneEmitter::chosen(Value* condition, Value* a, Value* b) {
    const bool vector = is_vector(condition) || is_vector(a) || is_vector(b);
    return builder_.CreateSelect(condition, widen_if(vector, a), widen_if(vector, b));
}

void LaneEmitter::op(const ir::Op& op) {
    const auto operand = [&](size_t i) -> const Scalars& { return value(op.operands.at(i)); };
    const auto operand_type = [&](size_t i) { return op.operands.at(i)->type; };
    for (const ir::Value* result : op.results) {
        if (is_called(result->type)) throw NotForLanes();
    }
    for (const ir::Value* v : op.operands) {
        if (is_called(v->type)) throw NotForLanes();
    }
    if (module_.lines != nullptr) builder_.SetCurrentDebugLocation(module_.lines->at(op.location, target_));
    switch (op.code) {
        case Opcode::Const:
            return define(op, {scalars_.constant(op.result()->type.element(), static_cast<uint64_t>(op.ints.at(0)))});
        case Opcode::Zero: {
            Scalars out;
            for (const Leaf& leaf : module_.leaves_of(op.result()->type)) {
                out.push_back(llvm::Constant::getNullValue(leaf_type(leaf)));
            }
            return define(op, std::move(out));
        }
        case Opcode::Neg:
        case Opcode::Abs:
        case Opcode::Not:
            return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                return scalars_.unary(op.code, op.result()->type.element(), x[0]);
            });
        case Opcode::Math:
            return by_leaf(
                op, [&](llvm::ArrayRef<Value*> x) { return scalars_.math(op.math(), op.result()->type.element(), x); });
        case Opcode::Add:
        case Opcode::Sub:
        case Opcode::Mul:
        case Opcode::Div:
        case Opcode::FloorDiv:
        case Opcode::Rem:
        case Opcode::Min:
        case Opcode::Max:
        case Opcode::And:
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Shl:
        case Opcode::Shr:
            return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                return scalars_.binary(op.code, op.result()->type.element(), x[0], x[1]);
            });
        case Opcode::Eq:
        case Opcode::Ne:
        case Opcode::Lt:
        case Opcode::Le:
        case Opcode::Gt:
        case Opcode::Ge:
            return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                return scalars_.compare(op.code, operand_type(0).element(), x[0], x[1]);
            });
        case Opcode::Select: {
            if (op.result()->type.is(TypeKind::Ref)) throw NotForLanes();
            Scalars out;
            for (size_t i = 0; i < operand(1).size(); ++i) {
                out.push_back(chosen(operand(0)[0], operand(1)[i], operand(2)[i]));
            }
            return define(op, std::move(out));
        }
        case Opcode::Cast:
            return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                return scalars_.cast(op.result()->type.element(), operand_type(0).element(), x[0]);
            });
        case Opcode::Bitcast:
            return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                return scalars_.bitcast(op.result()->type.element(), operand_type(0).element(), x[0]);
            });
        case Opcode::Compose: {
            Scalars out;
            for (const ir::Value* part : op.operands) out.append(value(part).begin(), value(part).end());
            return define(op, std::move(out));
        }
        case Opcode::Splat:
            return define(op, Scalars(static_cast<size_t>(op.result()->type.part_count()), operand(0)[0]));
        case Opcode::Extract: {
            const auto from = first_leaf(operand_type(0), static_cast<int>(op.ints.at(0)));
            const auto count = leaf_count(op.result()->type);
            return define(op, Scalars(operand(0).begin() + from, operand(0).begin() + from + count));
        }
        case Opcode::Insert: {
            Scalars out = operand(0);
            const auto from = first_leaf(operand_type(0), static_cast<int>(op.ints.at(0)));
            std::copy(operand(1).begin(), operand(1).end(), out.begin() + from);
            return define(op, std::move(out));
        }
        case Opcode::ExtractAt: {
            const Scalars& parts = operand(0);
            Value* place = index(op.operands[1], builder_.getInt64(parts.size()));
            Value* out = parts[0];
            for (size_t i = 1; i < parts.size(); ++i) out = chosen(is_at(place, i), parts[i], out);
            return define(op, {out});
        }
        case Opcode::InsertAt: {
            Scalars out = operand(0);
            Value* place = index(op.operands[2], builder_.getInt64(out.size()));
            for (size_t i = 0; i < out.size(); ++i) out[i] = chosen(is_at(place, i), operand(1)[0], out[i]);
            return define(op, std::move(out));
        }
        case Opcode::At:
            addresses_[op.result()] = element(op);
            return;
        case Opcode::Member: {
            const int64_t bytes = ir::offset_of(operand_type(0).target(), static_cast<int>(op.ints.at(0)));
            LaneAddress a = addresses_.at(op.operands[0]);
            a.base = offset(a.base, bytes);
            a.other_base = offset(a.other_base, bytes);
            a.member += bytes;
            addresses_[op.result()] = a;
            return;
        }
        case Opcode::MemberAt:
            addresses_[op.result()] = member_at(op);
            return;
        case Opcode::View: {
            const LaneAddress a = element(op);
            if (!a.uniform()) throw NotForLanes();
            Scalars out = {a.base};
            const auto ndim = static_cast<size_t>(operand_type(0).ndim());
            const size_t dropped = op.operands.size() - 1;
            for (size_t d = dropped; d < ndim; ++d) out.push_back(operand(0)[1 + d]);
            for (size_t d = dropped; d < ndim; ++d) out.push_back(operand(0)[1 + ndim + d]);
            return define(op, std::move(out));
        }
        case Opcode::Load:
            fetch_ahead(op);
            return define(op, load_any(op.result()->type, addresses_.at(op.operands[0])));
        case Opcode::Store:
            return by_address(addresses_.at(op.operands[0]), [&](const LaneAddress& a) {
                const ir::Value* array = array_of(op.operands[0]);
                store(operand_type(1), operand(1), a, array != nullptr && !read_.contains(array));
            });
        case Opcode::Atomic:
            return atomic(op);
        case Opcode::Shape: {
            Value* extent = operand(0)[1 + static_cast<size_t>(op.ints.at(0))];
            return define(op, {builder_.CreateTrunc(
                                  extent, is_vector(extent) ? wide(builder_.getInt32Ty()) : builder_.getInt32Ty())});
        }
        case Opcode::IsValid:
            return define(
                op, {builder_.CreateICmpNE(operand(0)[0], llvm::Constant::getNullValue(operand(0)[0]->getType()))});
        case Opcode::ThreadIndex: {
            const auto dimension = static_cast<int>(op.ints.at(0));
            Value* first = builder_.CreateTrunc(coordinates_[static_cast<size_t>(dimension)], builder_.getInt32Ty());
            if (dimension + 1 != module_.coordinates) return define(op, {first});
            Value* lane = builder_.CreateTrunc(iota_, wide(builder_.getInt32Ty()));
            return define(op, {builder_.CreateAdd(widen(first), lane)});
        }
        case Opcode::LaunchDim: {
            Value* dim = builder_.CreateLoad(builder_.getInt64Ty(), offset(shape_, 8 * op.ints.at(0)));
            return define(op, {builder_.CreateTrunc(dim, builder_.getInt32Ty())});
        }
        case Opcode::If:
            return if_op(op);
        case Opcode::For:
            return for_op(op);
        case Opcode::While:
            return while_op(op);
        case Opcode::Yield:
        case Opcode::Condition:
            return;  // read by the op around them
        case Opcode::Return:
            if (op.parent != &kernel_.body) throw NotForLanes();
            return;
        case Opcode::Slice:
        case Opcode::LocalArray:
        case Opcode::Address:
        case Opcode::ArrayAt:
        case Opcode::Stride:
        case Opcode::Gradient:
        case Opcode::Call:
        case Opcode::Native:
        case Opcode::Snippet:
        case Opcode::Print:
        case Opcode::Assert:
        case Opcode::StackNew:
        case Opcode::StackKeep:
        case Opcode::StackPush:
        case Opcode::StackPop:
        case Opcode::StackPosition:
        case Opcode::StackSeek:
        case Opcode::StackRead:
        case Opcode::Break:
        case Opcode::Continue:
        case Opcode::Unreachable:
            throw NotForLanes();
    }
    WEFT_CHECK(false, "unknown op");
}

Value* LaneEmitter::is_at(Value* place, size_t i) {
    return builder_.CreateICmpEQ(place, llvm::ConstantInt::get(place->getType(), i));
}

LaneBody emit_lanes(ModuleContext& module, const ir::Function& kernel, int lanes) {
    auto& context = module.llvm.getContext();
    auto* pointer = llvm::PointerType::getUnqual(context);
    auto* word = llvm::Type::getInt64Ty(context);
    llvm::IRBuilder<> builder(context);
    const ScalarEmitter scalars(module.llvm, builder, module.machine, false);
    llvm::SmallVector<llvm::Type*, 16> parameters = {pointer, word};
    parameters.append(static_cast<size_t>(module.coordinates), word);
    for (const ir::Value* parameter : kernel.parameters()) {
        for (const Leaf& leaf : module.leaves_of(parameter->type)) {
            parameters.push_back(leaf.kind == LeafKind::Number    ? scalars.type(leaf.scalar)
                                 : leaf.kind == LeafKind::Pointer ? static_cast<llvm::Type*>(pointer)
                                                                  : word);
        }
    }
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), parameters, false);
    auto* function = llvm::Function::Create(type, llvm::Function::InternalLinkage, kernel.name + ".lanes", module.llvm);
    function->setDoesNotThrow();
    try {
        return LaneEmitter(module, kernel, *function, lanes).emit();
    } catch (const NotForLanes&) {
        function->dropAllReferences();
        function->eraseFromParent();
        return {};
    }
}

}  // namespace weft::codegen::llvm_backend
