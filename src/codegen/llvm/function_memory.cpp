// Where elements and members lie, and their loads and stores.
#include "codegen/llvm/function_emitter.h"

#include <algorithm>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using llvm::Value;

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
    WEFT_CHECK(place != nullptr, "an element without an index");
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

}  // namespace weft::codegen::llvm_backend
