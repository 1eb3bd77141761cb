// The items of a launch and the loops of printed C++.
#pragma once

#include "memory.h"

namespace weft {

struct launch_shape {
    int64_t dims[8];
    int32_t ndim;
    uint32_t exclusive;
    int32_t block_dim;
    int32_t streams;
};
struct item_t {
    const launch_shape* shape;
    int64_t linear;
    int32_t at[8];
};

// begin, begin + step, ... before end; a step of zero has no turn. The index cannot wrap.
template <class T>
struct range {
    T index, end, step;
    bool more;
    WEFT_DEVICE range(T begin, T end, T step)
        : index(begin), end(end), step(step), more(step > 0 ? begin < end : step < 0 && begin > end) {}
    WEFT_DEVICE void next() {
        const uint64_t left = step > 0 ? uint64_t(int64_t(end)) - uint64_t(int64_t(index))
                                       : uint64_t(int64_t(index)) - uint64_t(int64_t(end));
        const uint64_t stride = step > 0 ? uint64_t(int64_t(step)) : 0 - uint64_t(int64_t(step));
        more = left > stride;
        if (more) index = add(index, step);
    }
};

}  // namespace weft
