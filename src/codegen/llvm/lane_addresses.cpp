// Where the lanes' elements lie: at one place, at places a step apart, or anywhere.
#include "codegen/llvm/lane_emitter.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

Value* LaneEmitter::wrapped(Value* index, Value* extent) {
    Value* none = llvm::Constant::getNullValue(index->getType());
    return builder_.CreateSelect(builder_.CreateICmpSLT(index, none),
                                 builder_.CreateAdd(index, widen_if(is_vector(index), extent)), index);
}

Value* LaneEmitter::index(const ir::Value* v, Value* extent) {
    if (!is_vector(scalar(v)) && non_negative_(v)) return first_lane(v);
    Value* raw = scalar(v);
    Value* as_word = builder_.CreateIntCast(raw, is_vector(raw) ? wide(builder_.getInt64Ty()) : builder_.getInt64Ty(),
                                            v->type.is_signed());
    return non_negative_(v) ? as_word : wrapped(as_word, extent);
}

Value* LaneEmitter::first_lane(const ir::Value* v) {
    if (const auto place = wide_loops_.find(v); place != wide_loops_.end()) return place->second;
    if (const auto number = ir::constant_integer(v)) return builder_.getInt64(static_cast<uint64_t>(*number));
    const ir::Op* op = v->op;
    if (op != nullptr && op->code == Opcode::ThreadIndex) return coordinates_[static_cast<size_t>(op->ints[0])];
    const bool wide_enough = v->type.is_signed() && ir::scalar_bits(v->type.element()) >= 32;
    if (op != nullptr && wide_enough) {
        const auto operands = [&](auto make) { return make(first_lane(op->operands[0]), first_lane(op->operands[1])); };
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

Value* LaneEmitter::last_of_lanes(Value* first, int64_t step) {
    return builder_.CreateAdd(first,
                              builder_.getInt64(static_cast<uint64_t>(step * (static_cast<int64_t>(lanes_) - 1))));
}

void LaneEmitter::require(Value*& all, Value* condition) {
    all = all == nullptr ? condition : builder_.CreateAnd(all, condition);
}

bool LaneEmitter::is_affine_remainder(const ir::Value* v) {
    const ir::Op* op = v->op;
    if (op == nullptr || op->code != Opcode::Rem || forms_[v].affine || !v->type.is_signed()) return false;
    const auto operand = [&](size_t i) { return forms_[op->operands[i]]; };
    return ir::scalar_bits(v->type.element()) >= 32 && operand(0).affine && operand(1).uniform();
}

Value* LaneEmitter::first_remainder(const ir::Op& op, int64_t step, Value*& holds) {
    Value* x = first_lane(op.operands[0]);
    Value* m = first_lane(op.operands[1]);
    Value* first = builder_.CreateSelect(builder_.CreateICmpSGE(x, m), builder_.CreateSub(x, m), x);
    Value* end = last_of_lanes(first, step);
    require(holds, builder_.CreateAnd(builder_.CreateICmpSLT(first, m), builder_.CreateICmpSLT(end, m)));
    require(holds, builder_.CreateICmpSGE(builder_.CreateOr(first, end), builder_.getInt64(0)));
    return first;
}

Value* LaneEmitter::remainder_offsets(const LaneAddress& a) {
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

void LaneEmitter::demand(const LaneCondition& condition) {
    if (std::ranges::find(conditions_, condition) == conditions_.end()) conditions_.push_back(condition);
}

bool LaneEmitter::counts_narrow(const ir::Op& at) const {
    const auto is_narrow = [&](const ir::Value* v) {
        return !is_vector(scalar(v)) || (v->type.is_signed() && ir::scalar_bits(v->type.element()) <= 32);
    };
    return llvm::isa<llvm::Argument>(value(at.operands[0])[0]) &&
           std::all_of(at.operands.begin() + 1, at.operands.end(), is_narrow);
}

Value* LaneEmitter::narrow_offsets(const ir::Value* v, Value* extent, Value* stride) {
    auto* word = builder_.getInt32Ty();
    Value* places = builder_.CreateSExt(scalar(v), wide(word));
    if (!non_negative_(v)) places = wrapped(places, builder_.CreateTrunc(extent, word));
    return builder_.CreateMul(places, widen(builder_.CreateTrunc(stride, word)));
}

LaneAddress LaneEmitter::element(const ir::Op& op) {
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
    LaneAddress out;
    const bool narrow = !affine && counts_narrow(op);
    if (narrow) {
        const auto* first = llvm::cast<llvm::Argument>(array[0]);
        demand({first->getArgNo() - first_leaf_, static_cast<int64_t>(ndim), LaneCondition::Kind::IsNarrow});
    }
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
            out.offsets = sum(builder_, out.offsets, narrow ? narrow_offsets(v, extent, stride) : by_lane());
            continue;
        }
        const bool remainder = is_affine_remainder(v);
        const int64_t step = forms_[remainder ? v->op->operands[0] : v].step[last];
        Value* first = remainder ? first_remainder(*v->op, step, out.affine) : first_lane(v);
        bytes = sum(builder_, bytes, builder_.CreateMul(first, stride));
        out.step = sum(builder_, out.step, builder_.CreateMul(stride, builder_.getInt64(static_cast<uint64_t>(step))));
        ++steps;
        if (step == 1 && d + 1 == ndim) {
            if (const auto* leaf = llvm::dyn_cast<llvm::Argument>(stride)) {
                out.distance = ir::size_of(op.operands[0]->type.target());
                demand({leaf->getArgNo() - first_leaf_, out.distance});
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

Value* LaneEmitter::offset(Value* address, int64_t bytes) {
    return address == nullptr || bytes == 0
               ? address
               : builder_.CreateGEP(builder_.getInt8Ty(), address, builder_.getInt64(static_cast<uint64_t>(bytes)));
}

LaneAddress LaneEmitter::member_at(const ir::Op& op) {
    LaneAddress out = addresses_.at(op.operands[0]);
    const ir::Type uniform = op.operands[0]->type.target();
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(uniform.element_type())));
    Value* place = index(op.operands[1], builder_.getInt64(static_cast<uint64_t>(uniform.part_count())));
    Value* bytes = builder_.CreateMul(place, widen_if(is_vector(place), size));
    out.distance = 0;
    if (is_vector(bytes)) {
        if (out.offsets != nullptr) out.offsets = builder_.CreateSExt(out.offsets, bytes->getType());
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

Value* LaneEmitter::lane_offsets(const LaneAddress& a) {
    Value* steps = a.step == nullptr ? nullptr : builder_.CreateMul(widen(a.step), iota_);
    return sum(builder_, steps, a.offsets);
}

LaneAddress LaneEmitter::otherwise(const LaneAddress& a) {
    LaneAddress out;
    out.base = a.other_base;
    out.offsets = sum(builder_, a.other_offsets, remainder_offsets(a));
    return out;
}

}  // namespace weft::codegen::llvm_backend
