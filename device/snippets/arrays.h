// Arrays and atomics for native snippets.
#pragma once

#include "vectors.h"

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device begin
#endif

namespace weft_native {

// An array as it lies in memory (ir/layout.h): a member of a struct, an element of an array.
template <class T, int N>
struct descriptor;

}  // namespace weft_native

namespace wp {

constexpr int ARRAY_MAX_DIMS = 8;

struct shape_t {
    int dims[ARRAY_MAX_DIMS] = {};
    template <class I>
    __device__ int operator[](I i) const {
        return dims[i];
    }
};

// An element is taken by one index of an array of one dimension, arr[i], or by one for each: arr(i, j). With more
// dimensions arr[i] counts the elements of contiguous memory.
template <class T>
struct array_t {
    T* data = nullptr;
    T* grad = nullptr;  // in an adjoint: where the gradient lies, if there is one
    shape_t shape;
    int64_t strides[ARRAY_MAX_DIMS] = {};  // in bytes
    int ndim = 1;

    array_t() = default;
    template <int N>
    __device__ array_t(const weft_native::descriptor<T, N>& d) : data(d.data), ndim(N) {
        for (int i = 0; i < N; ++i) {
            shape.dims[i] = int(d.shape[i]);
            strides[i] = d.strides[i];
        }
    }
    __device__ size_t size() const {
        size_t out = 1;
        for (int i = 0; i < ndim; ++i) out *= size_t(shape.dims[i]);
        return out;
    }
    __device__ bool empty() const { return size() == 0; }
    __device__ operator T*() const { return data; }
    template <class I>
    __device__ T& operator[](I i) const {
        return ndim == 1 ? *(T*)((char*)data + int64_t(i) * strides[0]) : data[i];
    }
    template <class... I>
    __device__ T& operator()(I... i) const {
        static_assert(sizeof...(I) <= ARRAY_MAX_DIMS);
        int64_t offset = 0;
        int d = 0;
        ((offset += int64_t(i) * strides[d++]), ...);
        return *(T*)((char*)data + offset);
    }
};

// The gradient of an array, which may not be kept: what is added to it then goes nowhere.
template <class T>
struct adj_array_t : array_t<T> {
    mutable T nowhere{};

    adj_array_t() = default;
    template <int N>
    __device__ adj_array_t(const weft_native::descriptor<T, N>& d) : array_t<T>(d) {}
    template <class I>
    __device__ T& operator[](I i) const {
        return this->data ? array_t<T>::operator[](i) : nowhere;
    }
    template <class... I>
    __device__ T& operator()(I... i) const {
        return this->data ? array_t<T>::operator()(i...) : nowhere;
    }
};

template <class T, class... I>
__device__ inline T* address(const array_t<T>& a, I... i) {
    return &a(i...);
}
template <class T, class... I>
__device__ inline T* address(const adj_array_t<T>& a, I... i) {
    return &a(i...);
}
template <class T, class... I>
__device__ inline T& index(const array_t<T>& a, I... i) {
    return a(i...);
}
template <class T, class... I>
__device__ inline T& index(const adj_array_t<T>& a, I... i) {
    return a(i...);
}
template <class T>
__device__ inline T load(const T* place) {
    return *place;
}
template <class T>
__device__ inline void store(T* place, const weft_native::as<T>& value) {
    *place = value;
}
template <class T>
__device__ inline int len(const array_t<T>& a) {
    return a.shape[0];
}
// The array of fewer dimensions at the first indices.
template <class T, class... I>
__device__ inline array_t<T> view(const array_t<T>& a, I... i) {
    array_t<T> out;
    out.data = &a(i...);
    out.ndim = a.ndim - int(sizeof...(I));
    for (int d = 0; d < out.ndim; ++d) {
        out.shape.dims[d] = a.shape.dims[d + int(sizeof...(I))];
        out.strides[d] = a.strides[d + int(sizeof...(I))];
    }
    return out;
}

}  // namespace wp

namespace weft_native {

template <class T, int N>
struct descriptor {
    T* data = nullptr;
    int64_t shape[N] = {};
    int64_t strides[N] = {};

    descriptor() = default;
    __device__ descriptor(const wp::array_t<T>& a) : data(a.data) {
        for (int i = 0; i < N; ++i) {
            shape[i] = a.shape.dims[i];
            strides[i] = a.strides[i];
        }
    }
    __device__ operator T*() const { return data; }
    template <class I>
    __device__ T& operator[](I i) const {
        return wp::array_t<T>(*this)[i];
    }
    template <class... I>
    __device__ T& operator()(I... i) const {
        return wp::array_t<T>(*this)(i...);
    }
};

#ifdef WEFT_PRINTED
#define WEFT_UPDATE(name, place, value, direct, expression)                   \
    if constexpr (direct) {                                                   \
        return weft::atomic_##name(place, T(value));                          \
    } else {                                                                  \
        return weft::atomic_update(place, [&](T old) { return expression; }); \
    }
#else
template <int Size>
struct word_of;
template <>
struct word_of<2> {
    using type = uint16_t;
};
template <>
struct word_of<4> {
    using type = uint32_t;
};
template <>
struct word_of<8> {
    using type = uint64_t;
};
// Replaces *place by next(*place); returns what was there.
template <class T, class Next>
__device__ inline T update(T* place, const Next& next) {
    using Word = typename word_of<sizeof(T)>::type;
    Word seen = __atomic_load_n((Word*)place, __ATOMIC_RELAXED);
    while (true) {
        const T old = __builtin_bit_cast(T, seen);
        const Word wanted = __builtin_bit_cast(Word, T(next(old)));
        if (__atomic_compare_exchange_n((Word*)place, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return old;
    }
}
#define WEFT_UPDATE(name, place, value, direct, expression)                      \
    if constexpr (direct) {                                                      \
        return __atomic_fetch_##name(place, value, __ATOMIC_RELAXED);            \
    } else {                                                                     \
        return weft_native::update(place, [&](T old) { return T(expression); }); \
    }
#endif

}  // namespace weft_native

#define WEFT_ATOMIC(name, Name, direct, expression)                                                                \
    template <class T>                                                                                             \
    __device__ inline T atomic##Name(T* place, weft_native::as<T> value) {                                         \
        WEFT_UPDATE(name, place, value, direct, expression)                                                        \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic##Name(const wp::array_t<T>& a, weft_native::as<T> value) {                          \
        return atomic##Name(a.data, value);                                                                        \
    }                                                                                                              \
    namespace wp {                                                                                                 \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(T* place, weft_native::as<T> value) {                                        \
        return atomic##Name(place, value);                                                                         \
    }                                                                                                              \
    template <unsigned N, class T>                                                                                 \
    __device__ inline vec_t<N, T> atomic_##name(vec_t<N, T>* place, vec_t<N, T> value) {                           \
        for (unsigned i = 0; i < N; ++i) value[i] = atomic##Name(&place->c[i], value[i]);                          \
        return value;                                                                                              \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(const array_t<T>& a, int i, const weft_native::as<T>& value) {               \
        return atomic_##name(&a(i), value);                                                                        \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(const array_t<T>& a, int i, int j, const weft_native::as<T>& value) {        \
        return atomic_##name(&a(i, j), value);                                                                     \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(const array_t<T>& a, int i, int j, int k, const weft_native::as<T>& value) { \
        return atomic_##name(&a(i, j, k), value);                                                                  \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(const adj_array_t<T>& a, int i, const weft_native::as<T>& value) {           \
        return a.data ? atomic_##name(&a(i), value) : T{};                                                         \
    }                                                                                                              \
    template <class T>                                                                                             \
    __device__ inline T atomic_##name(const adj_array_t<T>& a, int i, int j, const weft_native::as<T>& value) {    \
        return a.data ? atomic_##name(&a(i, j), value) : T{};                                                      \
    }                                                                                                              \
    }

#define WEFT_DIRECT (weft_native::is_integer<T> || weft_native::same<T, float> || weft_native::same<T, double>)
WEFT_ATOMIC(add, Add, WEFT_DIRECT, old + value)
WEFT_ATOMIC(sub, Sub, WEFT_DIRECT, old - value)
WEFT_ATOMIC(min, Min, weft_native::is_integer<T>, value < old ? value : old)
WEFT_ATOMIC(max, Max, weft_native::is_integer<T>, old < value ? value : old)
WEFT_ATOMIC(and, And, weft_native::is_integer<T>, old& value)
WEFT_ATOMIC(or, Or, weft_native::is_integer<T>, old | value)
WEFT_ATOMIC(xor, Xor, weft_native::is_integer<T>, old ^ value)

template <class T>
__device__ inline T atomicExch(T* place, weft_native::as<T> value) {
    WEFT_UPDATE(exchange, place, value, false, (void(old), value))
}
template <class T>
__device__ inline T atomicCAS(T* place, weft_native::as<T> expected, weft_native::as<T> value) {
#ifdef WEFT_PRINTED
    return weft::atomic_compare(place, T(expected), T(value));
#else
    using Word = typename weft_native::word_of<sizeof(T)>::type;
    Word seen = __builtin_bit_cast(Word, expected);
    __atomic_compare_exchange_n((Word*)place, &seen, __builtin_bit_cast(Word, value), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return __builtin_bit_cast(T, seen);
#endif
}
template <class T>
__device__ inline T atomicExch(const wp::array_t<T>& a, weft_native::as<T> value) {
    return atomicExch(a.data, value);
}
template <class T>
__device__ inline T atomicCAS(const wp::array_t<T>& a, weft_native::as<T> expected, weft_native::as<T> value) {
    return atomicCAS(a.data, expected, value);
}
namespace wp {
template <class T>
__device__ inline T atomic_exch(const array_t<T>& a, int i, const weft_native::as<T>& value) {
    return atomicExch(&a(i), value);
}
template <class T>
__device__ inline T atomic_cas(const array_t<T>& a, int i, const weft_native::as<T>& expected,
                               const weft_native::as<T>& value) {
    return atomicCAS(&a(i), expected, value);
}
}  // namespace wp

using namespace wp;

#ifdef WEFT_NVPTX
#pragma clang force_cuda_host_device end
#endif
