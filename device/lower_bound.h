// Binary search in a sorted one-dimensional array: weft_lower_bound_<scalar>, for every scalar type.
#pragma once

#include "types.h"

namespace weft_device {

// A number of float16 or bfloat16, ordered by its bits; `Infinity` is the bits of infinity, above which NaN lies.
template <uint16_t Infinity>
struct Half {
    uint16_t bits;

    bool is_nan() const { return (bits & 0x7fff) > Infinity; }
    int32_t order() const { return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits; }
    friend bool operator<(Half a, Half b) { return !a.is_nan() && !b.is_nan() && a.order() < b.order(); }
};

template <class T>
inline int32_t lower_bound(const void* data, int64_t stride, int32_t begin, int32_t end, T value) {
    while (begin < end) {
        const int32_t middle = begin + (end - begin) / 2;
        T element;
        __builtin_memcpy(&element, static_cast<const char*>(data) + middle * stride, sizeof(T));
        if (element < value) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

}  // namespace weft_device

#define WEFT_LOWER_BOUND(name, Parameter, Number)                                                                     \
    extern "C" int32_t weft_lower_bound_##name(const void* data, int64_t, int64_t stride, int32_t begin, int32_t end, \
                                               Parameter value) {                                                     \
        return weft_device::lower_bound(data, stride, begin, end, Number{value});                                     \
    }
WEFT_LOWER_BOUND(i8, int8_t, int8_t)
WEFT_LOWER_BOUND(i16, int16_t, int16_t)
WEFT_LOWER_BOUND(i32, int32_t, int32_t)
WEFT_LOWER_BOUND(i64, int64_t, int64_t)
WEFT_LOWER_BOUND(u8, uint8_t, uint8_t)
WEFT_LOWER_BOUND(u16, uint16_t, uint16_t)
WEFT_LOWER_BOUND(u32, uint32_t, uint32_t)
WEFT_LOWER_BOUND(u64, uint64_t, uint64_t)
WEFT_LOWER_BOUND(f16, uint16_t, weft_device::Half<0x7c00>)
WEFT_LOWER_BOUND(bf16, uint16_t, weft_device::Half<0x7f80>)
WEFT_LOWER_BOUND(f32, float, float)
WEFT_LOWER_BOUND(f64, double, double)
#undef WEFT_LOWER_BOUND
