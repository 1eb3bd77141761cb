#include "codegen/cxx/prelude.h"

#include <string_view>

namespace weft::codegen::cxx {
namespace {

// Without standard headers: they would take most of the compile's time.
constexpr std::string_view kTypes = R"cxx(
using int8_t = __INT8_TYPE__; using int16_t = __INT16_TYPE__; using int32_t = __INT32_TYPE__; using int64_t = __INT64_TYPE__;
using uint8_t = __UINT8_TYPE__; using uint16_t = __UINT16_TYPE__; using uint32_t = __UINT32_TYPE__; using uint64_t = __UINT64_TYPE__;
)cxx";

constexpr std::string_view kPreludeBeforeMaths = R"cxx(
namespace weft {

// --- numbers ---

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;

template <class To, class From> inline To bits_of(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
template <class To, class From> inline To bitcast(From from) {
    if constexpr (same<To, bool> && !same<From, bool>) return from != 0;
    else return bits_of<To>(from);
}

// The float next to a double in the direction of zero, with its last bit set where that is inexact: what may be rounded
// to a shorter format without rounding twice.
inline float to_odd(double value) {
    const float near = float(value);
    const double back = near;
    if (back == value || value != value) return near;
    uint32_t bits = bits_of<uint32_t>(near);
    if (__builtin_fabs(back) > __builtin_fabs(value)) --bits;
    return bits_of<float>(bits | 1);
}

struct float16 {
    uint16_t bits;
    operator float() const { return weft_f16_to_f32(bits); }
};
struct bfloat16 {
    uint16_t bits;
    operator float() const { return bits_of<float>(uint32_t(bits) << 16); }
};
template <class T> constexpr bool is_half = same<T, float16> || same<T, bfloat16>;
template <class T> constexpr bool is_float = same<T, float> || same<T, double> || is_half<T>;
template <class T> constexpr bool is_signed = !is_float<T> && !same<T, bool> && T(-1) < T(0);
template <> constexpr bool is_signed<float16> = false;
template <> constexpr bool is_signed<bfloat16> = false;

template <class T> inline T round_to(float value) {
    if constexpr (same<T, float16>) return {weft_f32_to_f16(value)};
    else {
        const uint32_t bits = bits_of<uint32_t>(value);
        return {uint16_t(value != value ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    }
}
// What an op computes in: halves are widened, and rounded once.
template <class T> inline auto wide(T x) {
    if constexpr (is_half<T>) return float(x);
    else return x;
}
template <class T, class W> inline T narrow(W x) {
    if constexpr (is_half<T>) return round_to<T>(x);
    else return T(x);
}

template <class To, class From> inline To cast(From x) {
    if constexpr (same<To, From>) return x;
    else if constexpr (is_half<From>) return cast<To>(float(x));
    else if constexpr (same<To, bool>) return x != 0;
    else if constexpr (is_half<To>) {
        if constexpr (same<From, float>) return round_to<To>(x);
        else return round_to<To>(to_odd(double(x)));
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
    } else return To(x);
}

template <class T> inline T add(T a, T b) { return narrow<T>(wide(a) + wide(b)); }
template <class T> inline T sub(T a, T b) { return narrow<T>(wide(a) - wide(b)); }
template <class T> inline T mul(T a, T b) { return narrow<T>(wide(a) * wide(b)); }
template <class T> inline T div(T a, T b) {
    if constexpr (is_float<T>) return narrow<T>(wide(a) / wide(b));
    else if (b == 0) return 0;
    else if (is_signed<T> && b == T(-1)) return T(0 - a);
    else return T(a / b);
}
template <class T> inline T rem(T a, T b) {
    if constexpr (same<T, double>) return fmod(a, b);
    else if constexpr (is_float<T>) return narrow<T>(fmodf(wide(a), wide(b)));
    else if (b == 0 || (is_signed<T> && b == T(-1))) return 0;
    else return T(a % b);
}
template <class T> inline T floordiv(T a, T b) {
    if constexpr (same<T, double>) return __builtin_floor(a / b);
    else if constexpr (is_float<T>) return narrow<T>(__builtin_floorf(wide(a) / wide(b)));
    else {
        const T quotient = div(a, b), remainder = rem(a, b);
        return T(quotient - (is_signed<T> && remainder != 0 && (remainder < 0) != (b < 0)));
    }
}
template <class T> inline T min(T a, T b) { return wide(b) < wide(a) || a != a ? b : a; }
template <class T> inline T max(T a, T b) { return wide(b) > wide(a) || a != a ? b : a; }
template <class T> inline T neg(T a) {
    if constexpr (is_half<T>) return {uint16_t(a.bits ^ 0x8000)};
    else return T(-a);
}
template <class T> inline T abs(T a) {
    if constexpr (is_half<T>) return {uint16_t(a.bits & 0x7fff)};
    else if constexpr (same<T, float>) return __builtin_fabsf(a);
    else if constexpr (same<T, double>) return __builtin_fabs(a);
    else if constexpr (is_signed<T>) return T(a < 0 ? -a : a);
    else return a;
}
template <class T> inline T shl(T a, T b) { return T(uint64_t(a) << (uint64_t(b) & (8 * sizeof(T) - 1))); }
template <class T> inline T shr(T a, T b) { return T(a >> (b & T(8 * sizeof(T) - 1))); }
template <class T> inline T bit_and(T a, T b) { return T(a & b); }
template <class T> inline T bit_or(T a, T b) { return T(a | b); }
template <class T> inline T bit_xor(T a, T b) { return T(a ^ b); }
template <class T> inline T bit_not(T a) {
    if constexpr (same<T, bool>) return !a;
    else return T(~a);
}

// --- vectors, matrices (row by row), quaternions (x, y, z, w), transforms (position, quaternion) ---

template <class T, int N> struct vec {
    T part[N];
    T& operator[](int i) { return part[i]; }
    const T& operator[](int i) const { return part[i]; }
};
template <class T, int R, int C> using mat = vec<T, R * C>;
template <class T> using quat = vec<T, 4>;
template <class T> using transform = vec<T, 7>;

#define WEFT_BY_PART_1(name) \
    template <class T, int N> inline vec<T, N> name(vec<T, N> a) { for (int i = 0; i < N; ++i) a[i] = name(a[i]); return a; }
#define WEFT_BY_PART_2(name) \
    template <class T, int N> inline vec<T, N> name(vec<T, N> a, const vec<T, N>& b) { for (int i = 0; i < N; ++i) a[i] = name(a[i], b[i]); return a; }
#define WEFT_MATH_Library_1(name) \
    inline float name(float x) { return ::name##f(x); } \
    inline double name(double x) { return ::name(x); } \
    inline float16 name(float16 x) { return round_to<float16>(::name##f(x)); } \
    inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(::name##f(x)); } \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Library_2(name) \
    inline float name(float x, float y) { return ::name##f(x, y); } \
    inline double name(double x, double y) { return ::name(x, y); } \
    inline float16 name(float16 x, float16 y) { return round_to<float16>(::name##f(x, y)); } \
    inline bfloat16 name(bfloat16 x, bfloat16 y) { return round_to<bfloat16>(::name##f(x, y)); } \
    WEFT_BY_PART_2(name)
#define WEFT_MATH_Device_1(name) \
    inline float name(float x) { return weft_##name##_f32(x); } \
    inline double name(double x) { return ::name(x); } \
    inline float16 name(float16 x) { return round_to<float16>(name(float(x))); } \
    inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(name(float(x))); } \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Device_2(name) \
    inline float name(float x, float y) { return weft_##name##_f32(x, y); } \
    inline double name(double x, double y) { return ::name(x, y); } \
    inline float16 name(float16 x, float16 y) { return round_to<float16>(name(float(x), float(y))); } \
    inline bfloat16 name(bfloat16 x, bfloat16 y) { return round_to<bfloat16>(name(float(x), float(y))); } \
    WEFT_BY_PART_2(name)
#define WEFT_MATH_Bounded_1(name) \
    inline float name(float x) { return __builtin_fabsf(x) < weft_device::kMathLimit ? weft_##name##_f32(x) : ::name##f(x); } \
    inline double name(double x) { return ::name(x); } \
    inline float16 name(float16 x) { return round_to<float16>(name(float(x))); } \
    inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(name(float(x))); } \
    WEFT_BY_PART_1(name)
#define WEFT_MATH_Exact_1(name) \
    inline float name(float x) { return __builtin_##name##f(x); } \
    inline double name(double x) { return __builtin_##name(x); } \
    inline float16 name(float16 x) { return round_to<float16>(__builtin_##name##f(x)); } \
    inline bfloat16 name(bfloat16 x) { return round_to<bfloat16>(__builtin_##name##f(x)); } \
    WEFT_BY_PART_1(name)
WEFT_BY_PART_2(add) WEFT_BY_PART_2(sub) WEFT_BY_PART_2(mul) WEFT_BY_PART_2(div) WEFT_BY_PART_2(rem) WEFT_BY_PART_2(floordiv)
WEFT_BY_PART_2(min) WEFT_BY_PART_2(max) WEFT_BY_PART_2(shl) WEFT_BY_PART_2(shr)
WEFT_BY_PART_2(bit_and) WEFT_BY_PART_2(bit_or) WEFT_BY_PART_2(bit_xor)
WEFT_BY_PART_1(neg) WEFT_BY_PART_1(abs) WEFT_BY_PART_1(bit_not)
)cxx";

// Between the two: the lines of maths(), WEFT_MATH_Bounded_1(sin) and so on.
constexpr std::string_view kPreludeAfterMaths = R"cxx(
template <class T, int N> inline vec<T, N> operator+(const vec<T, N>& a, const vec<T, N>& b) { return add(a, b); }
template <class T, int N> inline vec<T, N> operator-(const vec<T, N>& a, const vec<T, N>& b) { return sub(a, b); }
template <class T, int N> inline vec<T, N> operator*(const vec<T, N>& a, const vec<T, N>& b) { return mul(a, b); }
template <class T, int N> inline vec<T, N> operator/(const vec<T, N>& a, const vec<T, N>& b) { return div(a, b); }
template <class T, int N> inline vec<T, N> operator-(const vec<T, N>& a) { return neg(a); }
template <class To, class From, int N> inline vec<To, N> cast_parts(const vec<From, N>& a) {
    vec<To, N> out;
    for (int i = 0; i < N; ++i) out[i] = cast<To>(a[i]);
    return out;
}
template <class T, int N> inline vec<T, N> splat(T x) {
    vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = x;
    return out;
}
inline int64_t wrap(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }
template <class T, int N, class I> inline T get(const vec<T, N>& a, I index) {
    const int64_t i = wrap(int64_t(index), N);
    return a[uint64_t(i) < uint64_t(N) ? int(i) : 0];
}
template <class T, int N, class I> inline vec<T, N> with(vec<T, N> a, I index, T value) {
    const int64_t i = wrap(int64_t(index), N);
    if (uint64_t(i) < uint64_t(N)) a[int(i)] = value;
    return a;
}

// --- memory ---

template <class T, int D> struct array {
    T* data;
    int64_t shape[D];
    int64_t stride[D];  // in bytes
};
template <class T, int D, class... I> inline T* at(const array<T, D>& a, I... index) {
    int64_t offset = 0;
    int d = 0;
    ((offset += wrap(int64_t(index), a.shape[d]) * a.stride[d], ++d), ...);
    return (T*)((char*)a.data + offset);
}
template <class T, int D, class... I> inline auto view(const array<T, D>& a, I... index) {
    constexpr int given = sizeof...(I);
    array<T, D - given> out;
    out.data = at(a, index...);
    for (int d = given; d < D; ++d) out.shape[d - given] = a.shape[d], out.stride[d - given] = a.stride[d];
    return out;
}
template <class T, class... I> inline auto array_at(uint64_t address, I... shape) {
    constexpr int D = sizeof...(I);
    array<T, D> out{(T*)address, {int64_t(shape)...}, {}};
    int64_t bytes = sizeof(T);
    for (int d = D - 1; d >= 0; --d) out.stride[d] = bytes, bytes *= out.shape[d];
    return out;
}
// For each dimension an index, or begin, count and step where Range is 1.
template <int... Range, class T, int D, class... I> inline auto slice(const array<T, D>& a, I... values) {
    constexpr int ranges[] = {Range...};
    const int64_t given[] = {int64_t(values)...};
    array<T, (Range + ...)> out;
    int64_t offset = 0;
    for (int d = 0, v = 0, k = 0; d < D; ++d) {
        offset += wrap(given[v++], a.shape[d]) * a.stride[d];
        if (ranges[d] == 0) continue;
        out.shape[k] = given[v++];
        out.stride[k++] = a.stride[d] * given[v++];
    }
    out.data = (T*)((char*)a.data + offset);
    return out;
}
template <class T, int N, class I> inline T* member_at(vec<T, N>* a, I index) { return a->part + wrap(int64_t(index), N); }
// A bool in memory is any byte: zero is false.
inline bool load(const bool* place) { return *(const uint8_t*)place != 0; }

template <int Size> struct raw_of;
template <> struct raw_of<1> { using type = uint8_t; };
template <> struct raw_of<2> { using type = uint16_t; };
template <> struct raw_of<4> { using type = uint32_t; };
template <> struct raw_of<8> { using type = uint64_t; };
template <class T, class Next> inline T atomic_update(T* place, Next next) {
    using Raw = typename raw_of<sizeof(T)>::type;
    Raw seen = __atomic_load_n((Raw*)place, __ATOMIC_RELAXED);
    while (true) {
        const T old = bitcast<T>(seen);
        if (__atomic_compare_exchange_n((Raw*)place, &seen, bits_of<Raw>(T(next(old))), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return old;
    }
}
#define WEFT_ATOMIC(name, expression) \
    template <class T> inline T atomic_##name(T* place, T value) { return atomic_update(place, [&](T old) { return expression; }); } \
    template <class T, int N> inline vec<T, N> atomic_##name(vec<T, N>* place, vec<T, N> value) { \
        for (int i = 0; i < N; ++i) value[i] = atomic_##name(place->part + i, value[i]); \
        return value; \
    }
WEFT_ATOMIC(add, add(old, value)) WEFT_ATOMIC(sub, sub(old, value)) WEFT_ATOMIC(min, min(old, value)) WEFT_ATOMIC(max, max(old, value))
WEFT_ATOMIC(and, bit_and(old, value)) WEFT_ATOMIC(or, bit_or(old, value)) WEFT_ATOMIC(xor, bit_xor(old, value))
WEFT_ATOMIC(exchange, (void(old), value))

template <class T> struct stack {
    T* data = nullptr;
    int64_t used = 0, there = 0, cursor = 0;
    bool borrowed = false;
    stack() = default;
    stack(const stack&) = delete;
    ~stack() {
        if (!borrowed) weft_stack_free(data);
    }
    void borrow(int64_t address, int64_t end) {
        data = (T*)address;
        used = there = end;
        cursor = 0;
        borrowed = true;
    }
    int64_t keep() const { return weft_stack_keep(data, used * int64_t(sizeof(T))); }
    void clear() { used = cursor = 0; }
    void push(const T& value) {
        if (used == there) {
            const int64_t wanted = 2 * there + 64;
            data = (T*)weft_stack_grow(data, used * int64_t(sizeof(T)), wanted * int64_t(sizeof(T)));
            there = wanted;
        }
        data[used++] = value;
        cursor = used;
    }
    T pop() { return data[cursor = --used]; }
    int64_t position() const { return cursor; }
    void seek(int64_t position) { cursor = position; }
    T read() { return data[cursor++]; }
};

// --- items and loops ---

struct launch_shape {
    int64_t dims[8];
    int32_t ndim;
    uint32_t exclusive;
    int32_t block_dim;
    int32_t streams;
};
struct item_t {
    const launch_shape* shape;
    int64_t linear;
    int32_t at[8];
};
template <class Body> inline void for_items(const launch_shape* shape, int64_t begin, int64_t end, const Body& body) {
    item_t item{shape, begin, {}};
    if (begin >= end) return;
    int64_t rest = begin;
    for (int d = 7; d > 0; --d) {
        const int64_t extent = shape->dims[d] < 1 ? 1 : shape->dims[d];
        item.at[d] = int32_t(rest % extent);
        rest /= extent;
    }
    item.at[0] = int32_t(rest);
    for (; item.linear < end; ++item.linear) {
        body(item);
        int d = shape->ndim > 1 ? shape->ndim - 1 : 0;
        while (d > 0 && ++item.at[d] >= shape->dims[d]) item.at[d--] = 0;
        if (d == 0) ++item.at[0];
    }
}

// begin, begin + step, ... before end; a step of zero has no turn. The index cannot wrap.
template <class T> struct range {
    T index, end, step;
    bool more;
    range(T begin, T end, T step) : index(begin), end(end), step(step), more(step > 0 ? begin < end : step < 0 && begin > end) {}
    void next() {
        const uint64_t left = step > 0 ? uint64_t(int64_t(end)) - uint64_t(int64_t(index)) : uint64_t(int64_t(index)) - uint64_t(int64_t(end));
        const uint64_t stride = step > 0 ? uint64_t(int64_t(step)) : 0 - uint64_t(int64_t(step));
        more = left > stride;
        if (more) index = T(index + step);
    }
};

}  // namespace weft
)cxx";

std::string maths() {
    std::string out;
#define MATH(Name, name, operands, kind) out += "WEFT_MATH_" #kind "_" #operands "(" #name ")\n";
#include "ir/math.def"
#undef MATH
    return out;
}

std::string c_maths() {
    std::string out = "extern \"C\" {\n";
    const auto declare = [&](std::string_view name, int operands) {
        for (const bool is_double : {false, true}) {
            const std::string type = is_double ? "double" : "float";
            out += type + " " + std::string(name) + (is_double ? "" : "f") + "(" + type +
                   (operands == 2 ? ", " + type : "") + ");\n";
        }
    };
#define MATH(Name, name, operands, kind) declare(#name, operands);
#include "ir/math.def"
#undef MATH
    declare("fmod", 2);
    return out + "}\n";
}

// The host's functions are variables of their names, set by weft_bind when the library is loaded.
std::string host_functions() {
    std::string out;
    std::string binding;
#define SYMBOL(name, result, parameters)                        \
    out += "static " #result " (*" #name ")" #parameters ";\n"; \
    binding += "    if ((" #name " = (decltype(" #name "))find(\"" #name "\")) == nullptr) return \"" #name "\";\n";
#include "codegen/host_symbols.def"
#undef SYMBOL
    return out +
           "extern \"C\" __attribute__((visibility(\"default\"))) const char* weft_bind(void* (*find)(const char*)) "
           "{\n" +
           binding + "    return nullptr;\n}\n";
}

}  // namespace

std::string host_prelude() {
    return std::string(kTypes) + "#include \"maths.h\"\n" + c_maths() + host_functions() +
           std::string(kPreludeBeforeMaths) + maths() + std::string(kPreludeAfterMaths);
}

}  // namespace weft::codegen::cxx
