// Scalar constants: their bits, and the arithmetic that the builder folds. Folding gives the bits that every backend's
// code would give (ops.def); where that is not certain (the Math op) nothing is folded.
#include "ir/constant.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/small_float.h"
#include "ir/builder.h"

namespace weft::ir {
namespace {

uint64_t mask(Scalar type) {
    const int bits = type == Scalar::Bool ? 1 : scalar_bits(type);
    return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

int64_t sign_extend(Scalar type, uint64_t bits) {
    const int shift = 64 - scalar_bits(type);
    return static_cast<int64_t>(bits << shift) >> shift;
}

// Integer arithmetic on values extended to 64 bits.
template <typename Int>
std::optional<uint64_t> fold_int(Opcode code, Scalar type, Int a, Int b) {
    const auto ua = static_cast<uint64_t>(a);
    const auto ub = static_cast<uint64_t>(b);
    const int width = scalar_bits(type);
    const auto count = static_cast<int>(ub % static_cast<uint64_t>(width));
    switch (code) {
        case Opcode::Add:
            return ua + ub;
        case Opcode::Sub:
            return ua - ub;
        case Opcode::Mul:
            return ua * ub;
        case Opcode::Div:
        case Opcode::FloorDiv:
        case Opcode::Rem: {
            if (b == 0) return 0;
            if (std::is_signed_v<Int> && ub == ~uint64_t{0}) return code == Opcode::Rem ? 0 : uint64_t{0} - ua;
            const Int quotient = a / b;
            const Int remainder = a % b;
            if (code == Opcode::Rem) return static_cast<uint64_t>(remainder);
            const bool round_down = code == Opcode::FloorDiv && remainder != 0 && ((a < 0) != (b < 0));
            return static_cast<uint64_t>(round_down ? quotient - 1 : quotient);
        }
        case Opcode::Min:
            return static_cast<uint64_t>(b < a ? b : a);
        case Opcode::Max:
            return static_cast<uint64_t>(a < b ? b : a);
        case Opcode::And:
            return ua & ub;
        case Opcode::Or:
            return ua | ub;
        case Opcode::Xor:
            return ua ^ ub;
        case Opcode::Shl:
            return ua << count;
        case Opcode::Shr:
            return static_cast<uint64_t>(a >> count);
        default:
            return std::nullopt;
    }
}

template <typename Float>
std::optional<Float> fold_float(Opcode code, Float a, Float b) {
    switch (code) {
        case Opcode::Add:
            return a + b;
        case Opcode::Sub:
            return a - b;
        case Opcode::Mul:
            return a * b;
        case Opcode::Div:
            return a / b;
        case Opcode::FloorDiv:
            return std::floor(a / b);
        case Opcode::Rem:
            return std::fmod(a, b);
        case Opcode::Min:
            return b < a || std::isnan(a) ? b : a;
        case Opcode::Max:
            return a < b || std::isnan(a) ? b : a;
        default:
            return std::nullopt;
    }
}

template <typename Number>
bool holds(Opcode code, Number a, Number b) {
    switch (code) {
        case Opcode::Eq:
            return a == b;
        case Opcode::Ne:
            return a != b;
        case Opcode::Lt:
            return a < b;
        case Opcode::Le:
            return a <= b;
        case Opcode::Gt:
            return a > b;
        case Opcode::Ge:
            return a >= b;
        default:
            WEFT_CHECK(false, "not a comparison");
    }
}

}  // namespace

uint64_t to_bits(Scalar type, double value) {
    switch (type) {
        case Scalar::Bool:
            return value != 0 ? 1 : 0;
        case Scalar::F16:
            return f16_from_double(value);
        case Scalar::BF16:
            return bf16_from_double(value);
        case Scalar::F32:
            return std::bit_cast<uint32_t>(static_cast<float>(value));
        case Scalar::F64:
            return std::bit_cast<uint64_t>(value);
        default:
            break;
    }
    // Truncation toward zero; what x86 gives out of range: the 64-bit minimum, cut to the type (32 bits: its own).
    const bool narrow = scalar_bits(type) < 64 && type != Scalar::U32;
    const double limit = narrow ? 0x1p31 : type == Scalar::U64 ? 0x1p64 : 0x1p63;
    if (type == Scalar::U64 && value >= 0x1p63 && value < limit) return static_cast<uint64_t>(value);
    if (!(value > -limit - (narrow ? 1 : 0) && value < limit)) {
        return (narrow ? uint64_t{1} << 31 : uint64_t{1} << 63) & mask(type);
    }
    return static_cast<uint64_t>(static_cast<int64_t>(value)) & mask(type);
}

uint64_t to_bits(Scalar type, int64_t value) {
    if (is_float(type)) {
        if (type == Scalar::F32) return std::bit_cast<uint32_t>(static_cast<float>(value));
        return to_bits(type, static_cast<double>(value));
    }
    return type == Scalar::Bool ? (value != 0 ? 1 : 0) : static_cast<uint64_t>(value) & mask(type);
}

double number_of(Scalar type, uint64_t bits) {
    switch (type) {
        case Scalar::F16:
            return f16_to_double(static_cast<uint16_t>(bits));
        case Scalar::BF16:
            return bf16_to_double(static_cast<uint16_t>(bits));
        case Scalar::F32:
            return std::bit_cast<float>(static_cast<uint32_t>(bits));
        case Scalar::F64:
            return std::bit_cast<double>(bits);
        default:
            return is_signed_int(type) ? static_cast<double>(sign_extend(type, bits)) : static_cast<double>(bits);
    }
}

std::optional<uint64_t> fold_binary(Opcode code, Scalar type, uint64_t a, uint64_t b) {
    if (is_float(type)) {
        if (type == Scalar::F32) {
            const auto folded = fold_float(code, std::bit_cast<float>(static_cast<uint32_t>(a)),
                                           std::bit_cast<float>(static_cast<uint32_t>(b)));
            if (folded) return std::bit_cast<uint32_t>(*folded);
            return std::nullopt;
        }
        const auto folded = fold_float(code, number_of(type, a), number_of(type, b));
        if (folded) return to_bits(type, *folded);
        return std::nullopt;
    }
    if (type == Scalar::Bool) {
        const auto folded = code == Opcode::And || code == Opcode::Or || code == Opcode::Xor
                                ? fold_int<uint64_t>(code, Scalar::U64, a, b)
                                : std::nullopt;
        if (folded) return *folded & 1;
        return std::nullopt;
    }
    const auto folded = is_signed_int(type) ? fold_int<int64_t>(code, type, sign_extend(type, a), sign_extend(type, b))
                                            : fold_int<uint64_t>(code, type, a, b);
    if (folded) return *folded & mask(type);
    return std::nullopt;
}

std::optional<uint64_t> fold_unary(Opcode code, Scalar type, uint64_t a) {
    if (code == Opcode::Not && !is_float(type)) return ~a & mask(type);
    const uint64_t sign = uint64_t{1} << (scalar_bits(type) - 1);
    if (is_float(type)) {
        if (code == Opcode::Neg) return a ^ sign;
        if (code == Opcode::Abs) return a & ~sign;
        return std::nullopt;
    }
    if (code == Opcode::Neg) return (uint64_t{0} - a) & mask(type);
    if (code == Opcode::Abs) return is_signed_int(type) && (a & sign) != 0 ? (uint64_t{0} - a) & mask(type) : a;
    return std::nullopt;
}

bool fold_compare(Opcode code, Scalar type, uint64_t a, uint64_t b) {
    if (is_float(type)) return holds(code, number_of(type, a), number_of(type, b));
    if (is_signed_int(type)) return holds(code, sign_extend(type, a), sign_extend(type, b));
    return holds(code, a, b);
}

uint64_t fold_cast(Scalar to, Scalar from, uint64_t bits) {
    if (to == Scalar::Bool) return is_float(from) ? (number_of(from, bits) != 0 ? 1 : 0) : (bits != 0 ? 1 : 0);
    if (is_float(from)) return to_bits(to, number_of(from, bits));
    if (is_signed_int(from)) return to_bits(to, sign_extend(from, bits));
    // An unsigned 64-bit value may exceed int64: convert it in one rounding.
    if (to == Scalar::F32) return std::bit_cast<uint32_t>(static_cast<float>(bits));
    if (is_float(to)) return to_bits(to, static_cast<double>(bits));
    return bits & mask(to);
}

std::optional<uint64_t> constant_bits(const Value* value) {
    if (!value->op || !value->type.is_scalar()) return std::nullopt;
    if (value->op->code == Opcode::Const) return static_cast<uint64_t>(value->op->ints[0]);
    if (value->op->code == Opcode::Zero) return 0;
    return std::nullopt;
}

std::optional<double> constant_number(const Value* value) {
    const auto bits = constant_bits(value);
    if (!bits) return std::nullopt;
    return number_of(value->type.element(), *bits);
}

std::optional<int64_t> constant_integer(const Value* value) {
    const auto bits = constant_bits(value);
    if (!bits || value->type.is_float()) return std::nullopt;
    const Scalar type = value->type.element();
    return is_signed_int(type) ? sign_extend(type, *bits) : static_cast<int64_t>(*bits);
}

}  // namespace weft::ir
