// What printed C++ has of the host that runs it: before its values. weft_... are the functions of host_symbols.def.
#pragma once

#include "types.h"

namespace weft {

inline float float_of(uint16_t half) { return weft_f16_to_f32(half); }
inline uint16_t half_of(float number) { return weft_f32_to_f16(number); }

// Puts `wanted` where `seen` is; gives what was there.
template <class Raw>
inline Raw swapped_if(Raw* place, Raw seen, Raw wanted) {
    __atomic_compare_exchange_n(place, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return seen;
}

inline void* stack_grow(void* old, int64_t old_bytes, int64_t bytes) { return weft_stack_grow(old, old_bytes, bytes); }
inline void stack_free(void* block) { weft_stack_free(block); }
inline int64_t stack_keep(const void* block, int64_t bytes) { return weft_stack_keep(block, bytes); }

struct launch_shape;
template <class... N>
inline void report(const char* format, const launch_shape*, int64_t item, N... numbers) {
    weft_assert_failed(format, item, numbers...);
}

}  // namespace weft

// report() is there.
#define WEFT_REPORTS 1
