// Mathematical functions of float32: weft_<name>_f32. No branches, no tables and no calls, so that a compiler can make
// vectors of them (codegen/llvm/widen.cpp); computed in float64 and rounded once. Errors are below 0.51 ulp: the
// polynomials, which differ least from their functions where they are used, are off by less than 1e-10. sin, cos and
// tan hold for |x| < kMathLimit, callers use the C library beyond it; the others hold for all numbers, and what they
// give at the edges is C's. NaN gives NaN.
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

inline int32_t bits_of(float x) {
    int32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float from_bits(int32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

// Adding it rounds to an integer, which then stands in the lowest bits.
constexpr double kRound = 0x1.8p52;
constexpr float kMathLimit = 1e6F;

// a * b + c, rounded once.
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }

inline float size_of(float x) { return from_bits(bits_of(x) & 0x7fffffff); }
inline double size_of(double x) { return from_bits(bits_of(x) & 0x7fffffffffffffff); }
inline double with_sign_of(double x, double sign) {
    return from_bits(bits_of(size_of(x)) | (bits_of(sign) & static_cast<int64_t>(uint64_t{1} << 63)));
}

// x within [-limit, limit]; NaN stays.
template <typename Real>
inline Real clamped(Real x, Real limit) {
    const Real low = x < -limit ? -limit : x;
    return low > limit ? limit : low;
}

// e ** x for |x| < 700: 2 ** k, whose exponent is added to that of e ** r, |r| < 0.35.
inline double exp_of(double x) {
    const double shifted = fma(x, 0x1.71547652b82fep+0, kRound);
    const double k = shifted - kRound;
    const double r = fma(-k, 0x1.62e42fefa39efp-1, x);
    double p = 0x1.9f0894a81d719p-13;
    p = fma(p, r, 0x1.6d8d06a136ae8p-10);
    p = fma(p, r, 0x1.111270b3d544ep-7);
    p = fma(p, r, 0x1.55548dc4ddfb1p-5);
    p = fma(p, r, 0x1.555554433bea1p-3);
    p = fma(p, r, 0x1.0000003a23523p-1);
    p = fma(p, r, 1.0);
    p = fma(p, r, 1.0);
    return from_bits(bits_of(p) + static_cast<int64_t>(static_cast<uint64_t>(bits_of(shifted)) << 52));
}

// x = m * 2 ** exponent with m in [0.7, 1.42): the exponent, and the logarithm of m, which is 2 atanh(s).
inline double log_of(float x, double& exponent) {
    const int64_t bits = bits_of(static_cast<double>(x));
    const int64_t k = (bits - 0x3fe6a09e667f3bcd) >> 52;  // that of sqrt(0.5)
    const double m = from_bits(bits - static_cast<int64_t>(static_cast<uint64_t>(k) << 52));
    // |k| < 1100: as a double by its bits.
    exponent = from_bits(bits_of(kRound) + k) - kRound;
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    double p = 0x1.9162156fb644ep-4;
    p = fma(p, z, 0x1.c6261c4f1ddd7p-4);
    p = fma(p, z, 0x1.24941ffff8d60p-3);
    p = fma(p, z, 0x1.9999968a61557p-3);
    p = fma(p, z, 0x1.55555556289acp-2);
    const double twice = s + s;
    return fma(twice * z, p, twice);
}

// The logarithm of a positive x that is finite.
inline double natural_log(float x) {
    double k;
    const double m = log_of(x, k);
    return fma(k, 0x1.62e42fefa39efp-1, m);
}

// The value where x is positive and finite; else what the logarithm of x is.
inline float log_result(float x, double value) {
    const float at_zero = x == 0.0F ? -__builtin_huge_valf() : __builtin_nanf("");
    const float finite = x > 0.0F ? static_cast<float>(value) : at_zero;
    return x == __builtin_huge_valf() ? x : finite;
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
    double p = 0x1.8474915c5ecd6p-5;
    p = fma(p, z, -0x1.5b259bc88adf0p-4);
    p = fma(p, z, 0x1.c4622f8ddcffcp-4);
    p = fma(p, z, -0x1.247ec89b55b3cp-3);
    p = fma(p, z, 0x1.9999180a44e9fp-3);
    p = fma(p, z, -0x1.555554c538887p-2);
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
    double p = 0x1.6ccf5d8db15e9p-19;
    p = fma(p, z, -0x1.a00f745d269a5p-13);
    p = fma(p, z, 0x1.1111085d0297ap-7);
    p = fma(p, z, -0x1.5555554c5f71fp-3);
    return r * fma(z, p, 1.0);  // of -0: -0
}

inline double cosine(double r) {
    const double z = r * r;
    double p = 0x1.9912fe30c1ae5p-16;
    p = fma(p, z, -0x1.6c07e1fab846fp-10);
    p = fma(p, z, 0x1.55553c5187e30p-5);
    p = fma(p, z, -0x1.ffffffcb143e8p-2);
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
    return static_cast<float>(weft_device::exp_of(weft_device::clamped(x, 200.0F)));
}
extern "C" float weft_sinh_f32(float x) {
    const double y = weft_device::clamped(x, 200.0F);
    const double small = y + y * y * y * (1.0 / 6);
    const double large = 0.5 * (weft_device::exp_of(y) - weft_device::exp_of(-y));
    const double size = y < 0.0 ? -y : y;
    return static_cast<float>(size < 0x1p-7 ? small : large);
}
extern "C" float weft_cosh_f32(float x) {
    const double y = weft_device::clamped(x, 200.0F);
    return static_cast<float>(0.5 * (weft_device::exp_of(y) + weft_device::exp_of(-y)));
}
extern "C" float weft_tanh_f32(float x) {
    const double y = weft_device::clamped(x, 20.0F);
    const double small = y * (1.0 - y * y * (1.0 / 3));
    const double large = 1.0 - 2.0 / (weft_device::exp_of(2.0 * y) + 1.0);
    const double size = y < 0.0 ? -y : y;
    return static_cast<float>(size < 0x1p-7 ? small : large);
}
extern "C" float weft_log_f32(float x) { return weft_device::log_result(x, weft_device::natural_log(x)); }
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
    const float size = weft_device::size_of(x);
    const double root = weft_device::exp_of(weft_device::natural_log(size) * (1.0 / 3));
    const float signed_root = static_cast<float>(weft_device::with_sign_of(root, x));
    const bool plain = (size > 0.0F) & (size < __builtin_huge_valf());
    return plain ? signed_root : x;
}
extern "C" float weft_atan_f32(float x) { return static_cast<float>(weft_device::angle(x, 1.0)); }
extern "C" float weft_atan2_f32(float y, float x) { return static_cast<float>(weft_device::angle(y, x)); }
extern "C" float weft_asin_f32(float x) { return static_cast<float>(weft_device::angle(x, weft_device::other_leg(x))); }
extern "C" float weft_acos_f32(float x) { return static_cast<float>(weft_device::angle(weft_device::other_leg(x), x)); }
extern "C" float weft_pow_f32(float x, float y) {
    const float infinity = __builtin_huge_valf();
    const float size = weft_device::size_of(x);
    const double log = weft_device::natural_log(size);
    const float raised = static_cast<float>(weft_device::exp_of(weft_device::clamped(y * log, 200.0)));
    // Of 0, infinity and NaN, which have no logarithm here.
    const float inverse_of_infinity = size == infinity ? 0.0F : size;
    const float inverse = size == 0.0F ? infinity : inverse_of_infinity;
    const float edge_of_number = y > 0.0F ? size : inverse;
    const float edge = y == y ? edge_of_number : y;
    const bool plain = (size > 0.0F) & (size < infinity);
    const float any_power = plain ? raised : edge;
    // 1 to any power, even that of NaN, and anything to the power of 0. (No && and ||, which are branches.)
    const bool no_power = y == 0.0F;
    const float power = ((size == 1.0F) | no_power) ? 1.0F : any_power;
    const float half = 0.5F * y;
    const bool whole = __builtin_truncf(y) == y;
    const bool halves = __builtin_truncf(half) == half;
    const bool odd = whole & !halves;
    const float negated = -power;
    const float signed_power = odd ? negated : power;
    const bool none = !whole & (x < 0.0F) & (x > -infinity);
    const float of_negative = none ? __builtin_nanf("") : signed_power;
    const float of_any = weft_device::bits_of(x) < 0 ? of_negative : power;
    return ((x == 1.0F) | no_power) ? 1.0F : of_any;
}
