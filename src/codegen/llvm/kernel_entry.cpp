// Coordinates are found by division once; after that a row is a plain counted loop over the last coordinate that the
// kernel asks for, and only the step to the next row carries into the others. When the launch has more dimensions than
// the kernel asks for, a row is a run of items that share all coordinates.
#include "codegen/llvm/kernel_entry.h"

#include <algorithm>
#include <cstddef>

#include "codegen/backend.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

namespace {

Value* byte_address(llvm::IRBuilder<>& b, Value* base, int64_t offset) {
    return b.CreateGEP(b.getInt8Ty(), base, b.getInt64(static_cast<uint64_t>(offset)));
}

Value* holds(llvm::IRBuilder<>& b, const LaneCondition& condition, const Scalars& leaves) {
    if (condition.kind == LaneCondition::Kind::Equals) {
        return b.CreateICmpEQ(leaves[condition.leaf], b.getInt64(static_cast<uint64_t>(condition.value)));
    }
    const auto ndim = static_cast<size_t>(condition.value);
    Value* span = b.getInt64(0);
    for (size_t d = 0; d < ndim; ++d) {
        Value* extent = leaves[condition.leaf + 1 + d];
        Value* stride =
            b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, leaves[condition.leaf + 1 + ndim + d], b.getFalse());
        span = b.CreateAdd(span, b.CreateMul(extent, stride));
    }
    return b.CreateICmpULT(span, b.getInt64(uint64_t{1} << 31));
}

}  // namespace

void emit_kernel_entry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target,
                       llvm::ArrayRef<LaneBody> bodies) {
    FunctionEmitter emitter(module, kernel, target);
    auto& b = emitter.builder();
    Value* arguments = target.getArg(0);
    Value* shape = target.getArg(1);
    Value* begin = target.getArg(2);
    Value* end = target.getArg(3);
    const auto used = static_cast<size_t>(module.coordinates);

    llvm::BasicBlock* start = emitter.block("start");
    llvm::BasicBlock* row = emitter.block("row");
    llvm::BasicBlock* item = emitter.block("item");
    llvm::BasicBlock* row_end = emitter.block("row_end");
    llvm::BasicBlock* next_row = emitter.block("next_row");
    llvm::BasicBlock* finish = emitter.block("finish");
    llvm::BasicBlock* done = emitter.block("done");
    b.CreateCondBr(b.CreateICmpSLT(begin, end), start, done);

    b.SetInsertPoint(start);
    const auto offsets = parameter_offsets(kernel);
    Scalars leaves;
    for (size_t i = 0; i < kernel.parameters().size(); ++i) {
        const ir::Value* parameter = kernel.parameters()[i];
        Scalars mine = emitter.load(parameter->type, byte_address(b, arguments, offsets[i]));
        leaves.append(mine.begin(), mine.end());
        emitter.set(parameter, std::move(mine));
    }
    auto* word = b.getInt64Ty();
    llvm::SmallVector<Value*, 8> first(used);
    llvm::SmallVector<Value*, 8> dims(used);
    Value* tail_size = b.getInt64(1);
    Value* tail_first = b.getInt64(0);
    Value* single = b.getTrue();
    if (used > 0) {
        // Extents are positive when there is an item; at least 1 keeps a wrong launch from dividing by zero.
        const auto extent = [&](size_t d) {
            Value* dim = b.CreateLoad(word, byte_address(b, shape, static_cast<int64_t>(8 * d)));
            return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, dim, b.getInt64(1));
        };
        for (size_t d = 0; d < used; ++d) dims[d] = extent(d);
        for (size_t d = used; d < 8; ++d) tail_size = b.CreateMul(tail_size, extent(d));
        single = b.CreateICmpEQ(tail_size, b.getInt64(1));
        tail_first = b.CreateURem(begin, tail_size);
        Value* rest = b.CreateUDiv(begin, tail_size);
        for (size_t d = used - 1; d > 0; --d) {
            first[d] = b.CreateURem(rest, dims[d]);
            rest = b.CreateUDiv(rest, dims[d]);
        }
        first[0] = rest;
    }
    Value* by_lanes = single;
    for (const LaneCondition& condition : bodies.empty() ? std::vector<LaneCondition>() : bodies[0].conditions) {
        by_lanes = b.CreateAnd(by_lanes, holds(b, condition, leaves));
    }
    llvm::BasicBlock* before = b.GetInsertBlock();
    b.CreateBr(row);

    b.SetInsertPoint(row);
    auto* linear = b.CreatePHI(word, 2, "linear");
    linear->addIncoming(begin, before);
    auto* tail = b.CreatePHI(word, 2, "tail");
    tail->addIncoming(tail_first, before);
    llvm::SmallVector<llvm::PHINode*, 8> at(used);
    for (size_t d = 0; d < used; ++d) {
        at[d] = b.CreatePHI(word, 2, "at");
        at[d]->addIncoming(first[d], before);
    }
    Value* left = b.CreateSub(end, linear);
    Value* count = left;
    if (used > 0) {
        // The first coordinate never wraps: a row over it ends with the range.
        Value* in_row = used > 1 ? b.CreateSub(dims[used - 1], at[used - 1]) : left;
        Value* run = b.CreateSelect(single, in_row, b.CreateSub(tail_size, tail));
        count = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, run);
    }
    Value* done_by_lanes = b.getInt64(0);
    llvm::BasicBlock* to_item = row;
    for (const LaneBody& body : bodies) {
        Value* done_before = done_by_lanes;
        Value* whole = b.CreateAnd(count, b.getInt64(~static_cast<uint64_t>(body.lanes - 1)));
        done_by_lanes = b.CreateSelect(by_lanes, whole, b.getInt64(0));
        llvm::BasicBlock* before_group = b.GetInsertBlock();
        llvm::BasicBlock* group = emitter.block("group");
        to_item = emitter.block("rest");
        b.CreateCondBr(b.CreateICmpSGT(done_by_lanes, done_before), group, to_item);
        b.SetInsertPoint(group);
        auto* from = b.CreatePHI(word, 2, "from");
        from->addIncoming(done_before, before_group);
        Scalars given = {shape, b.CreateAdd(linear, from)};
        for (size_t d = 0; d < used; ++d) given.push_back(d + 1 == used ? b.CreateAdd(at[d], from) : at[d]);
        given.append(leaves.begin(), leaves.end());
        b.CreateCall(body.function, given);
        Value* next_group = b.CreateAdd(from, b.getInt64(static_cast<uint64_t>(body.lanes)), "", true, true);
        from->addIncoming(next_group, group);
        b.CreateCondBr(b.CreateICmpSLT(next_group, done_by_lanes), group, to_item);
        b.SetInsertPoint(to_item);
    }
    if (bodies.empty()) {
        b.CreateBr(item);
    } else {
        b.CreateCondBr(b.CreateICmpSLT(done_by_lanes, count), item, row_end);
    }
    Value* first_last = used > 0 ? b.getInt64(0) : nullptr;
    if (used > 0) {
        // Where lanes run, a step of the item is a step of the last coordinate.
        llvm::IRBuilder<> place(to_item->getTerminator());
        first_last = place.CreateAdd(at[used - 1], done_by_lanes);
    }

    b.SetInsertPoint(item);
    auto* turn = b.CreatePHI(word, 2, "turn");
    turn->addIncoming(done_by_lanes, to_item);
    // The last coordinate is a variable of its own that moves by one or by none, which LLVM turns into moving
    // addresses.
    llvm::PHINode* last = nullptr;
    if (used > 0) {
        last = b.CreatePHI(word, 2, "coordinate");
        last->addIncoming(first_last, to_item);
    }
    ItemContext& context = emitter.item();
    context.shape = shape;
    context.item = b.CreateAdd(linear, turn, "item", true, true);
    for (size_t d = 0; d < used; ++d) {
        context.wide.push_back(d + 1 == used ? last : at[d]);
        context.coordinates.push_back(b.CreateTrunc(context.wide.back(), b.getInt32Ty()));
    }
    Join next = emitter.join("next_item", {});
    emitter.body(next);
    emitter.finish(next);
    Value* following = b.CreateAdd(turn, b.getInt64(1), "", true, true);
    turn->addIncoming(following, next.block);
    if (last != nullptr) last->addIncoming(b.CreateAdd(last, b.CreateZExt(single, word), "", true, true), next.block);
    b.CreateCondBr(b.CreateICmpSLT(following, count), item, row_end);

    b.SetInsertPoint(row_end);
    Value* linear_next = b.CreateAdd(linear, count);
    b.CreateCondBr(b.CreateICmpSLT(linear_next, end), next_row, finish);
    b.SetInsertPoint(next_row);
    linear->addIncoming(linear_next, next_row);
    tail->addIncoming(b.getInt64(0), next_row);
    Value* moved = nullptr;
    for (size_t d = used; d-- > 0;) {
        if (moved == nullptr) {
            moved = b.CreateAdd(at[d], b.CreateSelect(single, count, b.getInt64(1)));
        } else {
            moved = b.CreateAdd(at[d], moved);
        }
        if (d == 0) {
            at[d]->addIncoming(moved, next_row);
            break;
        }
        Value* over = b.CreateICmpSGE(moved, dims[d]);
        at[d]->addIncoming(b.CreateSelect(over, b.getInt64(0), moved), next_row);
        moved = b.CreateZExt(over, word);
    }
    b.CreateBr(row);

    b.SetInsertPoint(finish);
    emitter.free_stacks();
    if (std::any_of(bodies.begin(), bodies.end(), [](const LaneBody& body) { return body.streams; })) {
        // Stores past the caches are in no order with others: they end before the launch does.
        llvm::BasicBlock* fence = emitter.block("fence");
        Value* flag = b.CreateLoad(b.getInt32Ty(), byte_address(b, shape, offsetof(LaunchShape, streams)));
        b.CreateCondBr(b.CreateICmpNE(flag, b.getInt32(0)), fence, done);
        b.SetInsertPoint(fence);
        b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
    }
    b.CreateBr(done);
    b.SetInsertPoint(done);
    b.CreateRetVoid();
}

}  // namespace weft::codegen::llvm_backend
