// Updates of memory by lanes: side by side where each has its own element, one sum where all have the same, else in the
// order of lanes.
#include "codegen/llvm/lane_emitter.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "codegen/backend.h"
#include "opt/opt.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

void LaneEmitter::atomic(const ir::Op& op) {
    const LaneAddress a = addresses_.at(op.operands[0]);
    const ir::Type type = op.operands[1]->type;
    const bool used = used_.contains(op.result());
    if (!used && op.text == opt::kOwnElement && a.affine == nullptr && is_run(type, a)) return own_update(op, a);
    // Sums of halves are rounded one by one.
    const bool sums = type.has_float_elements() && ir::scalar_bits(type.element()) >= 32;
    if (!used && a.uniform() && op.atomic() == ir::AtomicKind::Add && sums) {
        return reduce(op, a);
    }
    if (a.affine != nullptr) {
        // In order of lanes, whichever address holds.
        Value* places = lane_offsets(a);
        LaneAddress chosen;
        chosen.base = builder_.CreateSelect(a.affine, a.base, a.other_base);
        chosen.offsets = builder_.CreateSelect(a.affine, places, otherwise(a).offsets);
        return in_order(op, chosen, used);
    }
    in_order(op, a, used);
}

void LaneEmitter::own_update(const ir::Op& op, const LaneAddress& a) {
    const ir::Type type = op.operands[1]->type;
    const auto& leaves = module_.leaves_of(type);
    llvm::BasicBlock* plain = block("own");
    llvm::BasicBlock* ordered = block("ordered");
    llvm::BasicBlock* after = block("updated");
    Value* place = offset(shape_, offsetof(LaunchShape, exclusive));
    Value* flags = builder_.CreateLoad(builder_.getInt32Ty(), place);
    builder_.CreateCondBr(
        builder_.CreateICmpNE(builder_.CreateAnd(flags, uint64_t{kOwnElements}), builder_.getInt32(0)), plain, ordered);
    builder_.SetInsertPoint(plain);
    fetch_ahead(op);
    const Scalars old = load(type, a);
    Scalars next;
    for (size_t i = 0; i < leaves.size(); ++i) {
        next.push_back(scalars_.updated(op.atomic(), leaves[i].scalar, old[i], widen(value(op.operands[1])[i])));
    }
    store(type, next, a);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(ordered);
    in_order(op, a, false);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

void LaneEmitter::reduce(const ir::Op& op, const LaneAddress& a) {
    Scalars sums;
    for (Value* leaf : value(op.operands[1])) {
        Value* all = widen(leaf);
        Value* none = llvm::ConstantFP::getNegativeZero(all->getType());
        if (mask_ != nullptr) all = builder_.CreateSelect(mask_, all, none);
        for (unsigned half = lanes_ / 2; half > 0; half /= 2) {
            llvm::SmallVector<int, 16> low(half);
            llvm::SmallVector<int, 16> high(half);
            std::iota(low.begin(), low.end(), 0);
            std::iota(high.begin(), high.end(), static_cast<int>(half));
            all = builder_.CreateFAdd(builder_.CreateShuffleVector(all, low), builder_.CreateShuffleVector(all, high));
        }
        sums.push_back(builder_.CreateExtractElement(all, uint64_t{0}));
    }
    emit_update(module_, builder_, scalars_, shape_, op, a.base, sums);
}

Value* LaneEmitter::laid_out(Value* v) {
    if (v == nullptr || !is_vector(v)) return v;
    llvm::BasicBlock& entry = target_.getEntryBlock();
    auto* memory = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(v->getType(), nullptr, "by_lane");
    builder_.CreateStore(v, memory);
    return memory;
}

Value* LaneEmitter::of_lane(Value* laid_out, Value* lane) {
    auto* memory = llvm::dyn_cast<llvm::AllocaInst>(laid_out);
    if (memory == nullptr) return laid_out;
    llvm::Type* type = memory->getAllocatedType()->getScalarType();
    return builder_.CreateLoad(type, builder_.CreateGEP(type, memory, lane));
}

void LaneEmitter::for_each_lane(llvm::function_ref<void(Value*)> work) {
    if (mask_ != nullptr) {
        for_each_active_lane({}, [&](Value* lane, const Carried&) {
            work(lane);
            return Carried();
        });
        return;
    }
    constexpr unsigned kAtOnce = 4;
    const unsigned step = std::min(kAtOnce, lanes_);
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* loop = block("lane");
    llvm::BasicBlock* after = block("lanes");
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    auto* first = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    first->addIncoming(builder_.getInt32(0), before);
    for (unsigned k = 0; k < step; ++k) work(builder_.CreateAdd(first, builder_.getInt32(k), "", true, true));
    Value* next = builder_.CreateAdd(first, builder_.getInt32(step), "", true, true);
    first->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpULT(next, builder_.getInt32(lanes_)), loop, after);
    builder_.SetInsertPoint(after);
}

LaneEmitter::Carried LaneEmitter::for_each_active_lane(const Carried& carried,
                                                       llvm::function_ref<Carried(Value*, const Carried&)> work) {
    auto* bits_type = builder_.getIntNTy(lanes_);
    Value* all = builder_.CreateBitCast(full_mask(), bits_type);
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    llvm::BasicBlock* loop = block("lane");
    llvm::BasicBlock* after = block("lanes");
    builder_.CreateBr(loop);
    builder_.SetInsertPoint(loop);
    const auto phi = [&](Value* first) {
        auto* out = builder_.CreatePHI(first->getType(), 2);
        out->addIncoming(first, before);
        return out;
    };
    auto* bits = phi(all);
    llvm::SmallVector<llvm::PHINode*, 4> turns;
    for (Value* first : carried) turns.push_back(phi(first));
    Value* lane = builder_.CreateZExtOrTrunc(
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue()), builder_.getInt32Ty());
    Carried made = work(lane, Carried(turns.begin(), turns.end()));
    Value* rest = builder_.CreateAnd(bits, builder_.CreateSub(bits, llvm::ConstantInt::get(bits_type, 1)));
    bits->addIncoming(rest, builder_.GetInsertBlock());
    for (size_t i = 0; i < turns.size(); ++i) turns[i]->addIncoming(made[i], builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpNE(rest, llvm::ConstantInt::get(bits_type, 0)), loop, after);
    builder_.SetInsertPoint(after);
    return made;
}

bool LaneEmitter::is_sum_of_rows(const ir::Op& op) {
    const auto& leaves = module_.leaves_of(op.operands[1]->type);
    const auto in_place = [&](const Leaf& leaf) {
        return leaf.kind == LeafKind::Number && leaf.scalar == ir::Scalar::F32 &&
               leaf.offset == 4 * (&leaf - leaves.data());
    };
    return module_.machine.has_exclusive_launches() &&
           (op.atomic() == ir::AtomicKind::Add || op.atomic() == ir::AtomicKind::Sub) &&
           LaneShuffles::can_be_grouped(leaves.size()) && std::all_of(leaves.begin(), leaves.end(), in_place);
}

void LaneEmitter::sum_rows(const ir::Op& op, const LaneAddress& a) {
    Scalars numbers;
    for (Value* leaf : value(op.operands[1])) numbers.push_back(widen(leaf));
    const auto count = static_cast<unsigned>(numbers.size());
    // A processor waits long for what it reads from two stores: rows of four lie in one.
    if (count == 3) numbers.push_back(llvm::Constant::getNullValue(numbers[0]->getType()));
    const auto width = static_cast<unsigned>(numbers.size());
    const auto run = shuffles_.put_together(numbers);
    auto* run_type = llvm::ArrayType::get(numbers[0]->getType(), width);
    llvm::BasicBlock& entry = target_.getEntryBlock();
    Value* given = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(run_type, nullptr, "rows");
    for (unsigned i = 0; i < width; ++i) {
        builder_.CreateStore(run[i], builder_.CreateConstInBoundsGEP2_32(run_type, given, 0, i));
    }
    Value* places = laid_out(lane_offsets(a));
    for_each_lane([&](Value* lane) {
        Value* address =
            places == nullptr ? a.base : builder_.CreateGEP(builder_.getInt8Ty(), a.base, of_lane(places, lane));
        Value* first = builder_.CreateMul(lane, builder_.getInt32(4 * width));
        Value* mine = builder_.CreateGEP(builder_.getInt8Ty(), given, first);
        for (unsigned at = 0; at < count;) {
            const unsigned size = count - at >= 4 ? 4 : count - at >= 2 ? 2 : 1;
            llvm::Type* type = size == 1
                                   ? builder_.getFloatTy()
                                   : static_cast<llvm::Type*>(llvm::FixedVectorType::get(builder_.getFloatTy(), size));
            const auto load = [&](Value* from) {
                return builder_.CreateAlignedLoad(type, offset(from, int64_t{4} * at), llvm::Align(1));
            };
            Value* next = scalars_.updated(op.atomic(), ir::Scalar::F32, load(address), load(mine));
            builder_.CreateAlignedStore(next, offset(address, int64_t{4} * at), llvm::Align(1));
            at += size;
        }
    });
}

void LaneEmitter::in_order(const ir::Op& op, const LaneAddress& a, bool used) {
    if (used || !is_sum_of_rows(op)) return lane_by_lane(op, a, used);
    llvm::BasicBlock* plain = block("plain");
    llvm::BasicBlock* shared = block("shared");
    llvm::BasicBlock* after = block("summed");
    builder_.CreateCondBr(is_exclusive(builder_, shape_, op), plain, shared, mostly_plain(module_.llvm.getContext()));
    builder_.SetInsertPoint(plain);
    sum_rows(op, a);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(shared);
    lane_by_lane(op, a, false);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

void LaneEmitter::lane_by_lane(const ir::Op& op, const LaneAddress& a, bool used) {
    Scalars given;
    for (Value* leaf : value(op.operands[1])) given.push_back(laid_out(leaf));
    Value* places = laid_out(lane_offsets(a));
    Carried none;
    for (const Leaf& leaf : module_.leaves_of(op.operands[1]->type)) {
        if (used) none.push_back(llvm::Constant::getNullValue(wide(leaf_type(leaf))));
    }
    const Carried results = for_each_active_lane(none, [&](Value* lane, const Carried& so_far) {
        Value* address =
            places == nullptr ? a.base : builder_.CreateGEP(builder_.getInt8Ty(), a.base, of_lane(places, lane));
        Scalars mine;
        for (Value* leaf : given) mine.push_back(of_lane(leaf, lane));
        const Scalars old = emit_update(module_, builder_, scalars_, shape_, op, address, mine);
        Carried next;
        for (size_t i = 0; i < so_far.size(); ++i) {
            next.push_back(builder_.CreateInsertElement(so_far[i], old[i], lane));
        }
        return next;
    });
    if (used) define(op, Scalars(results.begin(), results.end()));
}

}  // namespace weft::codegen::llvm_backend
