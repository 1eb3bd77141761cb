// What printed C++ has of the host that runs it: before its values. weft_... are the functions of host_symbols.def.
#pragma once

#include "types.h"

namespace weft {

inline float float_of(uint16_t half) { return weft_f16_to_f32(half); }
inline uint16_t half_of(float number) { return weft_f32_to_f16(number); }

// Tells the processor that this thread waits.
inline void pause_thread() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Puts `wanted` where `seen` is; gives what was there.
template <class Raw>
inline Raw swapped_if(Raw* place, Raw seen, Raw wanted) {
#if defined(__aarch64__)
    // Members of packed structs: this processor's atomics take no such address, so these updates wait for each other.
    if (uint64_t(place) % sizeof(Raw) != 0) {
        static bool busy;
        while (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) pause_thread();
        Raw found;
        __builtin_memcpy(&found, place, sizeof found);
        if (found == seen) __builtin_memcpy(place, &wanted, sizeof wanted);
        __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
        return found;
    }
#endif
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
