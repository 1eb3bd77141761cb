// Threads, blocks and warps of a CPU.
#pragma once

#include "arrays.h"

#define warpSize 32
#ifdef WEFT_HOST_CXX
#define __shared__ static __attribute__((section("weft_shared"), used))
#else
#define __shared__ static __attribute__((section("weft_shared")))
#endif

// The functions of the host: codegen/host_symbols.def, runtime/cpu/blocks.h. Printed C++ has declared them.
#ifndef WEFT_HOST_CXX
extern "C" {
const void* weft_this_thread(void);
int weft_barrier(int value);
uint64_t weft_warp(uint64_t mask, uint64_t value, int source);
}
#endif

namespace weft_native {

struct thread_state {
    int thread;
    int block;
    int block_dim;
    int grid_dim;
};
inline const thread_state& this_thread() { return *(const thread_state*)weft_this_thread(); }
inline int lane() { return this_thread().thread % warpSize; }

// Blocks have one dimension.
struct place {
    unsigned x, y, z;
};
inline place thread_index() { return {unsigned(this_thread().thread), 0, 0}; }
inline place block_index() { return {unsigned(this_thread().block), 0, 0}; }
inline place block_extent() { return {unsigned(this_thread().block_dim), 1, 1}; }
inline place grid_extent() { return {unsigned(this_thread().grid_dim), 1, 1}; }

template <class T>
inline T from_lane(unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 8, "a shuffle moves values of up to 8 bytes");
    uint64_t word = 0;
    __builtin_memcpy(&word, &value, sizeof(T));
    word = weft_warp(mask, word, source);
    __builtin_memcpy(&value, &word, sizeof(T));
    return value;
}
inline int first_of(int width) { return lane() / width * width; }

}  // namespace weft_native

#define threadIdx weft_native::thread_index()
#define blockIdx weft_native::block_index()
#define blockDim weft_native::block_extent()
#define gridDim weft_native::grid_extent()

inline void __syncthreads() { weft_barrier(0); }
inline int __syncthreads_count(int holds) { return weft_barrier(holds != 0); }
inline int __syncthreads_or(int holds) { return weft_barrier(holds != 0) != 0; }
inline int __syncthreads_and(int holds) { return weft_barrier(holds == 0) == 0; }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
    return weft_native::from_lane(mask, value, weft_native::first_of(width) + (lane & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int source = weft_native::lane() - int(delta);
    return weft_native::from_lane(mask, value, source < weft_native::first_of(width) ? weft_native::lane() : source);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int source = weft_native::lane() + int(delta);
    return weft_native::from_lane(mask, value,
                                  source >= weft_native::first_of(width) + width ? weft_native::lane() : source);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    const int source = weft_native::lane() ^ lanes;
    return weft_native::from_lane(mask, value,
                                  source >= weft_native::first_of(width) + width ? weft_native::lane() : source);
}
inline unsigned __ballot_sync(unsigned mask, int holds) { return unsigned(weft_warp(mask, holds != 0, -1)); }
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds == 0) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { weft_warp(mask, 0, -1); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#if defined(__x86_64__)
inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
#else
inline long long clock64() {
    long long ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#endif
inline int clock() { return int(clock64()); }
