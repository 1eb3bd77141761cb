#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/MDBuilder.h>

#include <cstddef>
#include <numeric>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/gpu_plan.h"
#include "codegen/snippet_text.h"
#include "ir/builder.h"
#include "ir/layout.h"
#include "opt/opt.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

Value* is_exclusive(llvm::IRBuilder<>& builder, Value* shape, const ir::Op& atomic) {
    const uint32_t bits = atomic.text == opt::kOwnElement ? kOneThread | kOwnElements : kOneThread;
    Value* place = builder.CreateGEP(builder.getInt8Ty(), shape, builder.getInt64(offsetof(LaunchShape, exclusive)));
    Value* exclusive = builder.CreateLoad(builder.getInt32Ty(), place);
    return builder.CreateICmpNE(builder.CreateAnd(exclusive, bits), builder.getInt32(0));
}

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

Value* FunctionEmitter::offset(Value* address, int64_t bytes) {
    return bytes == 0
               ? address
               : builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(static_cast<uint64_t>(bytes)));
}

int64_t FunctionEmitter::alignment_of(const ir::Value* ref) const {
    const auto known = alignments_.find(ref);
    return known != alignments_.end() ? known->second : ir::align_of(ref->type.target());
}

llvm::Align FunctionEmitter::leaf_alignment(const Leaf& leaf, ir::Type type, int64_t alignment) const {
    const auto whole = static_cast<uint64_t>(alignment != 0 ? alignment : ir::align_of(type));
    const uint64_t at = llvm::commonAlignment(llvm::Align(whole), static_cast<uint64_t>(leaf.offset)).value();
    const int64_t own = leaf.kind == LeafKind::Number ? std::max(ir::scalar_bits(leaf.scalar) / 8, 1) : 8;
    return scalars_.alignment(std::min(own, static_cast<int64_t>(at)));
}

// Machines that take no unaligned numbers have no atomics on them either.
void FunctionEmitter::check_aligned(const ir::Op& atomic) {
    if (module_.machine.takes_unaligned()) return;
    const ir::Type type = atomic.operands[1]->type;
    for (const Leaf& leaf : module_.leaves_of(type)) {
        const auto bytes = static_cast<uint64_t>(ir::scalar_bits(leaf.scalar) / 8);
        if (leaf_alignment(leaf, type, alignment_of(atomic.operands[0])).value() >= bytes) continue;
        throw UserError(ErrorKind::Unsupported,
                        "on this device a member of a packed struct cannot be updated in one step: "
                        "its address need not be a multiple of its size; read it, change it and store it",
                        atomic.location);
    }
}

Scalars FunctionEmitter::load(ir::Type type, Value* address, int64_t alignment) {
    Scalars out;
    for (const Leaf& leaf : module_.leaves_of(type)) {
        Value* place = offset(address, leaf.offset);
        const llvm::Align at = leaf_alignment(leaf, type, alignment);
        if (leaf.kind == LeafKind::Number) {
            out.push_back(scalars_.load(leaf.scalar, place, at));
        } else {
            out.push_back(builder_.CreateAlignedLoad(leaf_type(leaf), place, at));
        }
    }
    return out;
}

void FunctionEmitter::store(ir::Type type, const Scalars& scalars, Value* address, int64_t alignment) {
    const auto& leaves = module_.leaves_of(type);
    for (size_t i = 0; i < leaves.size(); ++i) {
        Value* place = offset(address, leaves[i].offset);
        const llvm::Align at = leaf_alignment(leaves[i], type, alignment);
        if (leaves[i].kind == LeafKind::Number) {
            scalars_.store(leaves[i].scalar, scalars[i], place, at);
        } else {
            builder_.CreateAlignedStore(scalars[i], place, at);
        }
    }
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

void FunctionEmitter::add_to(const ir::Op& atomic, Value* address, Value* number) {
    const Sum& sum = sums_.at(&atomic);
    Value* old = builder_.CreateLoad(sum.value->getAllocatedType(), sum.value);
    const ir::Scalar kind = atomic.operands[1]->type.element();
    builder_.CreateStore(scalars_.updated(ir::AtomicKind::Add, kind, old, number), sum.value);
    builder_.CreateStore(address, sum.address);
}

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

// --- addresses -------------------------------------------------------------------------------------------------------

Value* FunctionEmitter::index(const ir::Value* v, Value* extent) {
    Value* raw = scalar(v);
    Value* wide = builder_.CreateIntCast(raw, builder_.getInt64Ty(), v->type.is_signed());
    if (non_negative_(v)) return wide_index(v);
    return builder_.CreateSelect(builder_.CreateICmpSLT(wide, builder_.getInt64(0)), builder_.CreateAdd(wide, extent),
                                 wide);
}

// A non-negative index in 64 bits, computed in them as far as sums and products go: they are taken not to overflow
// (nonnegative.h), and LLVM turns them into addresses that move along with a loop.
Value* FunctionEmitter::wide_index(const ir::Value* v) {
    if (const auto place = wide_loops_.find(v); place != wide_loops_.end()) return place->second;
    if (const auto number = ir::constant_integer(v)) return builder_.getInt64(static_cast<uint64_t>(*number));
    const ir::Op* op = v->op;
    if (op != nullptr && op->code == Opcode::ThreadIndex) {
        const auto dim = static_cast<size_t>(op->ints.at(0));
        if (dim < item_.wide.size()) return item_.wide[dim];
    }
    const bool sum = op != nullptr && op->code == Opcode::Add;
    if (v->type.is_signed() && (sum || (op != nullptr && op->code == Opcode::Mul))) {
        Value* a = wide_index(op->operands[0]);
        Value* b = wide_index(op->operands[1]);
        return sum ? builder_.CreateAdd(a, b) : builder_.CreateMul(a, b);
    }
    return builder_.CreateIntCast(scalar(v), builder_.getInt64Ty(), v->type.is_signed());
}

Value* FunctionEmitter::small_index(const ir::Value* v, int count) {
    return index(v, builder_.getInt64(static_cast<uint64_t>(count)));
}

Value* FunctionEmitter::narrow_index(const ir::Value* v, Value* extent) {
    auto* word = builder_.getInt32Ty();
    Value* place = builder_.CreateIntCast(scalar(v), word, v->type.is_signed());
    if (non_negative_(v)) return place;
    // The sign of a wide index is that of all its bits.
    Value* raw = scalar(v);
    Value* negative = builder_.CreateICmpSLT(raw, llvm::Constant::getNullValue(raw->getType()));
    return builder_.CreateSelect(negative, builder_.CreateAdd(place, builder_.CreateTrunc(extent, word)), place);
}

Value* FunctionEmitter::narrow_address(const ir::Op& op, const Scalars& strides) {
    const Scalars& array = value(op.operands[0]);
    Value* place = nullptr;
    for (size_t d = 0; d + 1 < op.operands.size(); ++d) {
        Value* part = narrow_index(op.operands[d + 1], array[1 + d]);
        if (strides[d] != nullptr) part = builder_.CreateMul(part, strides[d], "", true, true);
        place = place != nullptr ? builder_.CreateAdd(place, part, "", true, true) : part;
    }
    const auto size = static_cast<uint64_t>(ir::size_of(op.operands[0]->type.target()));
    Value* bytes =
        builder_.CreateMul(builder_.CreateZExt(place, builder_.getInt64Ty()), builder_.getInt64(size), "", true, true);
    return builder_.CreateGEP(builder_.getInt8Ty(), array[0], bytes);
}

Value* FunctionEmitter::element_address(const ir::Op& op) {
    const auto narrow = narrow_strides_.find(op.operands[0]);
    if (narrow != narrow_strides_.end()) return narrow_address(op, narrow->second);
    const Scalars& array = value(op.operands[0]);
    const auto ndim = static_cast<size_t>(op.operands[0]->type.ndim());
    Value* bytes = nullptr;
    for (size_t d = 0; d + 1 < op.operands.size(); ++d) {
        Value* place = index(op.operands[d + 1], array[1 + d]);
        Value* part = builder_.CreateMul(place, array[1 + ndim + d]);
        bytes = bytes != nullptr ? builder_.CreateAdd(bytes, part) : part;
    }
    return builder_.CreateGEP(builder_.getInt8Ty(), array[0], bytes);
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

bool FunctionEmitter::add_together(const ir::Op& atomic) {
    if (!module_.options.narrow || !adds_vector(atomic, used_)) return false;
    const ir::Value* place = atomic.operands[0];
    const int64_t size = ir::size_of(place->type.target());
    // Arrays begin at multiples of kDenseAlignment.
    const int64_t alignment = place->op->code == Opcode::At ? std::gcd(size, int64_t{kDenseAlignment}) : 4;
    return module_.machine.add_together(module_, builder_, scalar(place), value(atomic.operands[1]), alignment);
}

Scalars emit_update(ModuleContext& module, llvm::IRBuilder<>& builder, ScalarEmitter& scalars, Value* shape,
                    const ir::Op& op, Value* address, const Scalars& values) {
    const auto& leaves = module.leaves_of(op.operands[1]->type);
    const auto place = [&](int64_t bytes) {
        return builder.CreateGEP(builder.getInt8Ty(), address, builder.getInt64(static_cast<uint64_t>(bytes)));
    };
    const auto at_once = [&] {
        Scalars old;
        for (size_t i = 0; i < leaves.size(); ++i) {
            old.push_back(scalars.atomic(op.atomic(), leaves[i].scalar, place(leaves[i].offset), values[i]));
        }
        return old;
    };
    if (!module.machine.has_exclusive_launches()) return at_once();
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    auto& context = module.llvm.getContext();
    auto* plain = llvm::BasicBlock::Create(context, "plain", function);
    auto* locked = llvm::BasicBlock::Create(context, "locked", function);
    auto* after = llvm::BasicBlock::Create(context, "updated", function);
    builder.CreateCondBr(is_exclusive(builder, shape, op), plain, locked);
    builder.SetInsertPoint(plain);
    Scalars plain_old;
    for (size_t i = 0; i < leaves.size(); ++i) {
        plain_old.push_back(scalars.load(leaves[i].scalar, place(leaves[i].offset), scalars.alignment(1)));
        Value* next = scalars.updated(op.atomic(), leaves[i].scalar, plain_old[i], values[i]);
        scalars.store(leaves[i].scalar, next, place(leaves[i].offset), scalars.alignment(1));
    }
    builder.CreateBr(after);
    plain = builder.GetInsertBlock();
    builder.SetInsertPoint(locked);
    const Scalars locked_old = at_once();
    builder.CreateBr(after);
    locked = builder.GetInsertBlock();
    builder.SetInsertPoint(after);
    Scalars old;
    for (size_t i = 0; i < leaves.size(); ++i) {
        auto* phi = builder.CreatePHI(plain_old[i]->getType(), 2);
        phi->addIncoming(plain_old[i], plain);
        phi->addIncoming(locked_old[i], locked);
        old.push_back(phi);
    }
    return old;
}

// --- calls -----------------------------------------------------------------------------------------------------------

llvm::FunctionCallee FunctionEmitter::outside(std::string_view name, llvm::Type* result,
                                              llvm::ArrayRef<llvm::Type*> parameters) {
    return scalars_.outside_function(name, llvm::FunctionType::get(result, parameters, false), false);
}

llvm::Constant* FunctionEmitter::text(std::string_view bytes) {
    return builder_.CreateGlobalString(llvm::StringRef(bytes.data(), bytes.size()), "text", 0, &module_.llvm);
}

void FunctionEmitter::call(const ir::Op& op) {
    const ir::Function* callee = module_.ir.find(op.text);
    WEFT_CHECK(callee != nullptr, "call of unknown @" + op.text);
    Scalars arguments = {item_.shape, item_.item};
    arguments.append(item_.coordinates.begin(), item_.coordinates.end());
    const Scalars given = flatten(op.operands);
    arguments.append(given.begin(), given.end());
    Value* returned = builder_.CreateCall(module_.functions.at(callee), arguments);
    unsigned next = 0;
    for (const ir::Value* result : op.results) {
        Scalars out;
        for (size_t i = 0; i < module_.leaves_of(result->type).size(); ++i) {
            out.push_back(builder_.CreateExtractValue(returned, next++));
        }
        values_[result] = std::move(out);
    }
}

// How device functions are called: device/types.h.
void FunctionEmitter::native(const ir::Op& op) {
    llvm::SmallVector<llvm::Type*, 8> parameters;
    Scalars arguments;
    const bool direct = op.results.empty() || op.result()->type.is_scalar();
    llvm::AllocaInst* out = nullptr;
    if (!direct) {
        auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<uint64_t>(ir::size_of(op.result()->type)));
        out = entry_alloca(bytes, "result");
        out->setAlignment(llvm::Align(16));
        arguments.push_back(out);
        parameters.push_back(builder_.getPtrTy());
    }
    llvm::SmallVector<std::pair<unsigned, llvm::Attribute::AttrKind>, 4> extensions;
    for (const ir::Value* operand : op.operands) {
        const auto& leaves = module_.leaves_of(operand->type);
        for (size_t i = 0; i < leaves.size(); ++i) {
            if (leaves[i].kind == LeafKind::Number && ir::scalar_bits(leaves[i].scalar) < 32) {
                extensions.emplace_back(arguments.size(), ir::is_signed_int(leaves[i].scalar) ? llvm::Attribute::SExt
                                                                                              : llvm::Attribute::ZExt);
            }
            arguments.push_back(value(operand)[i]);
            parameters.push_back(leaf_type(leaves[i]));
        }
    }
    llvm::Type* result =
        op.results.empty() || !direct ? builder_.getVoidTy() : scalars_.type(op.result()->type.element());
    auto* signature = llvm::FunctionType::get(result, parameters, false);
    auto callee = module_.llvm.getOrInsertFunction(op.text, signature);
    auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee());
    WEFT_CHECK(function != nullptr && function->getFunctionType() == signature,
               "native " + op.text + " has two signatures");
    function->setDoesNotThrow();
    auto* returned = builder_.CreateCall(callee, arguments);
    for (const auto& [place, kind] : extensions) returned->addParamAttr(place, kind);
    if (op.results.empty()) return;
    define(op, direct ? Scalars{returned} : load(op.result()->type, out));
}

// Everything goes by address: codegen/snippet_text.h. What is part of its caller afterwards leaves no memory behind.
void FunctionEmitter::snippet(const ir::Op& op) {
    const auto room = [&](ir::Type type) {
        auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<uint64_t>(ir::size_of(type)));
        llvm::AllocaInst* out = entry_alloca(bytes, "passed");
        out->setAlignment(llvm::Align(16));
        return out;
    };
    Scalars addresses;
    for (const ir::Value* operand : op.operands) {
        if (operand->type.is(ir::TypeKind::Ref)) {
            addresses.push_back(scalar(operand));
            continue;
        }
        addresses.push_back(room(operand->type));
        store(operand->type, value(operand), addresses.back());
    }
    for (const ir::Value* result : op.results) addresses.push_back(room(result->type));
    const size_t results = op.operands.size();
    if (op.snippet_asserts()) {
        addresses.push_back(item_.shape);
        addresses.push_back(entry_alloca(builder_.getInt64Ty(), "item"));
        builder_.CreateStore(item_.item, addresses.back());
    }
    const llvm::SmallVector<llvm::Type*, 8> types(addresses.size(), builder_.getPtrTy());
    builder_.CreateCall(outside(snippet_symbol(op), builder_.getVoidTy(), types), addresses);
    for (size_t i = 0; i < op.results.size(); ++i) {
        values_[op.results[i]] = load(op.results[i]->type, addresses[results + i]);
    }
}

void FunctionEmitter::print(const ir::Op& op) {
    llvm::SmallVector<Value*, 8> arguments;
    for (const ir::Value* operand : op.operands) {
        const ir::Scalar type = operand->type.element();
        // C's promotions of variadic arguments.
        if (ir::is_float(type)) {
            arguments.push_back(scalars_.cast(ir::Scalar::F64, type, scalar(operand)));
        } else if (ir::scalar_bits(type) < 32) {
            arguments.push_back(
                builder_.CreateIntCast(scalar(operand), builder_.getInt32Ty(), ir::is_signed_int(type)));
        } else {
            arguments.push_back(scalar(operand));
        }
    }
    module_.machine.print(builder_, text(op.text), arguments);
}

void FunctionEmitter::assertion(const ir::Op& op) {
    llvm::BasicBlock* failed = block("failed");
    llvm::BasicBlock* after = block("asserted");
    llvm::MDBuilder weights(module_.llvm.getContext());
    builder_.CreateCondBr(scalar(op.operands[0]), after, failed, weights.createBranchWeights(1000, 1));
    builder_.SetInsertPoint(failed);
    Scalars numbers;
    for (const ir::Value* number : llvm::ArrayRef(op.operands).drop_front()) numbers.push_back(scalar(number));
    module_.machine.assert_failed(builder_, text(op.text), item_.shape, item_.item, numbers);
    Scalars nothing;
    for (const auto* phi : exit_->phis) nothing.push_back(llvm::Constant::getNullValue(phi->getType()));
    jump(*exit_, nothing);
    builder_.SetInsertPoint(after);
}

// --- stacks ----------------------------------------------------------------------------------------------------------

// A stack is four variables: storage, bytes used, bytes there, and the cursor's place in bytes. LLVM keeps them in
// registers where it can.
void FunctionEmitter::stack_new(const ir::Op& op) {
    auto* pointer = builder_.getPtrTy();
    auto* word = builder_.getInt64Ty();
    llvm::AllocaInst* data = entry_alloca(pointer, "stack");
    llvm::AllocaInst* used = entry_alloca(word, "used");
    llvm::AllocaInst* there = entry_alloca(word, "there");
    llvm::AllocaInst* cursor = entry_alloca(word, "cursor");
    llvm::BasicBlock& entry = target_.getEntryBlock();
    llvm::IRBuilder<> start(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    start.CreateStore(llvm::ConstantPointerNull::get(pointer), data);
    start.CreateStore(start.getInt64(0), used);
    start.CreateStore(start.getInt64(0), there);
    if (op.operands.empty()) {
        builder_.CreateStore(builder_.getInt64(0), used);
        stacks_.push_back(data);
    } else {  // somebody else's memory
        builder_.CreateStore(builder_.CreateIntToPtr(scalar(op.operands[0]), pointer), data);
        builder_.CreateStore(scalar(op.operands[1]), used);
        builder_.CreateStore(scalar(op.operands[1]), there);
    }
    builder_.CreateStore(builder_.getInt64(0), cursor);
    values_[op.result()] = {data, used, there, cursor};
}

void FunctionEmitter::stack_push(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.operands[1]->type;
    auto* pointer = builder_.getPtrTy();
    auto* word = builder_.getInt64Ty();
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    Value* used = builder_.CreateLoad(word, stack[1]);
    Value* after = builder_.CreateAdd(used, size);
    llvm::BasicBlock* grow = block("grow");
    llvm::BasicBlock* push = block("push");
    llvm::MDBuilder weights(module_.llvm.getContext());
    builder_.CreateCondBr(builder_.CreateICmpUGT(after, builder_.CreateLoad(word, stack[2])), grow, push,
                          weights.createBranchWeights(1, 1000));
    builder_.SetInsertPoint(grow);
    Value* wanted = builder_.CreateAdd(builder_.CreateShl(after, 1), builder_.getInt64(1024));
    Value* moved = builder_.CreateCall(outside("weft_stack_grow", pointer, {pointer, word, word}),
                                       {builder_.CreateLoad(pointer, stack[0]), used, wanted});
    builder_.CreateStore(moved, stack[0]);
    builder_.CreateStore(wanted, stack[2]);
    builder_.CreateBr(push);
    builder_.SetInsertPoint(push);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(pointer, stack[0]), used);
    store(element, value(op.operands[1]), place);
    builder_.CreateStore(after, stack[1]);
    builder_.CreateStore(after, stack[3]);
}

void FunctionEmitter::stack_pop(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.result()->type;
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    Value* used = builder_.CreateSub(builder_.CreateLoad(builder_.getInt64Ty(), stack[1]), size);
    builder_.CreateStore(used, stack[1]);
    builder_.CreateStore(used, stack[3]);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(builder_.getPtrTy(), stack[0]), used);
    define(op, load(element, place));
}

void FunctionEmitter::stack_read(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.result()->type;
    Value* cursor = builder_.CreateLoad(builder_.getInt64Ty(), stack[3]);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(builder_.getPtrTy(), stack[0]), cursor);
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    builder_.CreateStore(builder_.CreateAdd(cursor, size), stack[3]);
    define(op, load(element, place));
}

void FunctionEmitter::free_stacks() {
    for (llvm::AllocaInst* data : stacks_) {
        builder_.CreateCall(outside("weft_stack_free", builder_.getVoidTy(), {builder_.getPtrTy()}),
                            {builder_.CreateLoad(builder_.getPtrTy(), data)});
    }
}

}  // namespace weft::codegen::llvm_backend
