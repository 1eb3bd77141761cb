// Binary search in a sorted one-dimensional array: weft_lower_bound_<scalar>, for every scalar type.
#pragma once

#include "scalars.h"

namespace weft_device {

template <class T>
WEFT_DEVICE inline int32_t lower_bound(const void* data, int64_t stride, int32_t begin, int32_t end, T value) {
    const int32_t last = begin < end ? end - 1 : begin;  // what is above all elements is sorted in at the last one
    while (begin < end) {
        const int32_t middle = begin + (end - begin) / 2;
        T element;
        __builtin_memcpy(&element, static_cast<const char*>(data) + middle * stride, sizeof(T));
        if (element < value) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin < last ? begin : last;
}

}  // namespace weft_device

#define WEFT_LOWER_BOUND(name, Parameter, Number)                                                                    \
    extern "C" WEFT_DEVICE int32_t weft_lower_bound_##name(const void* data, int64_t, int64_t stride, int32_t begin, \
                                                           int32_t end, Parameter value) {                           \
        return weft_device::lower_bound(data, stride, begin, end, Number{value});                                    \
    }
WEFT_EACH_SCALAR(WEFT_LOWER_BOUND)
#undef WEFT_LOWER_BOUND
