// How a host runs the items of a launch: one after the other, or, where they wait for each other, by blocks.
#pragma once

#include "items.h"

namespace weft {

template <class Body>
inline void for_items(const launch_shape* shape, int64_t begin, int64_t end, const Body& body) {
    item_t item{shape, begin, {}};
    if (begin >= end) return;
    int64_t rest = begin;
    for (int d = 7; d > 0; --d) {
        const int64_t extent = shape->dims[d] < 1 ? 1 : shape->dims[d];
        item.at[d] = int32_t(rest % extent);
        rest /= extent;
    }
    item.at[0] = int32_t(rest);
    for (; item.linear < end; ++item.linear) {
        body(item);
        int d = shape->ndim > 1 ? shape->ndim - 1 : 0;
        while (d > 0 && ++item.at[d] >= shape->dims[d]) item.at[d--] = 0;
        if (d == 0) ++item.at[0];
    }
}

// What __shared__ variables lie in (device/snippets/host_threads.h). There is one of it: blocks run one at a time.
__attribute__((section("weft_shared"), used)) static uint64_t shared_begin;
extern "C" __attribute__((visibility("hidden"))) char __start_weft_shared[], __stop_weft_shared[];

using items_function = void(const void*, const void*, int64_t, int64_t);
inline void run_blocks(items_function* items, const void* arguments, const launch_shape* shape, int64_t begin,
                       int64_t end) {
    static bool busy;
    while (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) pause_thread();
    weft_run_blocks(items, arguments, shape, begin, end, 0, 0);
    __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}
// The first thread of a block finds its memory zero.
inline void begin_thread() {
    if (*(const int32_t*)weft_this_thread() != 0) return;
    __builtin_memset(__start_weft_shared, 0, uint64_t(__stop_weft_shared - __start_weft_shared));
}

}  // namespace weft
