// What printed C++ needs of a GPU, whose compiler has the functions of CUDA: before its values.
#pragma once

#include "types.h"

// As on other devices: a snippet that promises a value and gives none is a mistake, not a warning.
#ifdef __clang__
#pragma clang diagnostic error "-Wreturn-type"
#endif

// Lanes of a wave take part by the bits of a mask.
#ifdef __MACA_ARCH__
#define WEFT_ALL_LANES 0xffffffffffffffffull
#else
#define WEFT_ALL_LANES 0xffffffffu
#endif

namespace weft {

WEFT_DEVICE inline float float_of(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t fraction = half & 0x3ff;
    uint32_t bits = (exponent + 112) << 23 | fraction << 13;
    if (exponent == 31) bits = 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000 : 0);
    if (exponent == 0) {
        const float small = float(fraction) * 0x1p-24f;
        __builtin_memcpy(&bits, &small, sizeof bits);
    }
    bits |= sign;
    float out;
    __builtin_memcpy(&out, &bits, sizeof out);
    return out;
}

// To the nearest, of two the even one.
WEFT_DEVICE inline uint16_t half_of(float number) {
    uint32_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return uint16_t(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000) return uint16_t(sign | 0x7c00);
    if (bits < 0x38800000) {
        // The last bit of numbers next to a half is that of the smallest float16.
        float size;
        __builtin_memcpy(&size, &bits, sizeof size);
        size += 0.5f;
        __builtin_memcpy(&bits, &size, sizeof bits);
        return uint16_t(sign | (bits - 0x3f000000));
    }
    return uint16_t(sign | ((bits + 0xfff + (bits >> 13 & 1)) - 0x38000000) >> 13);
}

// Puts `wanted` where `seen` is; gives what was there.
WEFT_DEVICE inline uint32_t swapped_if(uint32_t* place, uint32_t seen, uint32_t wanted) {
    return ::atomicCAS((unsigned int*)place, (unsigned int)seen, (unsigned int)wanted);
}
WEFT_DEVICE inline uint64_t swapped_if(uint64_t* place, uint64_t seen, uint64_t wanted) {
    return uint64_t(::atomicCAS((unsigned long long*)place, (unsigned long long)seen, (unsigned long long)wanted));
}
// Of the word that it lies in.
template <class Raw>
WEFT_DEVICE inline Raw swapped_if(Raw* place, Raw seen, Raw wanted) {
    const uint64_t address = (uint64_t)place;
    uint32_t* const word = (uint32_t*)(address & ~uint64_t(3));
    const int shift = int(address & 3) * 8;
    const uint32_t mask = uint32_t(Raw(~Raw(0))) << shift;
    uint32_t whole = *(volatile uint32_t*)word;
    while (true) {
        const Raw there = Raw(whole >> shift);
        if (there != seen) return there;
        const uint32_t found = swapped_if(word, whole, (whole & ~mask) | uint32_t(wanted) << shift);
        if (found == whole) return seen;
        whole = found;
    }
}

}  // namespace weft
