// Printed C++ begins with these headers (codegen/cxx/prelude.cpp): values, and ops that are not operators of C++.
#pragma once

#include "types.h"

namespace weft {

// --- numbers ---

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

template <class To, class From>
WEFT_DEVICE inline To bits_of(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
template <class To, class From>
WEFT_DEVICE inline To bitcast(From from) {
    if constexpr (same<To, bool> && !same<From, bool>)
        return from != 0;
    else
        return bits_of<To>(from);
}

// The float next to a double in the direction of zero, with its last bit set where that is inexact: what may be rounded
// to a shorter format without rounding twice.
WEFT_DEVICE inline float to_odd(double value) {
    const float near = float(value);
    const double back = near;
    if (back == value || value != value) return near;
    uint32_t bits = bits_of<uint32_t>(near);
    if (__builtin_fabs(back) > __builtin_fabs(value)) --bits;
    return bits_of<float>(bits | 1);
}

struct float16 {
    uint16_t bits;
    WEFT_DEVICE operator float() const { return float_of(bits); }
};
struct bfloat16 {
    uint16_t bits;
    WEFT_DEVICE operator float() const { return bits_of<float>(uint32_t(bits) << 16); }
};
template <class T>
constexpr bool is_half = same<T, float16> || same<T, bfloat16>;
template <class T>
constexpr bool is_float = same<T, float> || same<T, double> || is_half<T>;
template <class T>
constexpr bool is_signed = !is_float<T> && !same<T, bool> && T(-1) < T(0);
template <>
constexpr bool is_signed<float16> = false;
template <>
constexpr bool is_signed<bfloat16> = false;

template <class T>
WEFT_DEVICE inline T round_to(float value) {
    if constexpr (same<T, float16>)
        return {half_of(value)};
    else {
        const uint32_t bits = bits_of<uint32_t>(value);
        return {uint16_t(value != value ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    }
}
// What an op computes in: halves are widened, and rounded once.
template <class T>
WEFT_DEVICE inline auto wide(T x) {
    if constexpr (is_half<T>)
        return float(x);
    else
        return x;
}
template <class T, class W>
WEFT_DEVICE inline T narrow(W x) {
    if constexpr (is_half<T>)
        return round_to<T>(x);
    else
        return T(x);
}

template <class To, class From>
WEFT_DEVICE inline To cast(From x) {
    if constexpr (same<To, From>)
        return x;
    else if constexpr (is_half<From>)
        return cast<To>(float(x));
    else if constexpr (same<To, bool>)
        return x != 0;
    else if constexpr (is_half<To>) {
        if constexpr (same<From, float>)
            return round_to<To>(x);
        else
            return round_to<To>(to_odd(double(x)));
    } else if constexpr (!is_float<To> && is_float<From>) {
        // As x86 truncates: out of range gives the most negative number, of which narrow types take the low bits.
        if constexpr (same<To, uint64_t>) {
            if (x >= From(0x1p63)) return x < From(0x1p64) ? uint64_t(x) : uint64_t(1) << 63;
        }
        if constexpr (sizeof(To) == 8 || same<To, uint32_t>) {
            return To(x >= From(-0x1p63) && x < From(0x1p63) ? int64_t(x) : int64_t(uint64_t(1) << 63));
        } else {
            const double wide_x = x;
            return To(wide_x > -2147483649.0 && wide_x < 2147483648.0 ? int32_t(x) : int32_t(uint32_t(1) << 31));
        }
    } else
        return To(x);
}

// Integers wrap, which C++ promises of unsigned ones alone.
#define WEFT_WRAPPING(name, sign)                     \
    template <class T>                                \
    WEFT_DEVICE inline T name(T a, T b) {             \
        if constexpr (is_signed<T> && sizeof(T) == 8) \
            return T(uint64_t(a) sign uint64_t(b));   \
        else if constexpr (is_signed<T>)              \
            return T(uint32_t(a) sign uint32_t(b));   \
        else                                          \
            return narrow<T>(wide(a) sign wide(b));   \
    }
WEFT_WRAPPING(add, +)
WEFT_WRAPPING(sub, -)
WEFT_WRAPPING(mul, *)
template <class T>
WEFT_DEVICE inline T div(T a, T b) {
    if constexpr (is_float<T>)
        return narrow<T>(wide(a) / wide(b));
    else if (b == 0)
        return 0;
    else if (is_signed<T> && b == T(-1))
        return sub(T(0), a);
    else
        return T(a / b);
}
template <class T>
WEFT_DEVICE inline T rem(T a, T b) {
    if constexpr (same<T, double>)
        return fmod(a, b);
    else if constexpr (is_float<T>)
        return narrow<T>(fmodf(wide(a), wide(b)));
    else if (b == 0 || (is_signed<T> && b == T(-1)))
        return 0;
    else
        return T(a % b);
}
template <class T>
WEFT_DEVICE inline T floordiv(T a, T b) {
    if constexpr (same<T, double>)
        return __builtin_floor(a / b);
    else if constexpr (is_float<T>)
        return narrow<T>(__builtin_floorf(wide(a) / wide(b)));
    else {
        const T quotient = div(a, b), remainder = rem(a, b);
        return T(quotient - (is_signed<T> && remainder != 0 && (remainder < 0) != (b < 0)));
    }
}
template <class T>
WEFT_DEVICE inline T min(T a, T b) {
    return wide(b) < wide(a) || a != a ? b : a;
}
template <class T>
WEFT_DEVICE inline T max(T a, T b) {
    return wide(b) > wide(a) || a != a ? b : a;
}
template <class T>
WEFT_DEVICE inline T neg(T a) {
    if constexpr (is_half<T>)
        return {uint16_t(a.bits ^ 0x8000)};
    else if constexpr (is_signed<T>)
        return sub(T(0), a);
    else
        return T(-a);
}
template <class T>
WEFT_DEVICE inline T abs(T a) {
    if constexpr (is_half<T>)
        return {uint16_t(a.bits & 0x7fff)};
    else if constexpr (same<T, float>)
        return __builtin_fabsf(a);
    else if constexpr (same<T, double>)
        return __builtin_fabs(a);
    else if constexpr (is_signed<T>)
        return a < 0 ? sub(T(0), a) : a;
    else
        return a;
}
template <class T>
WEFT_DEVICE inline T shl(T a, T b) {
    return T(uint64_t(a) << (uint64_t(b) & (8 * sizeof(T) - 1)));
}
template <class T>
WEFT_DEVICE inline T shr(T a, T b) {
    return T(a >> (b & T(8 * sizeof(T) - 1)));
}
template <class T>
WEFT_DEVICE inline T bit_and(T a, T b) {
    return T(a & b);
}
template <class T>
WEFT_DEVICE inline T bit_or(T a, T b) {
    return T(a | b);
}
template <class T>
WEFT_DEVICE inline T bit_xor(T a, T b) {
    return T(a ^ b);
}
template <class T>
WEFT_DEVICE inline T bit_not(T a) {
    if constexpr (same<T, bool>)
        return !a;
    else
        return T(~a);
}

// --- vectors, matrices (row by row), quaternions (x, y, z, w), transforms (position, quaternion) ---

template <class T, int N>
struct vec {
    T part[N];
    WEFT_DEVICE T& operator[](int i) { return part[i]; }
    WEFT_DEVICE const T& operator[](int i) const { return part[i]; }
};
template <class T, int R, int C>
using mat = vec<T, R * C>;
template <class T>
using quat = vec<T, 4>;
template <class T>
using transform = vec<T, 7>;

#define WEFT_BY_PART_1(name)                           \
    template <class T, int N>                          \
    WEFT_DEVICE inline vec<T, N> name(vec<T, N> a) {   \
        for (int i = 0; i < N; ++i) a[i] = name(a[i]); \
        return a;                                      \
    }
#define WEFT_BY_PART_2(name)                                             \
    template <class T, int N>                                            \
    WEFT_DEVICE inline vec<T, N> name(vec<T, N> a, const vec<T, N>& b) { \
        for (int i = 0; i < N; ++i) a[i] = name(a[i], b[i]);             \
        return a;                                                        \
    }
#define WEFT_MATH_Library_1(name)                                                             \
    WEFT_DEVICE inline float name(float x) { return ::name##f(x); }                           \
    WEFT_DEVICE inline double name(double x) { return ::name(x); }                            \
    WEFT_DEVICE inline float16 name(float16 x) { return round_to<float16>(::name##f(x)); }    \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(::name##f(x)); } \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Library_2(name)                                                                            \
    WEFT_DEVICE inline float name(float x, float y) { return ::name##f(x, y); }                              \
    WEFT_DEVICE inline double name(double x, double y) { return ::name(x, y); }                              \
    WEFT_DEVICE inline float16 name(float16 x, float16 y) { return round_to<float16>(::name##f(x, y)); }     \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x, bfloat16 y) { return round_to<bfloat16>(::name##f(x, y)); } \
    WEFT_BY_PART_2(name)
#define WEFT_MATH_Device_1(name)                                                                \
    WEFT_DEVICE inline float name(float x) { return weft_##name##_f32(x); }                     \
    WEFT_DEVICE inline double name(double x) { return ::name(x); }                              \
    WEFT_DEVICE inline float16 name(float16 x) { return round_to<float16>(name(float(x))); }    \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(name(float(x))); } \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Device_2(name)                                                                                      \
    WEFT_DEVICE inline float name(float x, float y) { return weft_##name##_f32(x, y); }                               \
    WEFT_DEVICE inline double name(double x, double y) { return ::name(x, y); }                                       \
    WEFT_DEVICE inline float16 name(float16 x, float16 y) { return round_to<float16>(name(float(x), float(y))); }     \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x, bfloat16 y) { return round_to<bfloat16>(name(float(x), float(y))); } \
    WEFT_BY_PART_2(name)
#define WEFT_MATH_Bounded_1(name)                                                                  \
    WEFT_DEVICE inline float name(float x) {                                                       \
        return __builtin_fabsf(x) < weft_device::kMathLimit ? weft_##name##_f32(x) : ::name##f(x); \
    }                                                                                              \
    WEFT_DEVICE inline double name(double x) { return ::name(x); }                                 \
    WEFT_DEVICE inline float16 name(float16 x) { return round_to<float16>(name(float(x))); }       \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(name(float(x))); }    \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Exact_1(name)                                                                         \
    WEFT_DEVICE inline float name(float x) { return __builtin_##name##f(x); }                           \
    WEFT_DEVICE inline double name(double x) { return __builtin_##name(x); }                            \
    WEFT_DEVICE inline float16 name(float16 x) { return round_to<float16>(__builtin_##name##f(x)); }    \
    WEFT_DEVICE inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(__builtin_##name##f(x)); } \
    WEFT_BY_PART_1(name)
// clang-format off: it would run them together
WEFT_BY_PART_2(add)
WEFT_BY_PART_2(sub)
WEFT_BY_PART_2(mul)
WEFT_BY_PART_2(div)
WEFT_BY_PART_2(rem)
WEFT_BY_PART_2(floordiv)
WEFT_BY_PART_2(min)
WEFT_BY_PART_2(max)
WEFT_BY_PART_2(shl)
WEFT_BY_PART_2(shr)
WEFT_BY_PART_2(bit_and)
WEFT_BY_PART_2(bit_or)
WEFT_BY_PART_2(bit_xor)
WEFT_BY_PART_1(neg)
WEFT_BY_PART_1(abs)
WEFT_BY_PART_1(bit_not)
// clang-format on

template <class T, int N>
WEFT_DEVICE inline vec<T, N> operator+(const vec<T, N>& a, const vec<T, N>& b) {
    return add(a, b);
}
template <class T, int N>
WEFT_DEVICE inline vec<T, N> operator-(const vec<T, N>& a, const vec<T, N>& b) {
    return sub(a, b);
}
template <class T, int N>
WEFT_DEVICE inline vec<T, N> operator*(const vec<T, N>& a, const vec<T, N>& b) {
    return mul(a, b);
}
template <class T, int N>
WEFT_DEVICE inline vec<T, N> operator/(const vec<T, N>& a, const vec<T, N>& b) {
    return div(a, b);
}
template <class T, int N>
WEFT_DEVICE inline vec<T, N> operator-(const vec<T, N>& a) {
    return neg(a);
}
template <class To, class From, int N>
WEFT_DEVICE inline vec<To, N> cast_parts(const vec<From, N>& a) {
    vec<To, N> out;
    for (int i = 0; i < N; ++i) out[i] = cast<To>(a[i]);
    return out;
}
template <class T, int N>
WEFT_DEVICE inline vec<T, N> splat(T x) {
    vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = x;
    return out;
}
WEFT_DEVICE inline int64_t wrap(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }
template <class T, int N, class I>
WEFT_DEVICE inline T get(const vec<T, N>& a, I index) {
    const int64_t i = wrap(int64_t(index), N);
    return a[uint64_t(i) < uint64_t(N) ? int(i) : 0];
}
template <class T, int N, class I>
WEFT_DEVICE inline vec<T, N> with(vec<T, N> a, I index, T value) {
    const int64_t i = wrap(int64_t(index), N);
    if (uint64_t(i) < uint64_t(N)) a[int(i)] = value;
    return a;
}

}  // namespace weft
