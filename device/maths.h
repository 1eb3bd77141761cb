// Mathematical functions of float32: weft_<name>_f32. No branches, no tables and no calls, so that a compiler can make
// vectors of them (codegen/llvm/widen.cpp); computed in float64 and rounded once. Errors are below 0.51 ulp. sin, cos
// and tan hold for |x| < kMathLimit, callers use the C library beyond it; the others hold for all numbers, and what
// they give at the edges is C's. NaN gives NaN.
#pragma once

#include "types.h"

namespace weft_device {

inline int64_t bits_of(double x) {
    int64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline double from_bits(int64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// Adding it rounds to an integer, which then stands in the lowest bits.
constexpr double kRound = 0x1.8p52;
constexpr float kMathLimit = 1e6F;

// a * b + c, rounded once.
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

inline double size_of(double x) { return from_bits(bits_of(x) & 0x7fffffffffffffff); }
inline double with_sign_of(double x, double sign) {
    return from_bits(bits_of(size_of(x)) | (bits_of(sign) & static_cast<int64_t>(uint64_t{1} << 63)));
}

// x within [-limit, limit]; NaN stays.
inline double clamped(double x, double limit) {
    const double low = x < -limit ? -limit : x;
    return low > limit ? limit : low;
}

// e ** x for |x| < 700: 2 ** k times the series of e ** r, |r| < 0.35.
inline double exp_of(double x) {
    const double shifted = fma(x, 0x1.71547652b82fep+0, kRound);
    const double k = shifted - kRound;
    const double r = fma(-k, 0x1.ef35793c76730p-45, fma(-k, 0x1.62e42fefa3800p-1, x));
    double p = 1.0 / 362880;
    p = fma(p, r, 1.0 / 40320);
    p = fma(p, r, 1.0 / 5040);
    p = fma(p, r, 1.0 / 720);
    p = fma(p, r, 1.0 / 120);
    p = fma(p, r, 1.0 / 24);
    p = fma(p, r, 1.0 / 6);
    p = fma(p, r, 0.5);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    return p * from_bits(static_cast<int64_t>(static_cast<uint64_t>(bits_of(shifted) + 1023) << 52));
}

// x = m * 2 ** exponent with m in [0.7, 1.42): the exponent, and the logarithm of m by the series of atanh.
inline double log_of(double x, double& exponent) {
    const int64_t bits = bits_of(x);
    const int64_t moved = bits - 0x3fe6a09e667f3bcd;  // that of sqrt(0.5)
    const int64_t k = moved >> 52;
    const double m = from_bits(bits - static_cast<int64_t>(static_cast<uint64_t>(k) << 52));
    // |k| < 1100: as a double by its bits.
    exponent = from_bits(bits_of(kRound) + k) - kRound;
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 1.0 / 15;
    p = fma(p, z, 1.0 / 13);
    p = fma(p, z, 1.0 / 11);
    p = fma(p, z, 1.0 / 9);
    p = fma(p, z, 1.0 / 7);
    p = fma(p, z, 1.0 / 5);
    p = fma(p, z, 1.0 / 3);
    const double twice = s + s;
    return fma(twice * z, p, twice);
}

// The value where x is positive and finite; else what the logarithm of x is.
inline float log_result(float x, double value) {
    const float at_zero = x == 0.0F ? -__builtin_huge_valf() : __builtin_nanf("");
    const float finite = x > 0.0F ? static_cast<float>(value) : at_zero;
    return x == __builtin_huge_valf() ? x : finite;
}

// The logarithm of x >= 0, infinities and NaN included.
inline double whole_log(double x) {
    double k;
    const double m = log_of(x, k);
    const double infinity = __builtin_huge_val();
    const double finite = x == 0.0 ? -infinity : k * 0x1.62e42fefa39efp-1 + m;
    return x < infinity ? finite : x;
}

// The angle of the point (x, y), as C's atan2.
inline double angle(double y, double x) {
    // |y / x| is brought below tan(pi / 8) by turning the point by a quarter or half a right angle.
    const double infinity = __builtin_huge_val();
    const bool diagonal = size_of(x) == infinity && size_of(y) == infinity;
    const double a = diagonal ? 1.0 : size_of(x);
    const double b = diagonal ? 1.0 : size_of(y);
    const bool steep = b > 2.414213562373095 * a;
    const bool middle = b > 0.41421356237309503 * a;
    const double difference = b - a;
    const double sum = b + a;
    const double above_low = middle ? difference : b;
    const double below_low = middle ? sum : a;
    const double turned_low = middle ? 0x1.921fb54442d18p-1 : 0.0;
    const double above = steep ? -a : above_low;
    const double below = steep ? b : below_low;
    const double turned_by = steep ? 0x1.921fb54442d18p+0 : turned_low;
    const double quotient = above / below;
    const bool origin = (a == 0.0) & (b == 0.0);
    const double t = origin ? 0.0 : quotient;
    const double z = t * t;
    double p = 1.0 / 25;
    p = fma(p, z, -1.0 / 23);
    p = fma(p, z, 1.0 / 21);
    p = fma(p, z, -1.0 / 19);
    p = fma(p, z, 1.0 / 17);
    p = fma(p, z, -1.0 / 15);
    p = fma(p, z, 1.0 / 13);
    p = fma(p, z, -1.0 / 11);
    p = fma(p, z, 1.0 / 9);
    p = fma(p, z, -1.0 / 7);
    p = fma(p, z, 1.0 / 5);
    p = fma(p, z, -1.0 / 3);
    const double right = turned_by + fma(t * z, p, t);
    const double size = bits_of(x) < 0 ? 0x1.921fb54442d18p+1 - right : right;
    return with_sign_of(size, y);
}

// The other leg of a right triangle with hypotenuse 1; NaN for |x| > 1.
inline double other_leg(double x) { return __builtin_sqrt((1.0 - x) * (1.0 + x)); }

// x = r + k * pi / 2 with |r| < 0.8; the low bits of the result are those of k.
inline int64_t quadrant(double x, double& r) {
    const double shifted = fma(x, 0x1.45f306dc9c883p-1, kRound);
    const double k = shifted - kRound;
    r = fma(-k, 0x1.0b4611a626331p-34, fma(-k, 0x1.921fb54400000p+0, x));
    return bits_of(shifted);
}

inline double sine(double r) {
    const double z = r * r;
    double p = -1.0 / 39916800;
    p = fma(p, z, 1.0 / 362880);
    p = fma(p, z, -1.0 / 5040);
    p = fma(p, z, 1.0 / 120);
    p = fma(p, z, -1.0 / 6);
    return r * fma(z, p, 1.0);  // of -0: -0
}

inline double cosine(double r) {
    const double z = r * r;
    double p = -1.0 / 3628800;
    p = fma(p, z, 1.0 / 40320);
    p = fma(p, z, -1.0 / 720);
    p = fma(p, z, 1.0 / 24);
    p = fma(p, z, -0.5);
    return fma(z, p, 1.0);
}

// The sine of r + k * pi / 2.
inline double turned(double r, int64_t k) {
    const double s = sine(r);  // both, as the arms of a choice would become branches
    const double c = cosine(r);
    const double value = (k & 1) != 0 ? c : s;
    return (k & 2) != 0 ? -value : value;
}

}  // namespace weft_device

extern "C" float weft_exp_f32(float x) {
    return static_cast<float>(weft_device::exp_of(weft_device::clamped(x, 200.0)));
}
extern "C" float weft_sinh_f32(float x) {
    const double y = weft_device::clamped(x, 200.0);
    const double small = y + y * y * y * (1.0 / 6);
    const double large = 0.5 * (weft_device::exp_of(y) - weft_device::exp_of(-y));
    const double size = y < 0.0 ? -y : y;
    return static_cast<float>(size < 0x1p-7 ? small : large);
}
extern "C" float weft_cosh_f32(float x) {
    const double y = weft_device::clamped(x, 200.0);
    return static_cast<float>(0.5 * (weft_device::exp_of(y) + weft_device::exp_of(-y)));
}
extern "C" float weft_tanh_f32(float x) {
    const double y = weft_device::clamped(x, 20.0);
    const double small = y * (1.0 - y * y * (1.0 / 3));
    const double large = 1.0 - 2.0 / (weft_device::exp_of(2.0 * y) + 1.0);
    const double size = y < 0.0 ? -y : y;
    return static_cast<float>(size < 0x1p-7 ? small : large);
}
extern "C" float weft_log_f32(float x) {
    double k;
    const double m = weft_device::log_of(x, k);
    return weft_device::log_result(x, k * 0x1.62e42fefa39efp-1 + m);
}
extern "C" float weft_log2_f32(float x) {
    double k;
    const double m = weft_device::log_of(x, k);
    return weft_device::log_result(x, k + m * 0x1.71547652b82fep+0);
}
extern "C" float weft_log10_f32(float x) {
    double k;
    const double m = weft_device::log_of(x, k);
    return weft_device::log_result(x, k * 0x1.34413509f79ffp-2 + m * 0x1.bcb7b1526e50ep-2);
}
extern "C" float weft_sin_f32(float x) {
    double r;
    const int64_t k = weft_device::quadrant(x, r);
    return static_cast<float>(weft_device::turned(r, k));
}
extern "C" float weft_cos_f32(float x) {
    double r;
    const int64_t k = weft_device::quadrant(x, r);
    return static_cast<float>(weft_device::turned(r, k + 1));
}
extern "C" float weft_tan_f32(float x) {
    double r;
    const int64_t k = weft_device::quadrant(x, r);
    return static_cast<float>(weft_device::turned(r, k) / weft_device::turned(r, k + 1));
}
extern "C" float weft_cbrt_f32(float x) {
    const double size = weft_device::whole_log(weft_device::size_of(x));
    const double root = weft_device::exp_of(weft_device::clamped(size * (1.0 / 3), 200.0));
    return static_cast<float>(weft_device::with_sign_of(root, x));  // of 0 a number too small for a float
}
extern "C" float weft_atan_f32(float x) { return static_cast<float>(weft_device::angle(x, 1.0)); }
extern "C" float weft_atan2_f32(float y, float x) { return static_cast<float>(weft_device::angle(y, x)); }
extern "C" float weft_asin_f32(float x) { return static_cast<float>(weft_device::angle(x, weft_device::other_leg(x))); }
extern "C" float weft_acos_f32(float x) { return static_cast<float>(weft_device::angle(weft_device::other_leg(x), x)); }
extern "C" float weft_pow_f32(float x, float y) {
    const double power = y;
    const double log = weft_device::whole_log(weft_device::size_of(x));
    const double raised = weft_device::exp_of(weft_device::clamped(power * log, 200.0));
    // 1 to any power, even that of NaN, and anything to the power of 0. (No && and ||, which are branches.)
    const bool no_log = log == 0.0;
    const bool no_power = power == 0.0;
    const double size = (no_log | no_power) ? 1.0 : raised;
    const double half = 0.5 * power;
    const bool whole = __builtin_trunc(power) == power;
    const bool halves = __builtin_trunc(half) == half;
    const bool odd = whole & !halves;
    const double negated = -size;
    const double signed_size = odd ? negated : size;
    const bool none = !whole & (x < 0.0F) & (x > -__builtin_huge_valf());
    const double of_negative = none ? __builtin_nan("") : signed_size;
    const double root = weft_device::bits_of(x) < 0 ? of_negative : size;
    const bool one = (x == 1.0F) | no_power;
    return static_cast<float>(one ? 1.0 : root);
}
