// The scalar types of the kernel language: float16 and bfloat16 as numbers, and the list of all but bool.
#pragma once

#include "types.h"

namespace weft_device {

// A number of float16 or bfloat16, ordered by its bits; `Infinity` is the bits of infinity, above which NaN lies.
template <uint16_t Infinity>
struct Half {
    uint16_t bits;

    WEFT_DEVICE bool is_nan() const { return (bits & 0x7fff) > Infinity; }
    WEFT_DEVICE int32_t order() const { return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits; }
    WEFT_DEVICE friend bool operator<(Half a, Half b) { return !a.is_nan() && !b.is_nan() && a.order() < b.order(); }
};

}  // namespace weft_device

// f(name, parameter, number): the type's name, how C passes it, and the type that compares as it does.
#define WEFT_EACH_SCALAR(f)                                                                                      \
    f(i8, int8_t, int8_t) f(i16, int16_t, int16_t) f(i32, int32_t, int32_t) f(i64, int64_t, int64_t)             \
        f(u8, uint8_t, uint8_t) f(u16, uint16_t, uint16_t) f(u32, uint32_t, uint32_t) f(u64, uint64_t, uint64_t) \
            f(f16, uint16_t, weft_device::Half<0x7c00>) f(bf16, uint16_t, weft_device::Half<0x7f80>)             \
                f(f32, float, float) f(f64, double, double)
