// What MACA's compiler knows by itself, for the host's compiler: mxcc (beside this file) puts it before the source. A
// thread of a block is a fibre of the stand-in for the runtime (blocks.cpp), which serves what threads ask of each
// other.
#pragma once

#include <math.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <utility>

#define __MACACC__ 1
#define FAKE_MACA_EXPORT __attribute__((visibility("default")))
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __constant__ static
// A stream runs one block at a time, on a thread of its own. Its content is what the block before left, as on a GPU.
#define __shared__ static thread_local

#include "maca/services.h"

extern "C" {
FAKE_MACA_EXPORT const fake_maca::Services* fake_maca_services = nullptr;
}

// ---- kernels ----

namespace fake_maca {

template <auto function>
struct Entry;
template <typename... P, void (*function)(P...)>
struct Entry<function> {
    static constexpr size_t sizes[] = {sizeof(P)..., 0};
    static constexpr size_t alignments[] = {alignof(P)..., 0};
    static void call(void** parameters) { call(parameters, std::index_sequence_for<P...>()); }
    static constexpr Kernel kernel(int bound) { return {call, sizeof...(P), sizes, alignments, bound}; }

  private:
    template <size_t... i>
    static void call([[maybe_unused]] void** parameters, std::index_sequence<i...>) {
        function(*static_cast<P*>(parameters[i])...);
    }
};

}  // namespace fake_maca

// mxcc writes one for each kernel; `bound`: of __launch_bounds__, 0 where there is none.
#define FAKE_MACA_KERNEL(name, bound)                                            \
    extern "C" FAKE_MACA_EXPORT const fake_maca::Kernel fake_maca_kernel_##name; \
    const fake_maca::Kernel fake_maca_kernel_##name = fake_maca::Entry<&name>::kernel(bound);
// And one for each variable that the host may ask for.
#define FAKE_MACA_VARIABLE(name)                                       \
    extern "C" FAKE_MACA_EXPORT void* const fake_maca_variable_##name; \
    void* const fake_maca_variable_##name = &name;

// ---- threads ----

#define threadIdx (fake_maca_services->thread()->thread)
#define blockIdx (fake_maca_services->thread()->block)
#define blockDim (fake_maca_services->thread()->block_dim)
#define gridDim (fake_maca_services->thread()->grid_dim)
static constexpr int warpSize = fake_maca::kLanes;

inline void __syncthreads() { fake_maca_services->barrier(0); }
inline int __syncthreads_count(int predicate) { return fake_maca_services->barrier(predicate != 0); }
inline int __syncthreads_and(int predicate) { return fake_maca_services->barrier(predicate == 0) == 0; }
inline int __syncthreads_or(int predicate) { return fake_maca_services->barrier(predicate != 0) != 0; }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
inline long long clock64() { return static_cast<long long>(std::clock()); }
[[noreturn]] inline void __trap() { fake_maca_services->fail(719, "a trap"); }
#undef assert
#define assert(condition) ((condition) ? (void)0 : fake_maca_services->fail(710, #condition))

// ---- waves ----

using fake_maca_mask = unsigned long long;

inline int __lane_id() { return fake_maca_services->thread()->lane; }
inline fake_maca_mask __activemask() { return fake_maca_services->lanes(); }
inline void __syncwarp(fake_maca_mask mask = ~0ULL) { fake_maca_services->exchange(mask, 0, 0, nullptr); }
inline fake_maca_mask __ballot_sync(fake_maca_mask mask, int predicate) {
    uint64_t votes = 0;
    fake_maca_services->exchange(mask, predicate != 0, __lane_id(), &votes);
    return votes;
}
inline int __any_sync(fake_maca_mask mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(fake_maca_mask mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }

namespace fake_maca {

template <typename T>
T from_lane(fake_maca_mask mask, T value, int lane) {
    static_assert(sizeof(T) <= 8);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = fake_maca_services->exchange(mask, bits, lane, nullptr);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

}  // namespace fake_maca

template <typename T>
T __shfl_sync(fake_maca_mask mask, T value, int source, int width = warpSize) {
    return fake_maca::from_lane(mask, value, (__lane_id() & ~(width - 1)) + (source & (width - 1)));
}
template <typename T>
T __shfl_up_sync(fake_maca_mask mask, T value, unsigned delta, int width = warpSize) {
    const int lane = __lane_id();
    const int from = lane - static_cast<int>(delta);
    return fake_maca::from_lane(mask, value, from < (lane & ~(width - 1)) ? lane : from);
}
template <typename T>
T __shfl_down_sync(fake_maca_mask mask, T value, unsigned delta, int width = warpSize) {
    const int lane = __lane_id();
    const bool inside = (lane & (width - 1)) + static_cast<int>(delta) < width;
    return fake_maca::from_lane(mask, value, inside ? lane + static_cast<int>(delta) : lane);
}
template <typename T>
T __shfl_xor_sync(fake_maca_mask mask, T value, int bits, int width = warpSize) {
    const int lane = __lane_id();
    const int from = lane ^ bits;
    return fake_maca::from_lane(mask, value, from >= (lane & ~(width - 1)) + width ? lane : from);
}

// ---- bits and numbers ----

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
template <typename A, typename B, typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> min(A a, B b) {
    return b < a ? b : a;
}
template <typename A, typename B, typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
inline std::common_type_t<A, B> max(A a, B b) {
    return a < b ? b : a;
}
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

// ---- atomics ----

namespace fake_maca {

// Changes what is at an address; gives what was there.
template <typename T, typename Change>
T update(T* at, const Change& change) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
    auto* place = reinterpret_cast<Bits*>(at);
    Bits before = __atomic_load_n(place, __ATOMIC_SEQ_CST);
    while (true) {
        T old;
        std::memcpy(&old, &before, sizeof(T));
        const T next = change(old);
        Bits after;
        std::memcpy(&after, &next, sizeof(T));
        if (__atomic_compare_exchange_n(place, &before, after, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
}

}  // namespace fake_maca

// For the types that CUDA has them for, and no others: sources may have their own for the rest.
#define FAKE_MACA_ATOMIC(name, T, result)                                 \
    inline T name(T* at, T value) {                                       \
        return fake_maca::update(at, [&](T old) -> T { return result; }); \
    }
using fake_maca_long = long long;
using fake_maca_word = unsigned long long;
#define FAKE_MACA_ATOMIC_OF_INTEGERS(name, result) \
    FAKE_MACA_ATOMIC(name, int, result)            \
    FAKE_MACA_ATOMIC(name, unsigned, result)       \
    FAKE_MACA_ATOMIC(name, fake_maca_word, result)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicAdd, old + value)
FAKE_MACA_ATOMIC(atomicAdd, float, old + value)
FAKE_MACA_ATOMIC(atomicAdd, double, old + value)
FAKE_MACA_ATOMIC(atomicSub, int, old - value)
FAKE_MACA_ATOMIC(atomicSub, unsigned, old - value)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicMin, value < old ? value : old)
FAKE_MACA_ATOMIC(atomicMin, fake_maca_long, value < old ? value : old)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicMax, old < value ? value : old)
FAKE_MACA_ATOMIC(atomicMax, fake_maca_long, old < value ? value : old)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicAnd, old& value)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicOr, old | value)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicXor, old ^ value)
FAKE_MACA_ATOMIC_OF_INTEGERS(atomicExch, (static_cast<void>(old), value))
FAKE_MACA_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
FAKE_MACA_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
FAKE_MACA_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef FAKE_MACA_ATOMIC_OF_INTEGERS
#undef FAKE_MACA_ATOMIC
#define FAKE_MACA_EXCHANGE(T)                                                               \
    inline T atomicCAS(T* at, T expected, T value) {                                        \
        return fake_maca::update(at, [&](T old) { return old == expected ? value : old; }); \
    }
FAKE_MACA_EXCHANGE(int)
FAKE_MACA_EXCHANGE(unsigned)
FAKE_MACA_EXCHANGE(fake_maca_word)
FAKE_MACA_EXCHANGE(unsigned short)
#undef FAKE_MACA_EXCHANGE
