// A leaf of a value is either scalar (all lanes have it) or a vector; ops widen their operands when one of them is a
// vector. Lanes that a mask leaves out compute whatever they like, but touch no memory; the regions of an `if` run only
// if some lane takes them, so that what is scalar inside may be done without a mask.
#include "codegen/llvm/lanes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <unordered_set>

#include "base/error.h"
#include "codegen/llvm/lane_shuffles.h"
#include "ir/builder.h"
#include "ir/layout.h"
#include "opt/item_forms.h"
#include "opt/opt.h"

namespace weft::codegen::llvm_backend {
namespace {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

// A kernel may have what lanes do not do: it then runs item by item.
struct NotForLanes {};

// Where each lane's value lies: `base`, plus lane * step bytes, plus an offset a lane.
struct Address {
    Value* base = nullptr;
    Value* step = nullptr;     // i64; null: 0
    Value* offsets = nullptr;  // i64 a lane; null: 0
    int64_t distance = 0;      // the step in bytes where the launch is known to have it, else 0
    // Where an index of the affine address may be negative and count from the end: whether it is not (i1), and the
    // address that holds in any case. Likewise where an index is the remainder of an affine one.
    Value* affine = nullptr;
    Value* other_base = nullptr;
    Value* other_offsets = nullptr;
    // The remainders are further offsets of that address: computed where they are needed, as divisions are slow.
    struct Remainder {
        const ir::Op* op;
        Value* extent;
        Value* stride;
    };
    llvm::SmallVector<Remainder, 1> remainders = {};

    bool uniform() const { return step == nullptr && offsets == nullptr; }
};

constexpr size_t kFlatArm = 12;  // ops of an arm that is computed rather than branched to

class LaneEmitter {
  public:
    LaneEmitter(ModuleContext& module, const ir::Function& kernel, llvm::Function& target, int lanes)
        : module_(module),
          kernel_(kernel),
          target_(target),
          lanes_(static_cast<unsigned>(lanes)),
          forms_(kernel, module.coordinates),
          builder_(llvm::BasicBlock::Create(module.llvm.getContext(), "entry", &target)),
          scalars_(module.llvm, builder_, module.machine, module.options.fast_math),
          shuffles_(builder_, lanes_) {
        builder_.setFastMathFlags(math_flags(module.options));
    }

    LaneBody emit() {
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
            for (size_t i = 0; i < module_.leaves_of(parameter->type).size(); ++i)
                out.push_back(target_.getArg(next++));
            values_[parameter] = std::move(out);
        }
        llvm::SmallVector<llvm::Constant*, 16> numbers;
        for (unsigned lane = 0; lane < lanes_; ++lane) numbers.push_back(builder_.getInt64(lane));
        iota_ = llvm::ConstantVector::get(numbers);
        region(kernel_.body);
        builder_.CreateRetVoid();
        return {&target_, static_cast<int>(lanes_), std::move(conditions_), streams_};
    }

  private:
    // What is done with arrays besides storing whole elements.
    void note_reads(const ir::Op& op) {
        for (size_t i = 0; i < op.operands.size(); ++i) {
            const ir::Value* v = op.operands[i];
            if (v->type.is(TypeKind::Array) && !(op.code == Opcode::At && i == 0)) read_.insert(v);
            if (v->type.is(TypeKind::Ref) && !(op.code == Opcode::Store && i == 0)) read_.insert(array_of(v));
        }
    }
    static const ir::Value* array_of(const ir::Value* ref) {
        return ref->op != nullptr && ref->op->code == Opcode::At ? ref->op->operands[0] : nullptr;
    }

    // --- values ---

    static bool is_vector(const Value* v) { return v->getType()->isVectorTy(); }
    llvm::Type* wide(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
    Value* widen(Value* v) { return is_vector(v) ? v : builder_.CreateVectorSplat(lanes_, v); }
    Value* widen_if(bool wanted, Value* v) { return wanted ? widen(v) : v; }

    const Scalars& value(const ir::Value* v) const {
        const auto place = values_.find(v);
        WEFT_CHECK(place != values_.end(), "value %" + std::to_string(v->id) + " was not emitted");
        return place->second;
    }
    Value* scalar(const ir::Value* v) const { return value(v).front(); }
    void define(const ir::Op& op, Scalars leaves) { values_[op.result()] = std::move(leaves); }

    llvm::Type* leaf_type(const Leaf& leaf) {
        return leaf.kind == LeafKind::Number    ? scalars_.type(leaf.scalar)
               : leaf.kind == LeafKind::Pointer ? static_cast<llvm::Type*>(builder_.getPtrTy())
                                                : builder_.getInt64Ty();
    }

    // The leaves of a value that paths join: as wide as its form says, whatever those of one path are.
    llvm::SmallVector<llvm::Type*, 4> joined_types(const ir::Value* v) {
        if (v->type.is(TypeKind::Ref) || v->type.is(TypeKind::Stack)) throw NotForLanes();
        llvm::SmallVector<llvm::Type*, 4> out;
        for (const Leaf& leaf : module_.leaves_of(v->type)) {
            out.push_back(forms_.uniform(v) ? leaf_type(leaf) : wide(leaf_type(leaf)));
        }
        return out;
    }
    Scalars fitted(const ir::Value* v, const ir::Value* like) {
        Scalars out = value(v);
        if (!forms_.uniform(like)) {
            for (Value*& leaf : out) leaf = widen(leaf);
        }
        return out;
    }

    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(module_.llvm.getContext(), name, &target_);
    }

    // --- masks ---

    Value* both(Value* mask, Value* condition) {
        condition = widen(condition);
        return mask == nullptr ? condition : builder_.CreateAnd(mask, condition);
    }
    Value* any(Value* mask) { return builder_.CreateOrReduce(mask); }
    Value* full_mask() {
        return mask_ != nullptr ? mask_ : llvm::Constant::getAllOnesValue(wide(builder_.getInt1Ty()));
    }

    // --- control flow ---

    void region(const ir::Region& region) {
        for (const ir::Op* op : region.ops) this->op(*op);
    }

    bool is_flat(const ir::Region& region) const {
        if (region.ops.size() > kFlatArm) return false;
        return std::all_of(region.ops.begin(), region.ops.end(), [](const ir::Op* op) {
            if (op->code == Opcode::Math && ir::math_kind(op->math()) != ir::MathKind::Exact) return false;
            return op->code == Opcode::Yield || (ir::is_pure(op->code) && op->code != Opcode::At);
        });
    }

    void if_op(const ir::Op& op) {
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

    void uniform_if(const ir::Op& op, Value* condition) {
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

    // Carried values, and with them the lanes that still turn.
    struct Turn {
        llvm::BasicBlock* start = nullptr;
        llvm::BasicBlock* exit = nullptr;
        llvm::SmallVector<llvm::SmallVector<llvm::PHINode*, 4>, 4> carried;
        llvm::PHINode* active = nullptr;  // null: all lanes turn as one
    };

    // Opens the block that every turn starts with.
    Turn begin_turns(const ir::Op& op, Value* active, llvm::BasicBlock* from) {
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

    void enter(const ir::Op& op, Turn& turn, const llvm::SmallVector<Scalars, 4>& initial, llvm::BasicBlock* from) {
        for (size_t k = 0; k < op.results.size(); ++k) {
            for (size_t i = 0; i < initial[k].size(); ++i) turn.carried[k][i]->addIncoming(initial[k][i], from);
        }
    }

    llvm::SmallVector<Scalars, 4> initial_values(const ir::Op& op) {
        llvm::SmallVector<Scalars, 4> out;
        for (size_t k = 0; k < op.results.size(); ++k) {
            out.push_back(fitted(op.operands[ir::first_carried(op) + k],
                                 op.regions.back()->arguments[ir::first_argument(op) + k]));
        }
        return out;
    }

    // What the body yields; lanes that do not turn keep what they had.
    llvm::SmallVector<Scalars, 4> next_values(const ir::Op& op, const Turn& turn) {
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

    void for_op(const ir::Op& op) {
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

    void while_op(const ir::Op& op) {
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

    // --- addresses ---

    Value* wrapped(Value* index, Value* extent) {
        Value* none = llvm::Constant::getNullValue(index->getType());
        return builder_.CreateSelect(builder_.CreateICmpSLT(index, none),
                                     builder_.CreateAdd(index, widen_if(is_vector(index), extent)), index);
    }

    // An index as i64, or one a lane.
    Value* index(const ir::Value* v, Value* extent) {
        if (!is_vector(scalar(v)) && non_negative_(v)) return first_lane(v);
        Value* raw = scalar(v);
        Value* as_word = builder_.CreateIntCast(
            raw, is_vector(raw) ? wide(builder_.getInt64Ty()) : builder_.getInt64Ty(), v->type.is_signed());
        return non_negative_(v) ? as_word : wrapped(as_word, extent);
    }

    // The first lane's value of an affine or uniform integer, as i64; taken not to overflow, as indices are.
    Value* first_lane(const ir::Value* v) {
        if (const auto place = wide_loops_.find(v); place != wide_loops_.end()) return place->second;
        if (const auto number = ir::constant_integer(v)) return builder_.getInt64(static_cast<uint64_t>(*number));
        const ir::Op* op = v->op;
        if (op != nullptr && op->code == Opcode::ThreadIndex) return coordinates_[static_cast<size_t>(op->ints[0])];
        const bool wide_enough = v->type.is_signed() && ir::scalar_bits(v->type.element()) >= 32;
        if (op != nullptr && wide_enough) {
            const auto operands = [&](auto make) {
                return make(first_lane(op->operands[0]), first_lane(op->operands[1]));
            };
            const bool affine = forms_[v].affine;
            if (op->code == Opcode::Add && affine) {
                return operands([&](Value* a, Value* b) { return builder_.CreateAdd(a, b); });
            }
            if (op->code == Opcode::Sub && affine) {
                return operands([&](Value* a, Value* b) { return builder_.CreateSub(a, b); });
            }
            if (op->code == Opcode::Mul && affine) {
                return operands([&](Value* a, Value* b) { return builder_.CreateMul(a, b); });
            }
        }
        Value* raw = scalar(v);
        if (is_vector(raw)) raw = builder_.CreateExtractElement(raw, uint64_t{0});
        return builder_.CreateIntCast(raw, builder_.getInt64Ty(), v->type.is_signed());
    }

    Value* last_of_lanes(Value* first, int64_t step) {
        return builder_.CreateAdd(first,
                                  builder_.getInt64(static_cast<uint64_t>(step * (static_cast<int64_t>(lanes_) - 1))));
    }
    void require(Value*& all, Value* condition) {
        all = all == nullptr ? condition : builder_.CreateAnd(all, condition);
    }

    // x % m of an affine x: affine too while the lanes do not wrap around, which is most of the time in what is
    // periodic.
    bool is_affine_remainder(const ir::Value* v) {
        const ir::Op* op = v->op;
        if (op == nullptr || op->code != Opcode::Rem || forms_[v].affine || !v->type.is_signed()) return false;
        const auto operand = [&](size_t i) { return forms_[op->operands[i]]; };
        return ir::scalar_bits(v->type.element()) >= 32 && operand(0).affine && operand(1).uniform();
    }

    // The first lane's remainder; `holds` gets the condition under which those of the other lanes follow by `step`.
    // Indices are at most once around: no division is needed.
    Value* first_remainder(const ir::Op& op, int64_t step, Value*& holds) {
        Value* x = first_lane(op.operands[0]);
        Value* m = first_lane(op.operands[1]);
        Value* first = builder_.CreateSelect(builder_.CreateICmpSGE(x, m), builder_.CreateSub(x, m), x);
        Value* end = last_of_lanes(first, step);
        require(holds, builder_.CreateAnd(builder_.CreateICmpSLT(first, m), builder_.CreateICmpSLT(end, m)));
        require(holds, builder_.CreateICmpSGE(builder_.CreateOr(first, end), builder_.getInt64(0)));
        return first;
    }

    Value* remainder_offsets(const Address& a) {
        Value* out = nullptr;
        for (const auto& [op, extent, stride] : a.remainders) {
            Value* lanes = scalars_.binary(op->code, op->result()->type.element(), widen(scalar(op->operands[0])),
                                           widen(scalar(op->operands[1])));
            Value* words = builder_.CreateSExt(lanes, wide(builder_.getInt64Ty()));
            if (!non_negative_(op->result())) words = wrapped(words, extent);
            out = sum(builder_, out, builder_.CreateMul(words, widen(stride)));
        }
        return out;
    }

    static Value* sum(llvm::IRBuilder<>& b, Value* x, Value* y) {
        return x == nullptr ? y : y == nullptr ? x : b.CreateAdd(x, y);
    }

    Address element(const ir::Op& op) {
        const Scalars& array = value(op.operands[0]);
        for (const Value* leaf : array) {
            if (is_vector(leaf)) throw NotForLanes();
        }
        const auto ndim = static_cast<size_t>(op.operands[0]->type.ndim());
        const size_t last = module_.coordinates > 0 ? static_cast<size_t>(module_.coordinates - 1) : 0;
        bool affine = true;
        for (const ir::Value* v : llvm::ArrayRef(op.operands).drop_front()) {
            affine = affine && (!is_vector(scalar(v)) || forms_[v].affine || is_affine_remainder(v));
        }
        Address out;
        Value* bytes = nullptr;
        Value* other_bytes = nullptr;
        int steps = 0;
        for (size_t d = 0; d + 1 < op.operands.size(); ++d) {
            const ir::Value* v = op.operands[d + 1];
            Value* extent = array[1 + d];
            Value* stride = array[1 + ndim + d];
            if (!is_vector(scalar(v))) {
                Value* part = builder_.CreateMul(index(v, extent), stride);
                bytes = sum(builder_, bytes, part);
                other_bytes = sum(builder_, other_bytes, part);
                continue;
            }
            const auto by_lane = [&] { return builder_.CreateMul(index(v, extent), widen(stride)); };
            if (!affine) {
                out.offsets = sum(builder_, out.offsets, by_lane());
                continue;
            }
            const bool remainder = is_affine_remainder(v);
            const int64_t step = forms_[remainder ? v->op->operands[0] : v].step[last];
            Value* first = remainder ? first_remainder(*v->op, step, out.affine) : first_lane(v);
            bytes = sum(builder_, bytes, builder_.CreateMul(first, stride));
            out.step =
                sum(builder_, out.step, builder_.CreateMul(stride, builder_.getInt64(static_cast<uint64_t>(step))));
            ++steps;
            if (step == 1 && d + 1 == ndim) {
                if (const auto* leaf = llvm::dyn_cast<llvm::Argument>(stride)) {
                    out.distance = ir::size_of(op.operands[0]->type.target());
                    const LaneCondition condition{leaf->getArgNo() - first_leaf_, out.distance};
                    if (std::find(conditions_.begin(), conditions_.end(), condition) == conditions_.end()) {
                        conditions_.push_back(condition);
                    }
                }
            }
            if (remainder) {
                out.remainders.push_back({v->op, extent, stride});
                continue;
            }
            if (!non_negative_(v)) {
                Value* end = last_of_lanes(first, step);
                require(out.affine, builder_.CreateICmpSGE(builder_.CreateOr(first, end), builder_.getInt64(0)));
            }
            out.other_offsets = sum(builder_, out.other_offsets, by_lane());
        }
        if (steps > 1) out.distance = 0;
        const auto moved = [&](Value* by) {
            return by == nullptr ? array[0] : builder_.CreateGEP(builder_.getInt8Ty(), array[0], by);
        };
        out.base = moved(bytes);
        if (out.affine != nullptr) {
            out.other_base = moved(other_bytes);
        } else {
            out.other_offsets = nullptr;
        }
        return out;
    }

    Value* offset(Value* address, int64_t bytes) {
        return address == nullptr || bytes == 0
                   ? address
                   : builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(static_cast<uint64_t>(bytes)));
    }

    Address member_at(const ir::Op& op) {
        Address out = addresses_.at(op.operands[0]);
        const ir::Type uniform = op.operands[0]->type.target();
        Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(uniform.element_type())));
        Value* place = index(op.operands[1], builder_.getInt64(static_cast<uint64_t>(uniform.part_count())));
        Value* bytes = builder_.CreateMul(place, widen_if(is_vector(place), size));
        if (is_vector(bytes)) {
            out.offsets = sum(builder_, out.offsets, bytes);
            if (out.affine != nullptr) out.other_offsets = sum(builder_, out.other_offsets, bytes);
        } else {
            out.base = builder_.CreateGEP(builder_.getInt8Ty(), out.base, bytes);
            if (out.other_base != nullptr) {
                out.other_base = builder_.CreateGEP(builder_.getInt8Ty(), out.other_base, bytes);
            }
        }
        return out;
    }

    Value* lane_offsets(const Address& a) {
        Value* steps = a.step == nullptr ? nullptr : builder_.CreateMul(widen(a.step), iota_);
        return sum(builder_, steps, a.offsets);
    }

    Address otherwise(const Address& a) {
        Address out;
        out.base = a.other_base;
        out.offsets = sum(builder_, a.other_offsets, remainder_offsets(a));
        return out;
    }

    // --- memory ---

    llvm::Type* memory_type(ir::Scalar scalar) {
        return scalar == ir::Scalar::Bool ? builder_.getInt8Ty() : scalars_.type(scalar);
    }
    Value* from_memory(ir::Scalar scalar, Value* v) {
        return scalar == ir::Scalar::Bool ? builder_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
    }
    Value* to_memory(ir::Scalar scalar, Value* v) {
        return scalar == ir::Scalar::Bool ? builder_.CreateZExt(v, wide(builder_.getInt8Ty())) : v;
    }

    // Whether the lanes' values fill one run of memory, number by number of one type.
    bool is_run(ir::Type type, const Address& a) {
        if (a.distance != ir::size_of(type) || a.offsets != nullptr) return false;
        const auto& leaves = module_.leaves_of(type);
        if (!LaneShuffles::can_be_grouped(leaves.size())) return false;
        int64_t at = 0;
        for (const Leaf& leaf : leaves) {
            if (leaf.kind != LeafKind::Number || leaf.scalar != leaves[0].scalar || leaf.offset != at) return false;
            at += ir::scalar_bits(leaf.scalar) / 8;
        }
        return at == ir::size_of(type);
    }

    // A run of all lanes' values is `count` vectors; of one of them the mask of its numbers.
    Value* run_mask(unsigned piece, unsigned count) {
        if (count == 1) return mask_;
        llvm::SmallVector<int, 16> lanes;
        for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(static_cast<int>((piece * lanes_ + i) / count));
        return builder_.CreateShuffleVector(mask_, lanes);
    }

    Scalars load(ir::Type type, const Address& a) {
        const auto& leaves = module_.leaves_of(type);
        Scalars out;
        if (a.uniform()) {
            for (const Leaf& leaf : leaves) {
                Value* place = offset(a.base, leaf.offset);
                out.push_back(leaf.kind == LeafKind::Number
                                  ? scalars_.load(leaf.scalar, place, scalars_.alignment(1))
                                  : builder_.CreateAlignedLoad(leaf_type(leaf), place, llvm::Align(1)));
            }
            return out;
        }
        if (is_run(type, a)) {
            const auto count = static_cast<unsigned>(leaves.size());
            auto* vector = wide(memory_type(leaves[0].scalar));
            Scalars pieces;
            for (unsigned piece = 0; piece < count; ++piece) {
                Value* place = offset(a.base, a.distance * lanes_ / count * piece);
                pieces.push_back(mask_ == nullptr
                                     ? static_cast<Value*>(builder_.CreateAlignedLoad(vector, place, llvm::Align(1)))
                                     : builder_.CreateMaskedLoad(vector, place, llvm::Align(1), run_mask(piece, count),
                                                                 llvm::Constant::getNullValue(vector)));
            }
            for (Value* number : shuffles_.taken_apart(pieces)) out.push_back(from_memory(leaves[0].scalar, number));
            return out;
        }
        Value* places = lane_offsets(a);
        for (size_t i = 0; i < leaves.size(); ++i) {
            const Leaf& leaf = leaves[i];
            if (leaf.kind != LeafKind::Number) throw NotForLanes();
            if (const unsigned count = row_length(llvm::ArrayRef(leaves).drop_front(i)); count > 1) {
                const auto numbers = load_rows(leaf, count, a.base, places);
                out.append(numbers.begin(), numbers.end());
                i += count - 1;
                continue;
            }
            auto* vector = wide(memory_type(leaf.scalar));
            Value* pointers = builder_.CreateGEP(builder_.getInt8Ty(), offset(a.base, leaf.offset), places);
            Value* part = builder_.CreateMaskedGather(vector, pointers, llvm::Align(1), full_mask(),
                                                      llvm::Constant::getNullValue(vector));
            out.push_back(from_memory(leaf.scalar, part));
        }
        return out;
    }

    // How many of the first leaves lie side by side, up to what a lane loads at once.
    unsigned row_length(llvm::ArrayRef<Leaf> leaves) const {
        const auto fits = [&](size_t i) {
            return leaves[i].kind == LeafKind::Number && leaves[i].scalar == leaves[0].scalar &&
                   leaves[i].offset == leaves[0].offset + 4 * static_cast<int64_t>(i);
        };
        if (!shuffles_.has_rows() || ir::scalar_bits(leaves[0].scalar) != 32) return 1;
        unsigned count = 1;
        while (count < std::min<size_t>(leaves.size(), LaneShuffles::kRow) && fits(count)) ++count;
        return count;
    }

    // Numbers of elements that lie anywhere: lane by lane, for a load of a few numbers costs what one of a number does.
    LaneShuffles::Vectors load_rows(const Leaf& leaf, unsigned count, Value* base, Value* places) {
        if (mask_ != nullptr) {
            // Lanes that are left out read what one of the others does; there is one.
            auto* bits_type = builder_.getIntNTy(lanes_);
            Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz,
                                                         builder_.CreateBitCast(mask_, bits_type), builder_.getFalse());
            Value* inside = builder_.CreateAnd(builder_.CreateZExtOrTrunc(lane, builder_.getInt32Ty()),
                                               builder_.getInt32(lanes_ - 1));
            Value* there = builder_.CreateVectorSplat(lanes_, builder_.CreateExtractElement(places, inside));
            places = builder_.CreateSelect(mask_, places, there);
        }
        auto* row = llvm::FixedVectorType::get(memory_type(leaf.scalar), LaneShuffles::kRow);
        llvm::SmallVector<llvm::Constant*, LaneShuffles::kRow> wanted;
        for (unsigned i = 0; i < LaneShuffles::kRow; ++i) wanted.push_back(builder_.getInt1(i < count));
        Value* start = offset(base, leaf.offset);
        LaneShuffles::Vectors rows;
        for (unsigned lane = 0; lane < lanes_; ++lane) {
            Value* place = builder_.CreateGEP(builder_.getInt8Ty(), start, builder_.CreateExtractElement(places, lane));
            rows.push_back(count == LaneShuffles::kRow
                               ? static_cast<Value*>(builder_.CreateAlignedLoad(row, place, llvm::Align(1)))
                               : builder_.CreateMaskedLoad(row, place, llvm::Align(1),
                                                           llvm::ConstantVector::get(wanted),
                                                           llvm::Constant::getNullValue(row)));
        }
        return shuffles_.from_rows(rows, count);
    }

    // Stores a run that nothing of this launch reads: what does not fit in the caches need not come there, which
    // saves reading it first.
    void stream(llvm::ArrayRef<Value*> run, const Address& a) {
        constexpr uint64_t kLine = 64;
        llvm::BasicBlock* past = block("past_caches");
        llvm::BasicBlock* plain = block("plain");
        llvm::BasicBlock* after = block("stored");
        Value* flag = builder_.CreateLoad(builder_.getInt32Ty(), offset(shape_, offsetof(LaunchShape, streams)));
        Value* word = builder_.CreatePtrToInt(a.base, builder_.getInt64Ty());
        Value* aligned = builder_.CreateICmpEQ(builder_.CreateAnd(word, kLine - 1), builder_.getInt64(0));
        builder_.CreateCondBr(builder_.CreateAnd(builder_.CreateICmpNE(flag, builder_.getInt32(0)), aligned), past,
                              plain);
        const int64_t size = a.distance * lanes_ / static_cast<int64_t>(run.size());
        for (llvm::BasicBlock* way : {past, plain}) {
            builder_.SetInsertPoint(way);
            for (size_t piece = 0; piece < run.size(); ++piece) {
                auto* made = builder_.CreateAlignedStore(run[piece], offset(a.base, size * static_cast<int64_t>(piece)),
                                                         llvm::Align(way == past ? kLine : 1));
                if (way == past) {
                    made->setMetadata(llvm::LLVMContext::MD_nontemporal,
                                      llvm::MDNode::get(module_.llvm.getContext(),
                                                        llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
                }
            }
            builder_.CreateBr(after);
        }
        builder_.SetInsertPoint(after);
        streams_ = true;
    }

    void store(ir::Type type, const Scalars& values, const Address& a, bool only_written = false) {
        const auto& leaves = module_.leaves_of(type);
        for (const Leaf& leaf : leaves) {
            if (leaf.kind != LeafKind::Number) throw NotForLanes();
        }
        if (is_run(type, a)) {
            llvm::SmallVector<Value*, 4> parts;
            for (size_t i = 0; i < leaves.size(); ++i) {
                parts.push_back(to_memory(leaves[i].scalar, widen(values[i])));
            }
            const auto count = static_cast<unsigned>(parts.size());
            const auto run = shuffles_.put_together(parts);
            const bool whole_lines = a.distance * lanes_ / count % 64 == 0;
            if (only_written && mask_ == nullptr && whole_lines) return stream(run, a);
            for (unsigned piece = 0; piece < count; ++piece) {
                Value* all = run[piece];
                Value* place = offset(a.base, a.distance * lanes_ / count * piece);
                if (mask_ == nullptr) {
                    builder_.CreateAlignedStore(all, place, llvm::Align(1));
                } else {
                    builder_.CreateMaskedStore(all, place, llvm::Align(1), run_mask(piece, count));
                }
            }
            return;
        }
        Value* places = lane_offsets(a);
        for (size_t i = 0; i < leaves.size(); ++i) {
            Value* base = offset(a.base, leaves[i].offset);
            if (places == nullptr && !is_vector(values[i])) {
                scalars_.store(leaves[i].scalar, values[i], base, scalars_.alignment(1));
                continue;
            }
            // To one address the last lane writes last.
            Value* pointers = places == nullptr ? widen(base) : builder_.CreateGEP(builder_.getInt8Ty(), base, places);
            builder_.CreateMaskedScatter(to_memory(leaves[i].scalar, widen(values[i])), pointers, llvm::Align(1),
                                         full_mask());
        }
    }

    // Where an index may count from the end: the affine address if it holds, else the general one.
    template <typename Do>
    void by_address(const Address& a, const Do& work) {
        if (a.affine == nullptr) return work(a);
        llvm::BasicBlock* inside = block("inside");
        llvm::BasicBlock* around = block("around");
        llvm::BasicBlock* after = block("accessed");
        builder_.CreateCondBr(a.affine, inside, around);
        builder_.SetInsertPoint(inside);
        work(a);
        builder_.CreateBr(after);
        builder_.SetInsertPoint(around);
        work(otherwise(a));
        builder_.CreateBr(after);
        builder_.SetInsertPoint(after);
    }

    Scalars load_any(ir::Type type, const Address& a) {
        llvm::SmallVector<std::pair<Scalars, llvm::BasicBlock*>, 2> found;
        by_address(a, [&](const Address& way) {
            Scalars leaves = load(type, way);
            found.emplace_back(std::move(leaves), builder_.GetInsertBlock());
        });
        if (found.size() == 1) return found[0].first;
        Scalars out;
        for (size_t i = 0; i < found[0].first.size(); ++i) {
            auto* phi = builder_.CreatePHI(found[0].first[i]->getType(), 2);
            for (const auto& [leaves, from] : found) phi->addIncoming(leaves[i], from);
            out.push_back(phi);
        }
        return out;
    }

    // --- atomics ---

    void atomic(const ir::Op& op) {
        const Address a = addresses_.at(op.operands[0]);
        const ir::Type type = op.operands[1]->type;
        const bool used = used_.contains(op.result());
        if (!used && op.text == opt::kOwnElement && a.affine == nullptr && is_run(type, a)) return own_update(op, a);
        if (!used && a.uniform() && op.atomic() == ir::AtomicKind::Add && type.has_float_elements()) {
            return reduce(op, a);
        }
        if (a.affine != nullptr) {
            // In order of lanes, whichever address holds.
            Value* places = lane_offsets(a);
            Address chosen;
            chosen.base = builder_.CreateSelect(a.affine, a.base, a.other_base);
            chosen.offsets = builder_.CreateSelect(a.affine, places, otherwise(a).offsets);
            return in_order(op, chosen, used);
        }
        in_order(op, a, used);
    }

    // Lanes meet neither each other nor other threads, if the launch says so.
    void own_update(const ir::Op& op, const Address& a) {
        const ir::Type type = op.operands[1]->type;
        const auto& leaves = module_.leaves_of(type);
        llvm::BasicBlock* plain = block("own");
        llvm::BasicBlock* ordered = block("ordered");
        llvm::BasicBlock* after = block("updated");
        Value* place = offset(shape_, offsetof(LaunchShape, exclusive));
        Value* flags = builder_.CreateLoad(builder_.getInt32Ty(), place);
        builder_.CreateCondBr(
            builder_.CreateICmpNE(builder_.CreateAnd(flags, uint64_t{kOwnElements}), builder_.getInt32(0)), plain,
            ordered);
        builder_.SetInsertPoint(plain);
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

    // Lanes are summed pairwise, and the sum is added once.
    void reduce(const ir::Op& op, const Address& a) {
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
                all = builder_.CreateFAdd(builder_.CreateShuffleVector(all, low),
                                          builder_.CreateShuffleVector(all, high));
            }
            sums.push_back(builder_.CreateExtractElement(all, uint64_t{0}));
        }
        emit_update(module_, builder_, scalars_, shape_, op, a.base, sums);
    }

    // A vector in memory, for its elements to be read one by one; what is no vector stays.
    Value* laid_out(Value* v) {
        if (v == nullptr || !is_vector(v)) return v;
        llvm::BasicBlock& entry = target_.getEntryBlock();
        auto* memory = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(v->getType(), nullptr, "by_lane");
        builder_.CreateStore(v, memory);
        return memory;
    }
    Value* of_lane(Value* laid_out, Value* lane) {
        auto* memory = llvm::dyn_cast<llvm::AllocaInst>(laid_out);
        if (memory == nullptr) return laid_out;
        llvm::Type* type = memory->getAllocatedType()->getScalarType();
        return builder_.CreateLoad(type, builder_.CreateGEP(type, memory, lane));
    }

    // Lane by lane: `work` gets the lane's number.
    template <typename Work>
    void for_each_lane(const Work& work) {
        if (mask_ != nullptr) return for_each_active_lane(work);
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

    template <typename Work>
    void for_each_active_lane(const Work& work) {
        auto* bits_type = builder_.getIntNTy(lanes_);
        Value* all =
            mask_ != nullptr ? builder_.CreateBitCast(mask_, bits_type) : llvm::Constant::getAllOnesValue(bits_type);
        llvm::BasicBlock* before = builder_.GetInsertBlock();
        llvm::BasicBlock* loop = block("lane");
        llvm::BasicBlock* after = block("lanes");
        builder_.CreateBr(loop);
        builder_.SetInsertPoint(loop);
        auto* bits = builder_.CreatePHI(bits_type, 2);
        bits->addIncoming(all, before);
        work(builder_.CreateZExtOrTrunc(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue()),
                                        builder_.getInt32Ty()));
        Value* rest = builder_.CreateAnd(bits, builder_.CreateSub(bits, llvm::ConstantInt::get(bits_type, 1)));
        bits->addIncoming(rest, builder_.GetInsertBlock());
        builder_.CreateCondBr(builder_.CreateICmpNE(rest, llvm::ConstantInt::get(bits_type, 0)), loop, after);
        builder_.SetInsertPoint(after);
    }

    // Sums of float32 where no other thread comes between: several numbers at once.
    bool is_sum_of_rows(const ir::Op& op) {
        const auto& leaves = module_.leaves_of(op.operands[1]->type);
        const auto in_place = [&](const Leaf& leaf) {
            return leaf.kind == LeafKind::Number && leaf.scalar == ir::Scalar::F32 &&
                   leaf.offset == 4 * (&leaf - leaves.data());
        };
        return module_.machine.has_exclusive_launches() &&
               (op.atomic() == ir::AtomicKind::Add || op.atomic() == ir::AtomicKind::Sub) &&
               LaneShuffles::can_be_grouped(leaves.size()) && std::all_of(leaves.begin(), leaves.end(), in_place);
    }

    void sum_rows(const ir::Op& op, const Address& a) {
        Scalars numbers;
        for (Value* leaf : value(op.operands[1])) numbers.push_back(widen(leaf));
        const auto count = static_cast<unsigned>(numbers.size());
        const auto run = shuffles_.put_together(numbers);
        auto* run_type = llvm::ArrayType::get(numbers[0]->getType(), count);
        llvm::BasicBlock& entry = target_.getEntryBlock();
        Value* given = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(run_type, nullptr, "rows");
        for (unsigned i = 0; i < count; ++i) {
            builder_.CreateStore(run[i], builder_.CreateConstInBoundsGEP2_32(run_type, given, 0, i));
        }
        Value* places = laid_out(lane_offsets(a));
        for_each_lane([&](Value* lane) {
            Value* address =
                places == nullptr ? a.base : builder_.CreateGEP(builder_.getInt8Ty(), a.base, of_lane(places, lane));
            Value* first = builder_.CreateMul(lane, builder_.getInt32(4 * count));
            Value* mine = builder_.CreateGEP(builder_.getInt8Ty(), given, first);
            for (unsigned at = 0; at < count;) {
                const unsigned size = count - at >= 4 ? 4 : count - at >= 2 ? 2 : 1;
                llvm::Type* type =
                    size == 1 ? builder_.getFloatTy()
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

    void in_order(const ir::Op& op, const Address& a, bool used) {
        if (used || !is_sum_of_rows(op)) return lane_by_lane(op, a, used);
        llvm::BasicBlock* plain = block("plain");
        llvm::BasicBlock* shared = block("shared");
        llvm::BasicBlock* after = block("summed");
        builder_.CreateCondBr(is_exclusive(builder_, shape_, op), plain, shared);
        builder_.SetInsertPoint(plain);
        sum_rows(op, a);
        builder_.CreateBr(after);
        builder_.SetInsertPoint(shared);
        lane_by_lane(op, a, false);
        builder_.CreateBr(after);
        builder_.SetInsertPoint(after);
    }

    void lane_by_lane(const ir::Op& op, const Address& a, bool used) {
        Scalars given;
        for (Value* leaf : value(op.operands[1])) given.push_back(laid_out(leaf));
        Value* places = laid_out(lane_offsets(a));
        auto* bits_type = builder_.getIntNTy(lanes_);
        Value* all =
            mask_ != nullptr ? builder_.CreateBitCast(mask_, bits_type) : llvm::Constant::getAllOnesValue(bits_type);
        llvm::BasicBlock* before = builder_.GetInsertBlock();
        llvm::BasicBlock* loop = block("lane");
        llvm::BasicBlock* after = block("lanes");
        builder_.CreateBr(loop);
        builder_.SetInsertPoint(loop);
        auto* bits = builder_.CreatePHI(bits_type, 2);
        bits->addIncoming(all, before);
        llvm::SmallVector<llvm::PHINode*, 4> results;
        for (const Leaf& leaf : module_.leaves_of(op.operands[1]->type)) {
            if (!used) break;
            auto* phi = builder_.CreatePHI(wide(leaf_type(leaf)), 2);
            phi->addIncoming(llvm::Constant::getNullValue(phi->getType()), before);
            results.push_back(phi);
        }
        Value* lane = builder_.CreateZExtOrTrunc(
            builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, builder_.getTrue()), builder_.getInt32Ty());
        Value* address =
            places == nullptr ? a.base : builder_.CreateGEP(builder_.getInt8Ty(), a.base, of_lane(places, lane));
        Scalars mine;
        for (Value* leaf : given) mine.push_back(of_lane(leaf, lane));
        const Scalars old = emit_update(module_, builder_, scalars_, shape_, op, address, mine);
        llvm::SmallVector<Value*, 4> next;
        for (size_t i = 0; i < results.size(); ++i) {
            next.push_back(builder_.CreateInsertElement(results[i], old[i], lane));
            results[i]->addIncoming(next[i], builder_.GetInsertBlock());
        }
        Value* rest = builder_.CreateAnd(bits, builder_.CreateSub(bits, llvm::ConstantInt::get(bits_type, 1)));
        bits->addIncoming(rest, builder_.GetInsertBlock());
        builder_.CreateCondBr(builder_.CreateICmpNE(rest, llvm::ConstantInt::get(bits_type, 0)), loop, after);
        builder_.SetInsertPoint(after);
        if (used) define(op, Scalars(next.begin(), next.end()));
    }

    // --- ops ---

    // Calls make(i, operands) for each leaf of elementwise operands, widened where one of them is a vector.
    template <typename Make>
    void by_leaf(const ir::Op& op, const Make& make) {
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

    // Numbers that only calls convert.
    bool is_called(ir::Type type) const {
        return !module_.machine.has_half_instructions() && (type.is_scalar() || type.is_uniform()) &&
               type.element() == ir::Scalar::F16;
    }

    Value* chosen(Value* condition, Value* a, Value* b) {
        const bool vector = is_vector(condition) || is_vector(a) || is_vector(b);
        return builder_.CreateSelect(condition, widen_if(vector, a), widen_if(vector, b));
    }

    void op(const ir::Op& op) {
        const auto operand = [&](size_t i) -> const Scalars& { return value(op.operands.at(i)); };
        const auto operand_type = [&](size_t i) { return op.operands.at(i)->type; };
        for (const ir::Value* result : op.results) {
            if (is_called(result->type)) throw NotForLanes();
        }
        for (const ir::Value* v : op.operands) {
            if (is_called(v->type)) throw NotForLanes();
        }
        switch (op.code) {
            case Opcode::Const:
                return define(op,
                              {scalars_.constant(op.result()->type.element(), static_cast<uint64_t>(op.ints.at(0)))});
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
                return by_leaf(op, [&](llvm::ArrayRef<Value*> x) {
                    return scalars_.math(op.math(), op.result()->type.element(), x);
                });
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
                Address a = addresses_.at(op.operands[0]);
                a.base = offset(a.base, bytes);
                a.other_base = offset(a.other_base, bytes);
                addresses_[op.result()] = a;
                return;
            }
            case Opcode::MemberAt:
                addresses_[op.result()] = member_at(op);
                return;
            case Opcode::View: {
                const Address a = element(op);
                if (!a.uniform()) throw NotForLanes();
                Scalars out = {a.base};
                const auto ndim = static_cast<size_t>(operand_type(0).ndim());
                const size_t dropped = op.operands.size() - 1;
                for (size_t d = dropped; d < ndim; ++d) out.push_back(operand(0)[1 + d]);
                for (size_t d = dropped; d < ndim; ++d) out.push_back(operand(0)[1 + ndim + d]);
                return define(op, std::move(out));
            }
            case Opcode::Load:
                return define(op, load_any(op.result()->type, addresses_.at(op.operands[0])));
            case Opcode::Store:
                return by_address(addresses_.at(op.operands[0]), [&](const Address& a) {
                    const ir::Value* array = array_of(op.operands[0]);
                    store(operand_type(1), operand(1), a, array != nullptr && !read_.contains(array));
                });
            case Opcode::Atomic:
                return atomic(op);
            case Opcode::Shape: {
                Value* extent = operand(0)[1 + static_cast<size_t>(op.ints.at(0))];
                return define(op, {builder_.CreateTrunc(extent, is_vector(extent) ? wide(builder_.getInt32Ty())
                                                                                  : builder_.getInt32Ty())});
            }
            case Opcode::IsValid:
                return define(
                    op, {builder_.CreateICmpNE(operand(0)[0], llvm::Constant::getNullValue(operand(0)[0]->getType()))});
            case Opcode::ThreadIndex: {
                const auto dimension = static_cast<int>(op.ints.at(0));
                Value* first =
                    builder_.CreateTrunc(coordinates_[static_cast<size_t>(dimension)], builder_.getInt32Ty());
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

    Value* is_at(Value* place, size_t i) {
        return builder_.CreateICmpEQ(place, llvm::ConstantInt::get(place->getType(), i));
    }

    ModuleContext& module_;
    const ir::Function& kernel_;
    llvm::Function& target_;
    unsigned lanes_;
    opt::ItemForms forms_;
    llvm::IRBuilder<> builder_;
    ScalarEmitter scalars_;
    LaneShuffles shuffles_;
    NonNegative non_negative_;
    Value* shape_ = nullptr;
    Value* item_ = nullptr;
    llvm::SmallVector<Value*, 4> coordinates_;
    unsigned first_leaf_ = 0;
    llvm::Constant* iota_ = nullptr;
    Value* mask_ = nullptr;  // null: all lanes
    std::unordered_map<const ir::Value*, Scalars> values_;
    std::unordered_map<const ir::Value*, Address> addresses_;
    std::unordered_map<const ir::Value*, Value*> wide_loops_;
    std::unordered_set<const ir::Value*> used_;
    std::unordered_set<const ir::Value*> read_;
    bool streams_ = false;
    std::vector<LaneCondition> conditions_;
};

}  // namespace

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
