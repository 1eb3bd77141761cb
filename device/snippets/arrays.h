// Arrays and atomics for native snippets.
#pragma once

#include "vectors.h"

#ifdef __CUDA__
#pragma clang force_cuda_host_device begin
#endif

namespace weft {

// An array as it lies in memory (ir/layout.h): a member of a struct, an element of an array.
template <class T, int N>
struct descriptor;

}  // namespace weft

namespace wp {

constexpr int ARRAY_MAX_DIMS = 8;

struct shape_t {
    int dims[ARRAY_MAX_DIMS] = {};
    template <class I>
    int operator[](I i) const {
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
    array_t(const weft::descriptor<T, N>& d) : data(d.data), ndim(N) {
        for (int i = 0; i < N; ++i) {
            shape.dims[i] = int(d.shape[i]);
            strides[i] = d.strides[i];
        }
    }
    size_t size() const {
        size_t out = 1;
        for (int i = 0; i < ndim; ++i) out *= size_t(shape.dims[i]);
        return out;
    }
    bool empty() const { return size() == 0; }
    operator T*() const { return data; }
    template <class I>
    T& operator[](I i) const {
        return ndim == 1 ? *(T*)((char*)data + int64_t(i) * strides[0]) : data[i];
    }
    template <class... I>
    T& operator()(I... i) const {
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
    adj_array_t(const weft::descriptor<T, N>& d) : array_t<T>(d) {}
    template <class I>
    T& operator[](I i) const {
        return this->data ? array_t<T>::operator[](i) : nowhere;
    }
    template <class... I>
    T& operator()(I... i) const {
        return this->data ? array_t<T>::operator()(i...) : nowhere;
    }
};

template <class T, class... I>
inline T* address(const array_t<T>& a, I... i) {
    return &a(i...);
}
template <class T, class... I>
inline T* address(const adj_array_t<T>& a, I... i) {
    return &a(i...);
}
template <class T, class... I>
inline T& index(const array_t<T>& a, I... i) {
    return a(i...);
}
template <class T, class... I>
inline T& index(const adj_array_t<T>& a, I... i) {
    return a(i...);
}
template <class T>
inline T load(const T* place) {
    return *place;
}
template <class T>
inline void store(T* place, const weft::as<T>& value) {
    *place = value;
}
template <class T>
inline int len(const array_t<T>& a) {
    return a.shape[0];
}
// The array of fewer dimensions at the first indices.
template <class T, class... I>
inline array_t<T> view(const array_t<T>& a, I... i) {
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

namespace weft {

template <class T, int N>
struct descriptor {
    T* data = nullptr;
    int64_t shape[N] = {};
    int64_t strides[N] = {};

    descriptor() = default;
    descriptor(const wp::array_t<T>& a) : data(a.data) {
        for (int i = 0; i < N; ++i) {
            shape[i] = a.shape.dims[i];
            strides[i] = a.strides[i];
        }
    }
    operator T*() const { return data; }
    template <class I>
    T& operator[](I i) const {
        return wp::array_t<T>(*this)[i];
    }
    template <class... I>
    T& operator()(I... i) const {
        return wp::array_t<T>(*this)(i...);
    }
};

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
inline T update(T* place, const Next& next) {
    using Word = typename word_of<sizeof(T)>::type;
    Word seen = __atomic_load_n((Word*)place, __ATOMIC_RELAXED);
    while (true) {
        const T old = __builtin_bit_cast(T, seen);
        const Word wanted = __builtin_bit_cast(Word, T(next(old)));
        if (__atomic_compare_exchange_n((Word*)place, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return old;
    }
}

}  // namespace weft

#define WEFT_ATOMIC(name, Name, direct, expression)                                              \
    template <class T>                                                                           \
    inline T atomic##Name(T* place, weft::as<T> value) {                                         \
        if constexpr (direct) {                                                                  \
            return __atomic_fetch_##name(place, value, __ATOMIC_RELAXED);                        \
        } else {                                                                                 \
            return weft::update(place, [&](T old) { return expression; });                       \
        }                                                                                        \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic##Name(const wp::array_t<T>& a, weft::as<T> value) {                          \
        return atomic##Name(a.data, value);                                                      \
    }                                                                                            \
    namespace wp {                                                                               \
    template <class T>                                                                           \
    inline T atomic_##name(T* place, weft::as<T> value) {                                        \
        return atomic##Name(place, value);                                                       \
    }                                                                                            \
    template <unsigned N, class T>                                                               \
    inline vec_t<N, T> atomic_##name(vec_t<N, T>* place, vec_t<N, T> value) {                    \
        for (unsigned i = 0; i < N; ++i) value[i] = atomic##Name(&place->c[i], value[i]);        \
        return value;                                                                            \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic_##name(const array_t<T>& a, int i, const weft::as<T>& value) {               \
        return atomic_##name(&a(i), value);                                                      \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic_##name(const array_t<T>& a, int i, int j, const weft::as<T>& value) {        \
        return atomic_##name(&a(i, j), value);                                                   \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic_##name(const array_t<T>& a, int i, int j, int k, const weft::as<T>& value) { \
        return atomic_##name(&a(i, j, k), value);                                                \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic_##name(const adj_array_t<T>& a, int i, const weft::as<T>& value) {           \
        return a.data ? atomic_##name(&a(i), value) : T{};                                       \
    }                                                                                            \
    template <class T>                                                                           \
    inline T atomic_##name(const adj_array_t<T>& a, int i, int j, const weft::as<T>& value) {    \
        return a.data ? atomic_##name(&a(i, j), value) : T{};                                    \
    }                                                                                            \
    }

#define WEFT_DIRECT (__is_integral(T) || weft::same<T, float> || weft::same<T, double>)
WEFT_ATOMIC(add, Add, WEFT_DIRECT, old + value)
WEFT_ATOMIC(sub, Sub, WEFT_DIRECT, old - value)
WEFT_ATOMIC(min, Min, __is_integral(T), value < old ? value : old)
WEFT_ATOMIC(max, Max, __is_integral(T), old < value ? value : old)
WEFT_ATOMIC(and, And, __is_integral(T), old& value)
WEFT_ATOMIC(or, Or, __is_integral(T), old | value)
WEFT_ATOMIC(xor, Xor, __is_integral(T), old ^ value)

template <class T>
inline T atomicExch(T* place, weft::as<T> value) {
    return weft::update(place, [&](T) { return value; });
}
template <class T>
inline T atomicCAS(T* place, weft::as<T> expected, weft::as<T> value) {
    using Word = typename weft::word_of<sizeof(T)>::type;
    Word seen = __builtin_bit_cast(Word, expected);
    __atomic_compare_exchange_n((Word*)place, &seen, __builtin_bit_cast(Word, value), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return __builtin_bit_cast(T, seen);
}
template <class T>
inline T atomicExch(const wp::array_t<T>& a, weft::as<T> value) {
    return atomicExch(a.data, value);
}
template <class T>
inline T atomicCAS(const wp::array_t<T>& a, weft::as<T> expected, weft::as<T> value) {
    return atomicCAS(a.data, expected, value);
}
namespace wp {
template <class T>
inline T atomic_exch(const array_t<T>& a, int i, const weft::as<T>& value) {
    return atomicExch(&a(i), value);
}
template <class T>
inline T atomic_cas(const array_t<T>& a, int i, const weft::as<T>& expected, const weft::as<T>& value) {
    return atomicCAS(&a(i), expected, value);
}
}  // namespace wp

using namespace wp;

#ifdef __CUDA__
#pragma clang force_cuda_host_device end
#endif
