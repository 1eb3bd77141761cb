#include "codegen/nonnegative.h"

#include "codegen/gpu_plan.h"
#include "ir/builder.h"

namespace weft::codegen {
namespace {

// A sum of extents, coordinates and constants.
struct Sum {
    int64_t constant = 0;
    int terms = 0;         // that are bounded, and not negative
    bool divisor = false;  // the divisor is one of them
    bool is_known = true;
};

void add(Sum& sum, const ir::Value* value, const ir::Value* divisor, int sign) {
    using enum ir::Opcode;
    if (const auto number = ir::constant_integer(value)) {
        sum.constant += sign * *number;
        sum.is_known &= std::abs(*number) < kBoundedExtent / 8;
        return;
    }
    const ir::Op* op = value->op;
    if (op != nullptr && (op->code == Add || op->code == Sub)) {
        add(sum, op->operands[0], divisor, sign);
        add(sum, op->operands[1], divisor, op->code == Sub ? -sign : sign);
        return;
    }
    const bool bounded = op != nullptr && (op->code == ThreadIndex || op->code == LaunchDim || op->code == Shape);
    sum.is_known &= bounded && sign > 0;
    sum.terms += 1;
    sum.divisor |= value == divisor;
}

// x % n where x is at least 0 if n is at least 1, and overflows nowhere.
bool divides_no_negative(const ir::Op& remainder) {
    constexpr int kMostTerms = 3;
    if (!remainder.result()->type.is_scalar() || ir::scalar_bits(remainder.result()->type.element()) < 32) return false;
    Sum sum;
    add(sum, remainder.operands[0], remainder.operands[1], 1);
    return sum.is_known && sum.terms <= kMostTerms && sum.constant + (sum.divisor ? 1 : 0) >= 0;
}

}  // namespace

bool NonNegative::known(const ir::Value* value, bool strict) {
    auto& memo = known_[strict ? 1 : 0];
    // A value under decision counts as negative: what depends on itself (a carried value) proves nothing.
    const auto [place, fresh] = memo.try_emplace(value, false);
    if (!fresh) return place->second;
    const bool result = decide(*value, strict);
    memo[value] = result;
    return result;
}

bool NonNegative::decide(const ir::Value& value, bool strict) {
    using enum ir::Opcode;
    if (!value.type.is_scalar() || !ir::is_int(value.type.element())) return false;
    if (!value.type.is_signed()) return true;
    if (const auto number = ir::constant_integer(&value)) return *number >= 0;
    const ir::Op* op = value.op;
    if (op == nullptr) {
        // The index of a loop that counts up from a non-negative begin, or down and ends before -1.
        const ir::Op* loop = value.region != nullptr ? value.region->parent : nullptr;
        if (loop == nullptr || loop->code != For || value.index != 0) return false;
        const auto step = ir::constant_integer(loop->operands[2]);
        if (step && *step < 0) {
            const auto end = ir::constant_integer(loop->operands[1]);
            return end && *end >= -1;
        }
        return step && known(loop->operands[0], strict);
    }
    const auto operand = [&](size_t i, bool demand) { return known(op->operands[i], demand); };
    switch (op->code) {
        case ThreadIndex:
        case LaunchDim:
        case Shape:
            return true;
        case Add:
        case Mul:
            // Short types overflow in earnest.
            return !strict && ir::scalar_bits(value.type.element()) >= 32 && operand(0, false) && operand(1, false);
        case Div:
        case FloorDiv:
            return operand(0, true) && operand(1, true);
        case Min:
            return operand(0, true) && operand(1, true);
        case Rem:
            return operand(0, true) || (bounded_ && divides_no_negative(*op));
        case Shr:
            return operand(0, true);
        case Max:
        case And:
            return operand(0, true) || operand(1, true);
        case Select:
            return operand(1, strict) && operand(2, strict);
        case Cast: {
            const ir::Type from = op->operands[0]->type;
            if (!from.is_scalar()) return false;
            if (from.is_bool()) return true;
            if (!ir::is_int(from.element())) return false;
            // Narrowing, or reinterpreting an unsigned of the same width, may set the sign bit.
            const int from_bits = ir::scalar_bits(from.element());
            const int to_bits = ir::scalar_bits(value.type.element());
            return from.is_signed() ? to_bits >= from_bits && operand(0, strict) : to_bits > from_bits;
        }
        default:
            return false;
    }
}

}  // namespace weft::codegen
