// How a GPU runs the items of a launch, one thread an item, and what of their memory its own functions do.
#pragma once

#include "items.h"

namespace weft {

// --- the atomics that it has ---

#define WEFT_NATIVE_ATOMIC(name, function, T, Word) \
    WEFT_DEVICE inline T atomic_##name(T* place, T value) { return T(::function((Word*)place, (Word)value)); }
WEFT_NATIVE_ATOMIC(add, atomicAdd, float, float)
WEFT_NATIVE_ATOMIC(add, atomicAdd, double, double)
WEFT_NATIVE_ATOMIC(add, atomicAdd, int64_t, unsigned long long)
WEFT_NATIVE_ATOMIC(add, atomicAdd, uint64_t, unsigned long long)
#define WEFT_NATIVE_ATOMICS(T, Word)            \
    WEFT_NATIVE_ATOMIC(min, atomicMin, T, Word) \
    WEFT_NATIVE_ATOMIC(max, atomicMax, T, Word) \
    WEFT_NATIVE_ATOMIC(and, atomicAnd, T, Word) \
    WEFT_NATIVE_ATOMIC(or, atomicOr, T, Word)   \
    WEFT_NATIVE_ATOMIC(xor, atomicXor, T, Word) \
    WEFT_NATIVE_ATOMIC(exchange, atomicExch, T, Word)
WEFT_NATIVE_ATOMIC(add, atomicAdd, int32_t, int)
WEFT_NATIVE_ATOMIC(add, atomicAdd, uint32_t, unsigned)
WEFT_NATIVE_ATOMICS(int32_t, int)
WEFT_NATIVE_ATOMICS(uint32_t, unsigned)
WEFT_NATIVE_ATOMICS(uint64_t, unsigned long long)

// --- items ---

// The kernel's parameters, as runtime/launch_record.h packs them.
template <int Size>
struct block {
    alignas(8) char bytes[Size];
};
template <class T, int Size>
WEFT_DEVICE inline T argument(const block<Size>& arguments, int offset) {
    T out;
    __builtin_memcpy((void*)&out, arguments.bytes + offset, sizeof(T));
    return out;
}

WEFT_DEVICE inline item_t item_at(const launch_shape& shape, int64_t linear) {
    item_t item{&shape, linear, {}};
    int64_t rest = linear;
    for (int d = shape.ndim - 1; d > 0; --d) {
        const int64_t extent = shape.dims[d] < 1 ? 1 : shape.dims[d];
        item.at[d] = int32_t(rest % extent);
        rest /= extent;
    }
    item.at[0] = int32_t(rest);
    return item;
}
// A thread takes `Count` neighbouring items; `begin` counts such groups. Returns where the next thread's begin.
WEFT_DEVICE inline int64_t thread_number() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
template <int Count, class Body>
WEFT_DEVICE inline void for_items(const launch_shape& shape, int64_t begin, int64_t end, const Body& body) {
    const int64_t first = (begin + thread_number()) * Count;
    for (int64_t i = first; i < first + Count && i < end; ++i) body(item_at(shape, i));
}
// Groups a grid apart, until none are left.
template <int Count, class Body>
WEFT_DEVICE inline void for_all_items(const launch_shape& shape, int64_t begin, int64_t end, const Body& body) {
    const int64_t step = int64_t(gridDim.x) * blockDim.x;
    for (int64_t group = begin; (group + thread_number()) * Count < end; group += step) {
        for_items<Count>(shape, group, end, body);
    }
}

template <class T>
WEFT_DEVICE inline T from_lane_above(T value, int distance) {
    if constexpr (sizeof(T) == 8 && !is_float<T>) {
        return T(__shfl_down_sync(WEFT_ALL_LANES, (unsigned long long)value, distance, 32));
    } else {
        return __shfl_down_sync(WEFT_ALL_LANES, value, distance, 32);
    }
}

// What a thread adds to one address, first to itself, then with 32 lanes at its side, of which one adds it there.
template <class T>
struct sum {
    T value{};
    T* place = nullptr;
    WEFT_DEVICE void add(T* to, T more) {
        place = to;
        value = weft::add(value, more);
    }
    WEFT_DEVICE void finish() {
        uint64_t to = (uint64_t)place;
        for (int distance = 16; distance > 0; distance /= 2) {
            value = weft::add(value, from_lane_above(value, distance));
            const uint64_t other = from_lane_above(to, distance);
            if (other > to) to = other;  // all that have one have the same
        }
        if (threadIdx.x % 32 == 0 && to != 0) atomic_add((T*)to, value);
    }
};

}  // namespace weft
