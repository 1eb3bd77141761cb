#include "base/small_float.h"

#include <bit>
#include <cmath>

namespace weft {
namespace {

struct Format {
    int exponent_bits;
    int mantissa_bits;
};

constexpr Format kF16 = {5, 10};
constexpr Format kBF16 = {8, 7};

uint16_t encode(double value, Format format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const uint16_t infinity = static_cast<uint16_t>(((1 << format.exponent_bits) - 1) << format.mantissa_bits);
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | (1 << (format.mantissa_bits - 1)));
    const double magnitude = std::fabs(value);
    if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
    if (magnitude == 0) return sign;
    // The value in units of its last place in the format; nearbyint rounds to even in the default mode.
    const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    const auto mantissa = static_cast<uint32_t>(units);
    // A normal number's units include the hidden bit, which carries into the exponent field by addition.
    const uint32_t bits = (static_cast<uint32_t>(exponent + bias - 1) << format.mantissa_bits) + mantissa;
    return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : bits));
}

double decode(uint16_t bits, Format format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
    const int exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    double magnitude = 0;
    if (exponent == (1 << format.exponent_bits) - 1) {
        magnitude = mantissa == 0 ? HUGE_VAL : std::nan("");
    } else if (exponent == 0) {
        magnitude = std::ldexp(mantissa, 1 - bias - format.mantissa_bits);
    } else {
        magnitude = std::ldexp(mantissa + (1 << format.mantissa_bits), exponent - bias - format.mantissa_bits);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

uint16_t f16_from_double(double value) { return encode(value, kF16); }
uint16_t bf16_from_double(double value) { return encode(value, kBF16); }
double f16_to_double(uint16_t bits) { return decode(bits, kF16); }
double bf16_to_double(uint16_t bits) { return decode(bits, kBF16); }

}  // namespace weft
