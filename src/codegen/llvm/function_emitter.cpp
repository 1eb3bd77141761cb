#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/CFG.h>

#include <algorithm>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

const std::vector<Leaf>& ModuleContext::leaves_of(ir::Type type) {
    const auto [place, fresh] = leaves.try_emplace(type);
    if (fresh) place->second = codegen::leaves(type);
    return place->second;
}

FunctionEmitter::FunctionEmitter(ModuleContext& module, const ir::Function& source, llvm::Function& target)
    : module_(module),
      source_(source),
      target_(target),
      builder_(llvm::BasicBlock::Create(module.llvm.getContext(), "entry", &target)),
      scalars_(module.llvm, builder_, module.machine, module.options.fast_math),
      non_negative_(module.options.narrow) {
    builder_.setFastMathFlags(math_flags(module.options));
    if (module.lines != nullptr) builder_.SetCurrentDebugLocation(module.lines->begin(source, target));
    if (module.options.narrow) {
        ir::walk(source.body, [&](const ir::Op& op) { used_.insert(op.operands.begin(), op.operands.end()); });
    }
}

// --- values ----------------------------------------------------------------------------------------------------------

const Scalars& FunctionEmitter::value(const ir::Value* v) const {
    const auto place = values_.find(v);
    WEFT_CHECK(place != values_.end(), "value %" + std::to_string(v->id) + " was not emitted");
    return place->second;
}

Scalars FunctionEmitter::flatten(llvm::ArrayRef<ir::Value*> values) const {
    Scalars out;
    for (const ir::Value* v : values) {
        WEFT_CHECK(!v->type.is(TypeKind::Stack), "a stack is passed on");
        const Scalars& scalars = value(v);
        out.append(scalars.begin(), scalars.end());
    }
    return out;
}

llvm::Type* FunctionEmitter::leaf_type(const Leaf& leaf) {
    switch (leaf.kind) {
        case LeafKind::Number:
            return scalars_.type(leaf.scalar);
        case LeafKind::Pointer:
            return builder_.getPtrTy();
        case LeafKind::Extent:
            return builder_.getInt64Ty();
    }
    WEFT_CHECK(false, "unknown kind of leaf");
}

llvm::BasicBlock* FunctionEmitter::block(const char* name) {
    return llvm::BasicBlock::Create(module_.llvm.getContext(), name, &target_);
}

llvm::AllocaInst* FunctionEmitter::entry_alloca(llvm::Type* type, const char* name, Value* count) {
    llvm::BasicBlock& entry = target_.getEntryBlock();
    llvm::IRBuilder<> place(&entry, entry.begin());
    return place.CreateAlloca(type, count, name);
}

// --- joins -----------------------------------------------------------------------------------------------------------

Join FunctionEmitter::join(const char* name, llvm::ArrayRef<ir::Type> types) {
    Join out;
    out.block = block(name);
    for (const ir::Type type : types) {
        for (const Leaf& leaf : module_.leaves_of(type)) {
            out.phis.push_back(llvm::PHINode::Create(leaf_type(leaf), 2, "", out.block));
        }
    }
    return out;
}

void FunctionEmitter::jump(Join& target, const Scalars& values) {
    WEFT_CHECK(values.size() == target.phis.size(), "a jump with the wrong number of values");
    for (size_t i = 0; i < values.size(); ++i) target.phis[i]->addIncoming(values[i], builder_.GetInsertBlock());
    builder_.CreateBr(target.block);
}

// Jumps to the join when the condition is false, else to `otherwise`... named for what follows: stay when it holds.
void FunctionEmitter::branch(Value* condition, Join& target, const Scalars& values, llvm::BasicBlock* otherwise) {
    WEFT_CHECK(values.size() == target.phis.size(), "a branch with the wrong number of values");
    for (size_t i = 0; i < values.size(); ++i) target.phis[i]->addIncoming(values[i], builder_.GetInsertBlock());
    builder_.CreateCondBr(condition, otherwise, target.block);
}

void FunctionEmitter::finish(Join& join) {
    if (llvm::pred_empty(join.block)) {
        for (auto*& phi : join.phis) {
            phi->replaceAllUsesWith(llvm::PoisonValue::get(phi->getType()));
            phi->eraseFromParent();
            phi = nullptr;
        }
    }
    builder_.SetInsertPoint(join.block);
}

void FunctionEmitter::define_results(const ir::Op& op, const Join& join) {
    size_t next = 0;
    for (const ir::Value* result : op.results) {
        Scalars out;
        for (const Leaf& leaf : module_.leaves_of(result->type)) {
            llvm::PHINode* phi = join.phis[next++];
            out.push_back(phi != nullptr ? static_cast<Value*>(phi) : llvm::PoisonValue::get(leaf_type(leaf)));
        }
        values_[result] = std::move(out);
    }
}

// --- control flow ----------------------------------------------------------------------------------------------------

void FunctionEmitter::body(Join& exit) {
    exit_ = &exit;
    region(source_.body);
}

void FunctionEmitter::region(const ir::Region& region) {
    for (const ir::Op* op : region.ops) this->op(*op);
}

namespace {

llvm::SmallVector<ir::Type, 4> types_of(llvm::ArrayRef<ir::Value*> values) {
    llvm::SmallVector<ir::Type, 4> out;
    for (const ir::Value* v : values) out.push_back(v->type);
    return out;
}

}  // namespace

void FunctionEmitter::if_op(const ir::Op& op) {
    Join after = join("endif", types_of(op.results));
    llvm::BasicBlock* then = block("then");
    llvm::BasicBlock* otherwise = block("else");
    builder_.CreateCondBr(scalar(op.operands[0]), then, otherwise);
    Join* outer = if_join_;
    builder_.SetInsertPoint(then);
    if_join_ = &after;
    region(*op.regions[0]);
    builder_.SetInsertPoint(otherwise);
    if_join_ = &after;
    region(*op.regions[1]);
    if_join_ = outer;
    finish(after);
    define_results(op, after);
}

void FunctionEmitter::for_op(const ir::Op& op) {
    const ir::Region& turn = *op.regions[0];
    const auto carried_types = types_of(op.results);
    const auto known = ir::constant_integer(op.operands[2]);
    // A plain count runs in 64 bits, for the sake of addresses.
    const bool counts = known == 1 || known == -1;
    const auto bound = [&](size_t i) {
        Value* v = scalar(op.operands[i]);
        return counts ? builder_.CreateSExt(v, builder_.getInt64Ty()) : v;
    };
    const ir::Type index_type = turn.arguments[0]->type;
    llvm::SmallVector<ir::Type, 4> turn_types = {counts ? ir::i64() : index_type};
    turn_types.append(carried_types.begin(), carried_types.end());
    Value* begin = bound(0);
    Value* end = bound(1);
    Value* step = bound(2);
    Value* none = llvm::ConstantInt::get(step->getType(), 0);
    const Scalars initial = flatten(llvm::ArrayRef(op.operands).drop_front(3));

    Join start = join("for", turn_types);
    Join next = join("next", carried_types);
    Join exit = join("endfor", carried_types);

    // The loop is entered when it has a turn, and left at the end of the last one.
    Value* up = builder_.CreateICmpSGT(step, none);
    Value* enters = builder_.CreateSelect(
        up, builder_.CreateICmpSLT(begin, end),
        builder_.CreateAnd(builder_.CreateICmpSLT(step, none), builder_.CreateICmpSGT(begin, end)));
    llvm::BasicBlock* enter = block("enter");
    branch(enters, exit, initial, enter);
    builder_.SetInsertPoint(enter);
    Scalars first = {begin};
    first.append(initial.begin(), initial.end());
    jump(start, first);

    builder_.SetInsertPoint(start.block);
    if (counts) wide_loops_[turn.arguments[0]] = start.phis[0];
    size_t phi = 1;
    for (const ir::Value* argument : llvm::ArrayRef(turn.arguments).drop_front()) {
        Scalars out;
        for (size_t i = 0; i < module_.leaves_of(argument->type).size(); ++i) out.push_back(start.phis[phi++]);
        values_[argument] = std::move(out);
    }
    values_[turn.arguments[0]] = {builder_.CreateTrunc(start.phis[0], scalars_.type(index_type.element()))};
    loops_.push_back({&next, &exit});
    region(turn);
    loops_.pop_back();

    finish(next);
    if (llvm::pred_empty(next.block)) {  // no turn comes to its end
        builder_.CreateUnreachable();
    } else {
        Value* index = start.phis[0];
        Value* goes_on = nullptr;
        Value* following = nullptr;
        if (counts) {
            following = builder_.CreateNSWAdd(index, step);
            goes_on = *known > 0 ? builder_.CreateICmpSLT(following, end) : builder_.CreateICmpSGT(following, end);
        } else {
            // The distance left is compared before stepping, so that the index cannot wrap.
            Value* distance = builder_.CreateSelect(up, builder_.CreateSub(end, index), builder_.CreateSub(index, end));
            Value* stride = builder_.CreateSelect(up, step, builder_.CreateNeg(step));
            goes_on = builder_.CreateICmpUGT(distance, stride);
            following = builder_.CreateAdd(index, step);
        }
        llvm::BasicBlock* again = block("again");
        Scalars carried;
        for (auto* p : next.phis) carried.push_back(p);
        branch(goes_on, exit, carried, again);
        builder_.SetInsertPoint(again);
        Scalars values = {following};
        values.append(carried.begin(), carried.end());
        jump(start, values);
    }
    finish(exit);
    define_results(op, exit);
}

void FunctionEmitter::while_op(const ir::Op& op) {
    const ir::Region& test = *op.regions[0];
    const ir::Region& turn = *op.regions[1];
    const auto carried_types = types_of(op.results);
    Join start = join("while", carried_types);
    Join exit = join("endwhile", carried_types);
    jump(start, flatten(op.operands));
    builder_.SetInsertPoint(start.block);
    Scalars carried;
    for (auto* phi : start.phis) carried.push_back(phi);
    size_t next = 0;
    for (size_t i = 0; i < carried_types.size(); ++i) {
        Scalars out;
        for (size_t k = 0; k < module_.leaves_of(carried_types[i]).size(); ++k) out.push_back(carried[next++]);
        values_[test.arguments[i]] = out;
        values_[turn.arguments[i]] = std::move(out);
    }
    loops_.push_back({&start, &exit});
    region(test);
    llvm::BasicBlock* body = block("turn");
    branch(scalar(test.terminator()->operands[0]), exit, carried, body);
    builder_.SetInsertPoint(body);
    region(turn);
    loops_.pop_back();
    finish(exit);
    define_results(op, exit);
}

// --- ops -------------------------------------------------------------------------------------------------------------

void FunctionEmitter::elementwise(const ir::Op& op) {
    const ir::Scalar element = op.result()->type.element();
    const size_t count = value(op.operands[0]).size();
    Scalars out;
    for (size_t i = 0; i < count; ++i) {
        llvm::SmallVector<Value*, 2> parts;
        for (const ir::Value* operand : op.operands) parts.push_back(value(operand)[i]);
        if (op.code == Opcode::Math) {
            out.push_back(scalars_.math(op.math(), element, parts));
        } else if (parts.size() == 1) {
            out.push_back(scalars_.unary(op.code, element, parts[0]));
        } else {
            out.push_back(scalars_.binary(op.code, element, parts[0], parts[1]));
        }
    }
    define(op, std::move(out));
}

void FunctionEmitter::op(const ir::Op& op) {
    const auto operand = [&](size_t i) -> const Scalars& { return value(op.operands.at(i)); };
    const auto operand_type = [&](size_t i) { return op.operands.at(i)->type; };
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
        case Opcode::Add:
        case Opcode::Sub:
        case Opcode::Mul:
        case Opcode::Div:
        case Opcode::FloorDiv:
        case Opcode::Rem:
        case Opcode::Neg:
        case Opcode::Abs:
        case Opcode::Min:
        case Opcode::Max:
        case Opcode::Math:
        case Opcode::And:
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Not:
        case Opcode::Shl:
        case Opcode::Shr:
            return elementwise(op);
        case Opcode::Eq:
        case Opcode::Ne:
        case Opcode::Lt:
        case Opcode::Le:
        case Opcode::Gt:
        case Opcode::Ge:
            return define(op, {scalars_.compare(op.code, operand_type(0).element(), operand(0)[0], operand(1)[0])});
        case Opcode::Select: {
            Scalars out;
            for (size_t i = 0; i < operand(1).size(); ++i) {
                out.push_back(builder_.CreateSelect(operand(0)[0], operand(1)[i], operand(2)[i]));
            }
            return define(op, std::move(out));
        }
        case Opcode::Cast: {
            Scalars out;
            for (Value* v : operand(0)) {
                out.push_back(scalars_.cast(op.result()->type.element(), operand_type(0).element(), v));
            }
            return define(op, std::move(out));
        }
        case Opcode::Bitcast:
            return define(op,
                          {scalars_.bitcast(op.result()->type.element(), operand_type(0).element(), operand(0)[0])});
        case Opcode::Compose:
            return define(op, flatten(op.operands));
        case Opcode::Splat:
            return define(op, Scalars(static_cast<size_t>(op.result()->type.part_count()), operand(0)[0]));
        case Opcode::Extract: {
            const int part = static_cast<int>(op.ints.at(0));
            const auto from = static_cast<size_t>(first_leaf(operand_type(0), part));
            const auto count = static_cast<size_t>(leaf_count(op.result()->type));
            return define(op, Scalars(operand(0).begin() + from, operand(0).begin() + from + count));
        }
        case Opcode::Insert: {
            Scalars out = operand(0);
            const int part = static_cast<int>(op.ints.at(0));
            const auto from = static_cast<size_t>(first_leaf(operand_type(0), part));
            std::copy(operand(1).begin(), operand(1).end(), out.begin() + from);
            return define(op, std::move(out));
        }
        case Opcode::ExtractAt: {
            const Scalars& parts = operand(0);
            Value* place = small_index(op.operands[1], static_cast<int>(parts.size()));
            Value* out = parts[0];
            for (size_t i = 1; i < parts.size(); ++i) {
                out = builder_.CreateSelect(builder_.CreateICmpEQ(place, builder_.getInt64(i)), parts[i], out);
            }
            return define(op, {out});
        }
        case Opcode::InsertAt: {
            Scalars out = operand(0);
            Value* place = small_index(op.operands[2], static_cast<int>(out.size()));
            for (size_t i = 0; i < out.size(); ++i) {
                out[i] =
                    builder_.CreateSelect(builder_.CreateICmpEQ(place, builder_.getInt64(i)), operand(1)[0], out[i]);
            }
            return define(op, std::move(out));
        }
        case Opcode::At:
            return define(op, {element_address(op)});
        case Opcode::View: {
            Scalars out = {element_address(op)};
            const Scalars& array = operand(0);
            const auto ndim = static_cast<size_t>(operand_type(0).ndim());
            const size_t dropped = op.operands.size() - 1;
            for (size_t d = dropped; d < ndim; ++d) out.push_back(array[1 + d]);
            for (size_t d = dropped; d < ndim; ++d) out.push_back(array[1 + ndim + d]);
            return define(op, std::move(out));
        }
        case Opcode::Slice: {
            const Scalars& array = operand(0);
            const auto ndim = op.ints.size();
            Value* bytes = builder_.getInt64(0);
            Scalars shape;
            Scalars strides;
            size_t next = 1;
            for (size_t d = 0; d < ndim; ++d) {
                Value* stride = array[1 + ndim + d];
                Value* first = index(op.operands[next++], array[1 + d]);
                bytes = builder_.CreateAdd(bytes, builder_.CreateMul(first, stride));
                if (op.ints[d] == 0) continue;
                const auto wide = [&](const ir::Value* v) {
                    return builder_.CreateIntCast(scalar(v), builder_.getInt64Ty(), v->type.is_signed());
                };
                shape.push_back(wide(op.operands[next++]));
                strides.push_back(builder_.CreateMul(stride, wide(op.operands[next++])));
            }
            Scalars out = {builder_.CreateGEP(builder_.getInt8Ty(), array[0], bytes)};
            out.append(shape.begin(), shape.end());
            out.append(strides.begin(), strides.end());
            return define(op, std::move(out));
        }
        case Opcode::LocalArray: {
            const ir::Type type = op.result()->type;
            int64_t bytes = ir::size_of(type.target());
            Scalars out(1 + 2 * op.ints.size(), nullptr);
            for (size_t d = op.ints.size(); d-- > 0;) {
                out[1 + d] = builder_.getInt64(static_cast<uint64_t>(op.ints[d]));
                out[1 + op.ints.size() + d] = builder_.getInt64(static_cast<uint64_t>(bytes));
                bytes *= op.ints[d];
            }
            const auto count = static_cast<uint64_t>(std::max<int64_t>(bytes, 1));
            auto* storage = entry_alloca(llvm::ArrayType::get(builder_.getInt8Ty(), count), "local");
            storage->setAlignment(llvm::Align(16));
            builder_.CreateMemSet(storage, builder_.getInt8(0), count, llvm::Align(16));
            out[0] = storage;
            return define(op, std::move(out));
        }
        case Opcode::Address:
            return define(op, {builder_.CreatePtrToInt(operand(0)[0], builder_.getInt64Ty())});
        case Opcode::ArrayAt: {
            const auto ndim = static_cast<size_t>(op.result()->type.ndim());
            Scalars out(1 + 2 * ndim, nullptr);
            out[0] = builder_.CreateIntToPtr(operand(0)[0], builder_.getPtrTy());
            Value* bytes = builder_.getInt64(static_cast<uint64_t>(ir::size_of(op.result()->type.target())));
            for (size_t d = ndim; d-- > 0;) {
                const ir::Value* size = op.operands[1 + d];
                out[1 + d] = builder_.CreateIntCast(scalar(size), builder_.getInt64Ty(), size->type.is_signed());
                out[1 + ndim + d] = bytes;
                bytes = builder_.CreateMul(bytes, out[1 + d]);
            }
            return define(op, std::move(out));
        }
        case Opcode::Stride: {
            const auto ndim = static_cast<size_t>(operand_type(0).ndim());
            return define(op, {builder_.CreateTrunc(operand(0)[1 + ndim + static_cast<size_t>(op.ints.at(0))],
                                                    builder_.getInt32Ty())});
        }
        case Opcode::Member: {
            const int64_t bytes = ir::offset_of(operand_type(0).target(), static_cast<int>(op.ints.at(0)));
            const llvm::Align whole(static_cast<uint64_t>(alignment_of(op.operands[0])));
            const llvm::Align part = llvm::commonAlignment(whole, static_cast<uint64_t>(bytes));
            alignments_[op.result()] = static_cast<int64_t>(part.value());
            return define(op, {offset(operand(0)[0], bytes)});
        }
        case Opcode::MemberAt: {
            const ir::Type uniform = operand_type(0).target();
            Value* place = small_index(op.operands[1], uniform.part_count());
            const auto size = static_cast<uint64_t>(ir::size_of(uniform.element_type()));
            alignments_[op.result()] = std::min(alignment_of(op.operands[0]), ir::align_of(uniform.element_type()));
            return define(op, {builder_.CreateGEP(builder_.getInt8Ty(), operand(0)[0],
                                                  builder_.CreateMul(place, builder_.getInt64(size)))});
        }
        case Opcode::Load:
            return define(op, load(op.result()->type, operand(0)[0], alignment_of(op.operands[0])));
        case Opcode::Store:
            return store(operand_type(1), operand(1), operand(0)[0], alignment_of(op.operands[0]));
        case Opcode::Atomic:
            check_aligned(op);
            if (sums_.contains(&op)) return add_to(op, operand(0)[0], operand(1)[0]);
            if (add_together(op)) return;
            return define(op, emit_update(module_, builder_, scalars_, item_.shape, op, operand(0)[0], operand(1)));
        case Opcode::Shape:
            return define(
                op, {builder_.CreateTrunc(operand(0)[1 + static_cast<size_t>(op.ints.at(0))], builder_.getInt32Ty())});
        case Opcode::IsValid:
            return define(op, {builder_.CreateIsNotNull(operand(0)[0])});
        case Opcode::ThreadIndex:
            return define(op, {item_.coordinates[static_cast<size_t>(op.ints.at(0))]});
        case Opcode::LaunchDim: {
            Value* dim = builder_.CreateLoad(builder_.getInt64Ty(), offset(item_.shape, 8 * op.ints.at(0)));
            return define(op, {builder_.CreateTrunc(dim, builder_.getInt32Ty())});
        }
        case Opcode::Call:
            return call(op);
        case Opcode::Gradient:
            break;  // gone by now: ad/expand_gradients.cpp
        case Opcode::Native:
            return native(op);
        case Opcode::Snippet:
            return snippet(op);
        case Opcode::Print:
            return print(op);
        case Opcode::Assert:
            return assertion(op);
        case Opcode::StackNew:
            return stack_new(op);
        case Opcode::StackKeep:
            return define(op, {builder_.CreateCall(outside("weft_stack_keep", builder_.getInt64Ty(),
                                                           {builder_.getPtrTy(), builder_.getInt64Ty()}),
                                                   {builder_.CreateLoad(builder_.getPtrTy(), operand(0)[0]),
                                                    builder_.CreateLoad(builder_.getInt64Ty(), operand(0)[1])})});
        case Opcode::StackPush:
            return stack_push(op);
        case Opcode::StackPop:
            return stack_pop(op);
        case Opcode::StackPosition:
            return define(op, {builder_.CreateLoad(builder_.getInt64Ty(), operand(0)[3])});
        case Opcode::StackSeek:
            builder_.CreateStore(operand(1)[0], operand(0)[3]);
            return;
        case Opcode::StackRead:
            return stack_read(op);
        case Opcode::If:
            return if_op(op);
        case Opcode::For:
            return for_op(op);
        case Opcode::While:
            return while_op(op);
        case Opcode::Yield: {
            // Of an If to its join, of a loop's body to the next turn.
            const ir::Op* parent = op.parent->parent;
            WEFT_CHECK(parent != nullptr, "yield at the end of a function");
            jump(parent->code == Opcode::If ? *if_join_ : *loops_.back().next, flatten(op.operands));
            return;
        }
        case Opcode::Break:
            jump(*loops_.back().exit, flatten(op.operands));
            return;
        case Opcode::Continue:
            jump(*loops_.back().next, flatten(op.operands));
            return;
        case Opcode::Return:
            jump(*exit_, flatten(op.operands));
            return;
        case Opcode::Unreachable:
            builder_.CreateUnreachable();
            return;
        case Opcode::Condition:
            return;  // while_op reads its operand
    }
    WEFT_CHECK(false, "unknown op");
}

}  // namespace weft::codegen::llvm_backend
