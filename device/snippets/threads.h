// Threads, blocks and warps for native snippets.
#pragma once

#include "arrays.h"

#ifdef __CUDA__
#pragma clang force_cuda_host_device begin

#define warpSize 32

namespace weft {

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

}  // namespace weft

static constexpr weft::thread_index threadIdx;
static constexpr weft::block_index blockIdx;
static constexpr weft::block_extent blockDim;
static constexpr weft::grid_extent gridDim;

template <class T>
__device__ inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
    return weft::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_idx_i32(mask, w, lane, weft::lanes_below(width) | 0x1f); });
}
template <class T>
__device__ inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return weft::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_up_i32(mask, w, int(delta), weft::lanes_below(width)); });
}
template <class T>
__device__ inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    return weft::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_down_i32(mask, w, int(delta), weft::lanes_below(width) | 0x1f); });
}
template <class T>
__device__ inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    return weft::by_words(
        value, [&](int w) { return __nvvm_shfl_sync_bfly_i32(mask, w, lanes, weft::lanes_below(width) | 0x1f); });
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

#else

#define warpSize 32
#define __shared__ static __attribute__((section("weft_shared")))

// The functions of the host: codegen/host_symbols.def, runtime/cpu/blocks.h.
extern "C" {
const void* weft_this_thread(void);
int weft_barrier(int value);
uint64_t weft_warp(uint64_t mask, uint64_t value, int source);
}

namespace weft {

struct thread_state {
    int thread;
    int block;
    int block_dim;
    int grid_dim;
};
inline const thread_state& this_thread() { return *(const thread_state*)weft_this_thread(); }
inline int lane() { return this_thread().thread % warpSize; }

// Blocks have one dimension.
#define WEFT_INDEX(name, member, others)                                   \
    struct name {                                                          \
        __declspec(property(get = get_x)) unsigned x;                      \
        __declspec(property(get = get_y)) unsigned y;                      \
        __declspec(property(get = get_y)) unsigned z;                      \
        static unsigned get_x() { return unsigned(this_thread().member); } \
        static unsigned get_y() { return others; }                         \
    };
WEFT_INDEX(thread_index, thread, 0)
WEFT_INDEX(block_index, block, 0)
WEFT_INDEX(block_extent, block_dim, 1)
WEFT_INDEX(grid_extent, grid_dim, 1)
#undef WEFT_INDEX

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

}  // namespace weft

static constexpr weft::thread_index threadIdx;
static constexpr weft::block_index blockIdx;
static constexpr weft::block_extent blockDim;
static constexpr weft::grid_extent gridDim;

inline void __syncthreads() { weft_barrier(0); }
inline int __syncthreads_count(int holds) { return weft_barrier(holds != 0); }
inline int __syncthreads_or(int holds) { return weft_barrier(holds != 0) != 0; }
inline int __syncthreads_and(int holds) { return weft_barrier(holds == 0) == 0; }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane, int width = warpSize) {
    return weft::from_lane(mask, value, weft::first_of(width) + (lane & (width - 1)));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int source = weft::lane() - int(delta);
    return weft::from_lane(mask, value, source < weft::first_of(width) ? weft::lane() : source);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = warpSize) {
    const int source = weft::lane() + int(delta);
    return weft::from_lane(mask, value, source >= weft::first_of(width) + width ? weft::lane() : source);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize) {
    const int source = weft::lane() ^ lanes;
    return weft::from_lane(mask, value, source >= weft::first_of(width) + width ? weft::lane() : source);
}
inline unsigned __ballot_sync(unsigned mask, int holds) { return unsigned(weft_warp(mask, holds != 0, -1)); }
inline int __any_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds) != 0; }
inline int __all_sync(unsigned mask, int holds) { return __ballot_sync(mask, holds == 0) == 0; }
inline void __syncwarp(unsigned mask = ~0u) { weft_warp(mask, 0, -1); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() {}
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline long long clock64() { return (long long)__builtin_ia32_rdtsc(); }
inline int clock() { return int(clock64()); }

#endif
