// Arms of an `if` run under masks, each only if some lane takes it; loops turn while any lane does.
#include "codegen/llvm/lane_emitter.h"

#include <algorithm>
#include <array>

#include "ir/builder.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

namespace {

constexpr size_t kFlatArm = 12;  // ops of an arm that is computed rather than branched to

}  // namespace

void LaneEmitter::region(const ir::Region& region) {
    for (const ir::Op* op : region.ops) this->op(*op);
}

bool LaneEmitter::is_flat(const ir::Region& region) const {
    if (region.ops.size() > kFlatArm) return false;
    return std::all_of(region.ops.begin(), region.ops.end(), [](const ir::Op* op) {
        if (op->code == Opcode::Math && ir::math_kind(op->math()) != ir::MathKind::Exact) return false;
        return op->code == Opcode::Yield || (ir::is_pure(op->code) && op->code != Opcode::At);
    });
}

void LaneEmitter::if_op(const ir::Op& op) {
    Value* condition = scalar(op.operands[0]);
    if (!is_vector(condition) && !forms_.diverges(op)) return uniform_if(op, condition);
    condition = widen(condition);
    Value* outer = mask_;
    std::array<llvm::SmallVector<Scalars, 4>, 2> arms;
    for (size_t k = 0; k < 2; ++k) {
        const ir::Region& arm = *op.regions[k];
        if (arm.terminator()->code != Opcode::Yield) throw NotForLanes();
        const auto results = [&] {
            llvm::SmallVector<Scalars, 4> out;
            for (size_t r = 0; r < op.results.size(); ++r) {
                out.push_back(fitted(arm.terminator()->operands[r], op.results[r]));
            }
            return out;
        };
        if (is_flat(arm)) {
            region(arm);
            arms[k] = results();
            continue;
        }
        mask_ = both(outer, k == 0 ? condition : builder_.CreateNot(condition));
        llvm::BasicBlock* before = builder_.GetInsertBlock();
        llvm::BasicBlock* taken = block(k == 0 ? "then" : "else");
        llvm::BasicBlock* after = block("endarm");
        builder_.CreateCondBr(any(mask_), taken, after);
        builder_.SetInsertPoint(taken);
        region(arm);
        const auto inside = results();
        llvm::BasicBlock* end = builder_.GetInsertBlock();
        builder_.CreateBr(after);
        builder_.SetInsertPoint(after);
        for (const Scalars& leaves : inside) {
            Scalars out;
            for (Value* leaf : leaves) {
                auto* phi = builder_.CreatePHI(leaf->getType(), 2);
                phi->addIncoming(leaf, end);
                phi->addIncoming(llvm::Constant::getNullValue(leaf->getType()), before);
                out.push_back(phi);
            }
            arms[k].push_back(std::move(out));
        }
    }
    mask_ = outer;
    for (size_t r = 0; r < op.results.size(); ++r) {
        Scalars out;
        for (size_t i = 0; i < arms[0][r].size(); ++i) {
            out.push_back(builder_.CreateSelect(condition, arms[0][r][i], arms[1][r][i]));
        }
        values_[op.results[r]] = std::move(out);
    }
}

void LaneEmitter::uniform_if(const ir::Op& op, Value* condition) {
    llvm::BasicBlock* after = block("endif");
    std::array<llvm::BasicBlock*, 2> arms = {block("then"), block("else")};
    builder_.CreateCondBr(condition, arms[0], arms[1]);
    llvm::SmallVector<llvm::SmallVector<llvm::PHINode*, 4>, 4> phis;
    for (const ir::Value* result : op.results) {
        auto& leaves = phis.emplace_back();
        for (llvm::Type* type : joined_types(result)) leaves.push_back(llvm::PHINode::Create(type, 2, "", after));
    }
    for (size_t k = 0; k < 2; ++k) {
        const ir::Region& arm = *op.regions[k];
        builder_.SetInsertPoint(arms[k]);
        region(arm);
        if (arm.terminator()->code != Opcode::Yield) throw NotForLanes();
        for (size_t r = 0; r < op.results.size(); ++r) {
            const Scalars leaves = fitted(arm.terminator()->operands[r], op.results[r]);
            for (size_t i = 0; i < leaves.size(); ++i) {
                phis[r][i]->addIncoming(leaves[i], builder_.GetInsertBlock());
            }
        }
        builder_.CreateBr(after);
    }
    builder_.SetInsertPoint(after);
    for (size_t r = 0; r < op.results.size(); ++r) {
        values_[op.results[r]] = Scalars(phis[r].begin(), phis[r].end());
    }
}

LaneEmitter::Turn LaneEmitter::begin_turns(const ir::Op& op, Value* active, llvm::BasicBlock* from) {
    Turn turn;
    turn.start = block("loop");
    turn.exit = block("endloop");
    builder_.SetInsertPoint(turn.start);
    for (size_t k = 0; k < op.results.size(); ++k) {
        const ir::Value* argument = op.regions.back()->arguments[ir::first_argument(op) + k];
        auto& leaves = turn.carried.emplace_back();
        for (llvm::Type* type : joined_types(argument)) leaves.push_back(builder_.CreatePHI(type, 2));
        for (const auto& inner : op.regions) {
            values_[inner->arguments[ir::first_argument(op) + k]] = Scalars(leaves.begin(), leaves.end());
        }
    }
    if (active != nullptr) {
        turn.active = builder_.CreatePHI(active->getType(), 2);
        turn.active->addIncoming(active, from);
        mask_ = turn.active;
    }
    return turn;
}

void LaneEmitter::enter(const ir::Op& op, Turn& turn, const llvm::SmallVector<Scalars, 4>& initial,
                        llvm::BasicBlock* from) {
    for (size_t k = 0; k < op.results.size(); ++k) {
        for (size_t i = 0; i < initial[k].size(); ++i) turn.carried[k][i]->addIncoming(initial[k][i], from);
    }
}

llvm::SmallVector<Scalars, 4> LaneEmitter::initial_values(const ir::Op& op) {
    llvm::SmallVector<Scalars, 4> out;
    for (size_t k = 0; k < op.results.size(); ++k) {
        out.push_back(
            fitted(op.operands[ir::first_carried(op) + k], op.regions.back()->arguments[ir::first_argument(op) + k]));
    }
    return out;
}

llvm::SmallVector<Scalars, 4> LaneEmitter::next_values(const ir::Op& op, const Turn& turn) {
    const ir::Region& body = *op.regions.back();
    if (body.terminator()->code != Opcode::Yield) throw NotForLanes();
    llvm::SmallVector<Scalars, 4> out;
    for (size_t k = 0; k < op.results.size(); ++k) {
        Scalars leaves = fitted(body.terminator()->operands[k], body.arguments[ir::first_argument(op) + k]);
        for (size_t i = 0; i < leaves.size() && turn.active != nullptr; ++i) {
            leaves[i] = builder_.CreateSelect(turn.active, leaves[i], turn.carried[k][i]);
        }
        out.push_back(std::move(leaves));
    }
    return out;
}

void LaneEmitter::for_op(const ir::Op& op) {
    const ir::Region& body = *op.regions[0];
    const ir::Value* index = body.arguments[0];
    const auto known = ir::constant_integer(op.operands[2]);
    // In 64 bits nothing wraps, as long as the bounds are narrower.
    if (ir::scalar_bits(index->type.element()) > 32 && known != 1 && known != -1) throw NotForLanes();
    const auto bound = [&](size_t i) {
        Value* v = scalar(op.operands[i]);
        return builder_.CreateSExt(v, is_vector(v) ? wide(builder_.getInt64Ty()) : builder_.getInt64Ty());
    };
    Value* begin = bound(0);
    Value* end = bound(1);
    Value* step = bound(2);
    if (!forms_.uniform(index)) begin = widen(begin);
    const bool divergent = forms_.diverges(op);
    const auto goes_on = [&](Value* at) {
        const bool vector = is_vector(at) || is_vector(end) || is_vector(step);
        Value* i = widen_if(vector, at);
        Value* e = widen_if(vector, end);
        Value* s = widen_if(vector, step);
        Value* none = llvm::Constant::getNullValue(s->getType());
        Value* up = builder_.CreateAnd(builder_.CreateICmpSGT(s, none), builder_.CreateICmpSLT(i, e));
        Value* down = builder_.CreateAnd(builder_.CreateICmpSLT(s, none), builder_.CreateICmpSGT(i, e));
        return builder_.CreateOr(up, down);
    };
    Value* outer = mask_;
    const auto initial = initial_values(op);
    Value* enters = goes_on(begin);
    Value* active = divergent ? both(outer, enters) : nullptr;
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    Turn turn = begin_turns(op, active, before);
    builder_.SetInsertPoint(before);
    builder_.CreateCondBr(divergent ? any(active) : enters, turn.start, turn.exit);
    enter(op, turn, initial, before);

    builder_.SetInsertPoint(turn.start, turn.start->getFirstNonPHIIt());
    auto* at = llvm::PHINode::Create(begin->getType(), 2, "index", turn.start);
    at->addIncoming(begin, before);
    builder_.SetInsertPoint(turn.start);
    if (!is_vector(at)) wide_loops_[index] = at;
    values_[index] = {builder_.CreateTrunc(at, scalars_.type(index->type.element(), at))};
    region(body);
    const auto next = next_values(op, turn);
    Value* following = is_vector(at) ? builder_.CreateAdd(at, widen(step)) : builder_.CreateNSWAdd(at, step);
    Value* again = goes_on(following);
    Value* still = divergent ? both(turn.active, again) : nullptr;
    builder_.CreateCondBr(divergent ? any(still) : again, turn.start, turn.exit);
    llvm::BasicBlock* last = builder_.GetInsertBlock();
    at->addIncoming(following, last);
    if (divergent) turn.active->addIncoming(still, last);
    enter(op, turn, next, last);
    mask_ = outer;
    builder_.SetInsertPoint(turn.exit);
    for (size_t k = 0; k < op.results.size(); ++k) {
        Scalars out;
        for (size_t i = 0; i < next[k].size(); ++i) {
            auto* phi = builder_.CreatePHI(next[k][i]->getType(), 2);
            phi->addIncoming(initial[k][i], before);
            phi->addIncoming(next[k][i], last);
            out.push_back(phi);
        }
        values_[op.results[k]] = std::move(out);
    }
}

void LaneEmitter::while_op(const ir::Op& op) {
    const bool divergent = forms_.diverges(op);
    Value* outer = mask_;
    const auto initial = initial_values(op);
    llvm::BasicBlock* before = builder_.GetInsertBlock();
    Turn turn = begin_turns(op, divergent ? full_mask() : nullptr, before);
    builder_.SetInsertPoint(before);
    builder_.CreateBr(turn.start);
    enter(op, turn, initial, before);
    builder_.SetInsertPoint(turn.start);
    region(*op.regions[0]);
    Value* condition = scalar(op.regions[0]->terminator()->operands[0]);
    Value* still = divergent ? both(turn.active, condition) : nullptr;
    llvm::BasicBlock* body = block("turn");
    builder_.CreateCondBr(divergent ? any(still) : condition, body, turn.exit);
    builder_.SetInsertPoint(body);
    if (divergent) mask_ = still;
    region(*op.regions[1]);
    llvm::SmallVector<Scalars, 4> next;
    const ir::Region& turned = *op.regions[1];
    if (turned.terminator()->code != Opcode::Yield) throw NotForLanes();
    for (size_t k = 0; k < op.results.size(); ++k) {
        Scalars leaves = fitted(turned.terminator()->operands[k], turned.arguments[k]);
        for (size_t i = 0; i < leaves.size() && divergent; ++i) {
            leaves[i] = builder_.CreateSelect(still, leaves[i], turn.carried[k][i]);
        }
        next.push_back(std::move(leaves));
    }
    llvm::BasicBlock* last = builder_.GetInsertBlock();
    builder_.CreateBr(turn.start);
    enter(op, turn, next, last);
    if (divergent) turn.active->addIncoming(still, last);
    mask_ = outer;
    builder_.SetInsertPoint(turn.exit);
    for (size_t k = 0; k < op.results.size(); ++k) {
        values_[op.results[k]] = Scalars(turn.carried[k].begin(), turn.carried[k].end());
    }
}

}  // namespace weft::codegen::llvm_backend
