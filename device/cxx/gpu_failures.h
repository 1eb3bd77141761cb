// The report of a failed assert: in memory of the host, which reads it after the launch (src/runtime/cuda/failure.h).
#pragma once

#include "items.h"

namespace weft {

struct failure {
    int32_t state;  // 0: none, 1: being written, 2: written
    int32_t count;
    const char* format;
    int64_t item;
    int64_t dims[8];
    int32_t ndim;
    int32_t unused;
    int64_t numbers[16];
};

}  // namespace weft

// Set by whoever loads the code.
extern "C" {
WEFT_DEVICE weft::failure* weft_failure = nullptr;
}

namespace weft {

// The first failure is kept.
template <class... N>
WEFT_DEVICE inline void report(const char* format, const launch_shape* shape, int64_t item, N... numbers) {
    failure* const to = weft_failure;
    if (to == nullptr || ::atomicCAS((int*)&to->state, 0, 1) != 0) return;
    const int64_t all[] = {int64_t(numbers)..., 0};
    to->format = format;
    to->item = item;
    to->count = sizeof...(N) < 16 ? int(sizeof...(N)) : 16;
    for (int i = 0; i < to->count; ++i) to->numbers[i] = all[i];
    for (int i = 0; i < 8; ++i) to->dims[i] = shape == nullptr ? 1 : shape->dims[i];
    to->ndim = shape == nullptr ? 1 : shape->ndim;
    __threadfence_system();
    *(volatile int32_t*)&to->state = 2;
}

}  // namespace weft

// report() is there.
#define WEFT_REPORTS 1
