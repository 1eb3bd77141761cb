// Numbers and mathematics for native snippets: what CUDA and C++ programs expect to find, without a header.
#pragma once

// Read by clang within this program, for CPUs and for NVIDIA's GPUs (WEFT_NVPTX), and as a part of printed C++
// (codegen/cxx), after its prelude: by the compiler of a host (WEFT_HOST_CXX), or by that of a GPU's vendor
// (WEFT_VENDOR), which has the functions of CUDA itself.
#if defined(__CUDA__) && !defined(WEFT_VENDOR)
#define WEFT_NVPTX 1
#endif
#if defined(WEFT_HOST_CXX) || defined(WEFT_VENDOR)
#define WEFT_PRINTED 1
#endif

#ifdef WEFT_NVPTX
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define WEFT_INLINE static __attribute__((device, always_inline))
#define WEFT_INLINE_ENTRY __attribute__((device, used))
#elif defined(WEFT_VENDOR)
#define WEFT_INLINE static __device__ inline
#define WEFT_INLINE_ENTRY __device__
#else
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define WEFT_INLINE static inline __attribute__((always_inline))
#define WEFT_INLINE_ENTRY __attribute__((used))
#endif
#ifndef WEFT_VENDOR
#define __restrict__ __restrict
#endif

using int8_t = __INT8_TYPE__;
using int16_t = __INT16_TYPE__;
using int32_t = __INT32_TYPE__;
using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__;
using uint16_t = __UINT16_TYPE__;
using uint32_t = __UINT32_TYPE__;
using uint64_t = __UINT64_TYPE__;
using size_t = __SIZE_TYPE__;
using ptrdiff_t = __PTRDIFF_TYPE__;
using intptr_t = __INTPTR_TYPE__;
using uintptr_t = __UINTPTR_TYPE__;
using uint = unsigned int;

#ifndef WEFT_VENDOR
#define NULL __null
#define M_PI 3.14159265358979323846
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2u + 1u)
#endif

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device begin
#endif

namespace wp {

using int8 = int8_t;
using int16 = int16_t;
using int32 = int32_t;
using int64 = int64_t;
using uint8 = uint8_t;
using uint16 = uint16_t;
using uint32 = uint32_t;
using uint64 = uint64_t;
using float32 = float;
using float64 = double;
#ifdef WEFT_PRINTED
struct float16 {
    uint16_t bits = 0;
    float16() = default;
    __device__ float16(float x) : bits(weft::half_of(x)) {}
    __device__ operator float() const { return weft::float_of(bits); }
};
#else
using float16 = _Float16;
#endif
using half = float16;

struct bfloat16 {
    uint16_t bits = 0;
    bfloat16() = default;
    __device__ bfloat16(float x) {
        const uint32_t wide = __builtin_bit_cast(uint32_t, x);
        bits = uint16_t(x != x ? wide >> 16 | 0x40 : (wide + 0x7fff + (wide >> 16 & 1)) >> 16);
    }
    __device__ operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
};

}  // namespace wp

namespace weft_native {

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;
template <class T>
struct referred {
    using type = T;
};
template <class T>
struct referred<T&> {
    using type = T;
};
template <class T>
using without_reference = typename referred<T>::type;
template <bool, class T>
struct enable {};
template <class T>
struct enable<true, T> {
    using type = T;
};
template <class T>
constexpr bool is_float = same<T, float> || same<T, double> || same<T, wp::float16> || same<T, wp::bfloat16>;
template <class T>
constexpr bool is_integer =
    same<T, bool> || same<T, char> || same<T, signed char> || same<T, unsigned char> || same<T, short> ||
    same<T, unsigned short> || same<T, int> || same<T, unsigned> || same<T, long> || same<T, unsigned long> ||
    same<T, long long> || same<T, unsigned long long>;
template <class T>
constexpr bool is_number = is_float<T> || is_integer<T>;
template <class T, class R = T>
using if_number = typename enable<is_number<T>, R>::type;
template <class T, class R = T>
using if_integer = typename enable<is_integer<T>, R>::type;
// A parameter from which nothing is deduced: any argument is converted.
template <class T>
struct plain {
    using type = T;
};
template <class T>
using as = typename plain<T>::type;
// What two numbers have in common, as in an expression of C++.
template <class A, class B>
using common = decltype(true ? A() : B());

}  // namespace weft_native

#ifndef WEFT_VENDOR
// ---- mathematics: name(double), name(float), namef(float), name(integer) ----

#ifdef WEFT_NVPTX
#define WEFT_LIBRARY(name) __nv_##name
#else
#define WEFT_LIBRARY(name) name
#endif
#define WEFT_OF_INTEGERS_1(name)                                     \
    template <class T>                                               \
    __device__ inline weft_native::if_integer<T, double> name(T x) { \
        return name(double(x));                                      \
    }
#define WEFT_OF_MIXED_2(name)                                                                                \
    template <class A, class B>                                                                              \
    __device__ inline typename weft_native::enable<weft_native::is_number<A> && weft_native::is_number<B> && \
                                                       !weft_native::same<A, B>,                             \
                                                   decltype(A() * B() * 1.0f)>::type                         \
    name(A x, B y) {                                                                                         \
        using T = decltype(A() * B() * 1.0f);                                                                \
        return name(T(x), T(y));                                                                             \
    }                                                                                                        \
    template <class T>                                                                                       \
    __device__ inline weft_native::if_integer<T, double> name(T x, T y) {                                    \
        return name(double(x), double(y));                                                                   \
    }
#ifdef WEFT_NVPTX
#define WEFT_MATHS_1(name)                                                 \
    extern "C" __attribute__((device)) double __nv_##name(double);         \
    extern "C" __attribute__((device)) float __nv_##name##f(float);        \
    __device__ inline double name(double x) { return __nv_##name(x); }     \
    __device__ inline float name(float x) { return __nv_##name##f(x); }    \
    __device__ inline float name##f(float x) { return __nv_##name##f(x); } \
    WEFT_OF_INTEGERS_1(name)
#define WEFT_MATHS_2(name)                                                             \
    extern "C" __attribute__((device)) double __nv_##name(double, double);             \
    extern "C" __attribute__((device)) float __nv_##name##f(float, float);             \
    __device__ inline double name(double x, double y) { return __nv_##name(x, y); }    \
    __device__ inline float name(float x, float y) { return __nv_##name##f(x, y); }    \
    __device__ inline float name##f(float x, float y) { return __nv_##name##f(x, y); } \
    WEFT_OF_MIXED_2(name)
#else
#define WEFT_MATHS_1(name)                                       \
    extern "C" double name(double);                              \
    extern "C" float name##f(float);                             \
    __device__ inline float name(float x) { return name##f(x); } \
    WEFT_OF_INTEGERS_1(name)
#define WEFT_MATHS_2(name)                                                   \
    extern "C" double name(double, double);                                  \
    extern "C" float name##f(float, float);                                  \
    __device__ inline float name(float x, float y) { return name##f(x, y); } \
    WEFT_OF_MIXED_2(name)
#endif
// Instructions of every machine. The prelude of printed C++ has declared them as C's.
#ifdef WEFT_HOST_CXX
#define WEFT_EXACT_1 WEFT_MATHS_1
#else
#define WEFT_EXACT_1(name)                                                      \
    __device__ inline double name(double x) { return __builtin_##name(x); }     \
    __device__ inline float name(float x) { return __builtin_##name##f(x); }    \
    __device__ inline float name##f(float x) { return __builtin_##name##f(x); } \
    WEFT_OF_INTEGERS_1(name)
#endif

// clang-format off: it would run them together
WEFT_MATHS_1(sin)
WEFT_MATHS_1(cos)
WEFT_MATHS_1(tan)
WEFT_MATHS_1(asin)
WEFT_MATHS_1(acos)
WEFT_MATHS_1(atan)
WEFT_MATHS_1(sinh)
WEFT_MATHS_1(cosh)
WEFT_MATHS_1(tanh)
WEFT_MATHS_1(exp)
WEFT_MATHS_1(exp2)
WEFT_MATHS_1(log)
WEFT_MATHS_1(log2)
WEFT_MATHS_1(log10)
WEFT_MATHS_1(cbrt)
WEFT_MATHS_1(erf)
WEFT_MATHS_1(erfc)
WEFT_MATHS_1(round)
WEFT_MATHS_2(pow)
WEFT_MATHS_2(atan2)
WEFT_MATHS_2(fmod)
WEFT_EXACT_1(sqrt)
WEFT_EXACT_1(floor)
WEFT_EXACT_1(ceil)
WEFT_EXACT_1(trunc)
WEFT_EXACT_1(rint)
// clang-format on

__device__ inline double fabs(double x) { return __builtin_fabs(x); }
__device__ inline float fabs(float x) { return __builtin_fabsf(x); }
__device__ inline float fabsf(float x) { return __builtin_fabsf(x); }
__device__ inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__device__ inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__device__ inline double copysign(double x, double y) { return __builtin_copysign(x, y); }
__device__ inline float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__device__ inline double fmin(double a, double b) { return b < a || a != a ? b : a; }
__device__ inline float fmin(float a, float b) { return b < a || a != a ? b : a; }
__device__ inline float fminf(float a, float b) { return b < a || a != a ? b : a; }
__device__ inline double fmax(double a, double b) { return a < b || a != a ? b : a; }
__device__ inline float fmax(float a, float b) { return a < b || a != a ? b : a; }
__device__ inline float fmaxf(float a, float b) { return a < b || a != a ? b : a; }
__device__ inline float rsqrtf(float x) { return 1.0f / sqrt(x); }
__device__ inline float rsqrt(float x) { return 1.0f / sqrt(x); }
__device__ inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class T>
__device__ inline bool isnan(T x) {
    return x != x;
}
template <class T>
__device__ inline bool isinf(T x) {
    return x - x != x - x && x == x;
}
template <class T>
__device__ inline bool isfinite(T x) {
    return x - x == x - x;
}
__device__ inline float __expf(float x) { return exp(x); }
__device__ inline float __logf(float x) { return log(x); }
__device__ inline float __sinf(float x) { return sin(x); }
__device__ inline float __cosf(float x) { return cos(x); }
__device__ inline float __powf(float x, float y) { return pow(x, y); }
__device__ inline float __fdividef(float x, float y) { return x / y; }
__device__ inline int __float2int_rn(float x) { return int(rint(x)); }
__device__ inline int __float2int_rd(float x) { return int(floor(x)); }
__device__ inline float __int2float_rn(int x) { return float(x); }
__device__ inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__device__ inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__device__ inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
__device__ inline int __popc(unsigned x) { return __builtin_popcount(x); }
__device__ inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
__device__ inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
__device__ inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll((unsigned long long)x); }
__device__ inline int __ffs(int x) { return __builtin_ffs(x); }
__device__ inline int __ffsll(long long x) { return __builtin_ffsll(x); }
__device__ inline unsigned __brev(unsigned x) {
    unsigned out = 0;
    for (int bit = 0; bit < 32; ++bit) out |= (x >> bit & 1) << (31 - bit);
    return out;
}
__device__ inline int __mul24(int a, int b) { return a * b; }
template <class T>
__device__ inline T __ldg(const T* place) {
    return *place;
}

template <class T>
__device__ inline weft_native::if_number<T> abs(T x) {
    return x < T(0) ? T(-x) : x;
}
__device__ inline float abs(float x) { return __builtin_fabsf(x); }
__device__ inline double abs(double x) { return __builtin_fabs(x); }
template <class A, class B>
__device__ inline typename weft_native::enable<weft_native::is_number<A> && weft_native::is_number<B>,
                                               weft_native::common<A, B>>::type
min(A a, B b) {
    using T = weft_native::common<A, B>;
    return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B>
__device__ inline typename weft_native::enable<weft_native::is_number<A> && weft_native::is_number<B>,
                                               weft_native::common<A, B>>::type
max(A a, B b) {
    using T = weft_native::common<A, B>;
    return T(a) < T(b) ? T(b) : T(a);
}

#endif  // WEFT_VENDOR

namespace wp {

template <class T>
__device__ inline weft_native::if_number<T> clamp(T x, weft_native::as<T> low, weft_native::as<T> high) {
    return ::min(::max(low, x), high);
}
template <class T>
__device__ inline weft_native::if_number<T> sign(T x) {
    return x < T(0) ? T(-1) : T(1);
}
template <class T>
__device__ inline weft_native::if_number<T> step(T x) {
    return x < T(0) ? T(1) : T(0);
}
template <class T>
__device__ inline weft_native::if_number<T> lerp(T a, weft_native::as<T> b, weft_native::as<T> t) {
    return a * (T(1) - t) + b * t;
}

}  // namespace wp

// ---- output ----

#ifdef WEFT_VENDOR
// The vendor's printf.
#elif defined(WEFT_NVPTX)
extern "C" __attribute__((device)) int vprintf(const char*, void*);
namespace weft_native {
// An argument as C hands it on, and how it lies among the others.
template <class A>
__device__ inline auto promoted(A a) {
    if constexpr (is_float<A>)
        return double(a);
    else if constexpr (is_integer<A> && sizeof(A) < 4)
        return int(a);
    else
        return a;
}
template <class A>
__attribute__((device)) inline void append(char* buffer, size_t& used, A a) {
    used = (used + sizeof(A) - 1) / sizeof(A) * sizeof(A);
    __builtin_memcpy(buffer + used, &a, sizeof(A));
    used += sizeof(A);
}
}  // namespace weft_native
template <class... A>
__attribute__((device)) inline int printf(const char* format, A... values) {
    alignas(8) char buffer[8 * sizeof...(A) + 8];
    size_t used = 0;
    (weft_native::append(buffer, used, weft_native::promoted(values)), ...);
    return vprintf(format, buffer);
}
#else
#ifndef WEFT_HOST_CXX
extern "C" void weft_print(const char*, ...);
#endif
template <class... A>
__device__ inline int printf(const char* format, A... values) {
    weft_print(format, values...);
    return 0;
}
#endif
// Compiled in debug mode only, where it is defined again for each snippet (codegen/snippet_text.cpp).
#undef assert
#define assert(condition) ((void)0)
#ifdef WEFT_PRINTED
#ifdef WEFT_REPORTS
namespace weft_native {
__device__ inline void assert_failed(const char* text, const void* shape, int64_t item) {
    weft::report(text, (const weft::launch_shape*)shape, item);
}
}  // namespace weft_native
#endif
#else
namespace weft_native {
#ifdef WEFT_NVPTX
extern "C" __attribute__((device)) void weft_report_failure(const char*, const void*, int64_t, const int64_t*, int32_t);
__attribute__((device)) inline void assert_failed(const char* text, const void* shape, int64_t item) {
    weft_report_failure(text, shape, item, nullptr, 0);
}
#else
extern "C" void weft_assert_failed(const char*, int64_t, ...);
__device__ inline void assert_failed(const char* text, const void*, int64_t item) { weft_assert_failed(text, item); }
#endif
}  // namespace weft_native
#endif

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device end
#endif
