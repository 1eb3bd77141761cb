// Threads, blocks and warps of NVIDIA's GPUs, for clang.
#pragma once

#include "arrays.h"

#pragma clang force_cuda_host_device begin

#define warpSize 32

namespace weft_native {

#define WEFT_INDEX(name, sreg)                                                           \
    struct name {                                                                        \
        __declspec(property(get = get_x)) unsigned x;                                    \
        __declspec(property(get = get_y)) unsigned y;                                    \
        __declspec(property(get = get_z)) unsigned z;                                    \
        __device__ static unsigned get_x() { return __nvvm_read_ptx_sreg_##sreg##_x(); } \
        __device__ static unsigned get_y() { return __nvvm_read_ptx_sreg_##sreg##_y(); } \
        __device__ static unsigned get_z() { return __nvvm_read_ptx_sreg_##sreg##_z(); } \
    };
WEFT_INDEX(thread_index, tid)
WEFT_INDEX(block_index, ctaid)
WEFT_INDEX(block_extent, ntid)
WEFT_INDEX(grid_extent, nctaid)
#undef WEFT_INDEX

// A value of 4 or 8 bytes, word by word.
template <class T, class Move>
__device__ inline T by_words(T value, const Move& move) {
    static_assert(sizeof(T) % 4 == 0, "a shuffle moves values of 4, 8, ... bytes");
    int words[sizeof(T) / 4];
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned i = 0; i < sizeof(T) / 4; ++i) words[i] = move(words[i]);
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
}
__device__ inline int lanes_below(int width) { return (warpSize - width) << 8; }

}  // namespace weft_native

static constexpr weft_native::thread_index threadIdx;
static constexpr weft_native::block_index blockIdx;
static constexpr weft_native::block_extent blockDim;
static constexpr weft_native::grid_extent gridDim;

template <class T>
__device__ inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
    return weft_native::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_idx_i32(mask, w, lane, weft_native::lanes_below(width) | 0x1f); });
}
template <class T>
__device__ inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return weft_native::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_up_i32(mask, w, int(delta), weft_native::lanes_below(width)); });
}
template <class T>
__device__ inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return weft_native::by_words(value, [&](int w) {
        return __nvvm_shfl_sync_down_i32(mask, w, int(delta), weft_native::lanes_below(width) | 0x1f);
    });
}
template <class T>
__device__ inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    return weft_native::by_words(value, [&](int w) {
        return __nvvm_shfl_sync_bfly_i32(mask, w, lanes, weft_native::lanes_below(width) | 0x1f);
    });
}
__device__ inline unsigned __ballot_sync(unsigned mask, int holds) { return __nvvm_vote_ballot_sync(mask, holds != 0); }
__device__ inline int __any_sync(unsigned mask, int holds) { return __nvvm_vote_any_sync(mask, holds != 0); }
__device__ inline int __all_sync(unsigned mask, int holds) { return __nvvm_vote_all_sync(mask, holds != 0); }
__device__ inline int __syncthreads_count(int holds) { return __nvvm_bar0_popc(holds); }
__device__ inline int __syncthreads_and(int holds) { return __nvvm_bar0_and(holds); }
__device__ inline int __syncthreads_or(int holds) { return __nvvm_bar0_or(holds); }
__device__ inline void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
__device__ inline unsigned __activemask() {
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
__device__ inline void __threadfence() { __nvvm_membar_gl(); }
__device__ inline void __threadfence_block() { __nvvm_membar_cta(); }
__device__ inline void __threadfence_system() { __nvvm_membar_sys(); }
__device__ inline long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
__device__ inline int clock() { return __nvvm_read_ptx_sreg_clock(); }
__device__ inline void __trap() { __builtin_trap(); }

#pragma clang force_cuda_host_device end
