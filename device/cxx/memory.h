// Arrays, references and atomics of printed C++.
#pragma once

#include "values.h"

namespace weft {

// --- memory ---

template <class T, int D>
struct array {
    T* data;
    int64_t shape[D];
    int64_t stride[D];  // in bytes
};
template <class T, int D, class... I>
WEFT_DEVICE inline T* at(const array<T, D>& a, I... index) {
    int64_t offset = 0;
    int d = 0;
    ((offset += wrap(int64_t(index), a.shape[d]) * a.stride[d], ++d), ...);
    return (T*)((char*)a.data + offset);
}
template <class T, int D, class... I>
WEFT_DEVICE inline auto view(const array<T, D>& a, I... index) {
    constexpr int given = sizeof...(I);
    array<T, D - given> out;
    out.data = at(a, index...);
    for (int d = given; d < D; ++d) out.shape[d - given] = a.shape[d], out.stride[d - given] = a.stride[d];
    return out;
}
template <class T, class... I>
WEFT_DEVICE inline auto array_at(uint64_t address, I... shape) {
    constexpr int D = sizeof...(I);
    array<T, D> out{(T*)address, {int64_t(shape)...}, {}};
    int64_t bytes = sizeof(T);
    for (int d = D - 1; d >= 0; --d) out.stride[d] = bytes, bytes *= out.shape[d];
    return out;
}
// For each dimension an index, or begin, count and step where Range is 1.
template <int... Range, class T, int D, class... I>
WEFT_DEVICE inline auto slice(const array<T, D>& a, I... values) {
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
template <class T, int N, class I>
WEFT_DEVICE inline T* member_at(vec<T, N>* a, I index) {
    return a->part + wrap(int64_t(index), N);
}
// How a native snippet is handed a value, and a reference or a result.
template <class T>
WEFT_DEVICE inline void* place(const T& value) {
    return (void*)&value;
}
template <class T>
WEFT_DEVICE inline void* place(T* reference) {
    return (void*)reference;
}
// A bool in memory is any byte: zero is false.
WEFT_DEVICE inline bool load(const bool* place) { return *(const uint8_t*)place != 0; }

template <int Size>
struct raw_of;
template <>
struct raw_of<1> {
    using type = uint8_t;
};
template <>
struct raw_of<2> {
    using type = uint16_t;
};
template <>
struct raw_of<4> {
    using type = uint32_t;
};
template <>
struct raw_of<8> {
    using type = uint64_t;
};
template <class T, class Next>
WEFT_DEVICE inline T atomic_update(T* place, Next next) {
    using Raw = typename raw_of<sizeof(T)>::type;
    Raw seen = *(volatile Raw*)place;
    while (true) {
        const T old = bitcast<T>(seen);
        const Raw found = swapped_if((Raw*)place, seen, bits_of<Raw>(T(next(old))));
        if (found == seen) return old;
        seen = found;
    }
}
template <class T>
WEFT_DEVICE inline T atomic_compare(T* place, T expected, T value) {
    using Raw = typename raw_of<sizeof(T)>::type;
    return bitcast<T>(swapped_if((Raw*)place, bits_of<Raw>(expected), bits_of<Raw>(value)));
}
#define WEFT_ATOMIC_OP(name, expression)                                                 \
    template <class T>                                                                   \
    WEFT_DEVICE inline T atomic_##name(T* place, T value) {                              \
        return atomic_update(place, [&](T old) { return expression; });                  \
    }                                                                                    \
    template <class T, int N>                                                            \
    WEFT_DEVICE inline vec<T, N> atomic_##name(vec<T, N>* place, vec<T, N> value) {      \
        for (int i = 0; i < N; ++i) value[i] = atomic_##name(place->part + i, value[i]); \
        return value;                                                                    \
    }
// clang-format off: it would run them together
WEFT_ATOMIC_OP(add, add(old, value))
WEFT_ATOMIC_OP(sub, sub(old, value))
WEFT_ATOMIC_OP(min, min(old, value))
WEFT_ATOMIC_OP(max, max(old, value))
WEFT_ATOMIC_OP(and, bit_and(old, value))
WEFT_ATOMIC_OP(or, bit_or(old, value))
WEFT_ATOMIC_OP(xor, bit_xor(old, value))
WEFT_ATOMIC_OP(exchange, (void(old), value))
// clang-format on

}  // namespace weft
