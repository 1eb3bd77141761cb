// Storage of the stacks of reverse mode, in the heap of the device.
#pragma once

#include "gpu_failures.h"

namespace weft {

WEFT_DEVICE inline void* stack_grow(void* old, int64_t old_bytes, int64_t bytes) {
    char* const out = (char*)malloc(bytes);
    if (out == nullptr) {
        report("no memory for the values that the backward pass keeps: see the device's heap size", nullptr, 0);
        return nullptr;
    }
    for (int64_t i = 0; i < old_bytes; ++i) out[i] = ((const char*)old)[i];
    free(old);
    return out;
}
WEFT_DEVICE inline void stack_free(void* block) { free(block); }
WEFT_DEVICE int64_t stack_keep(const void* block, int64_t bytes);  // CPUs alone keep stacks

}  // namespace weft
