// What generated code calls of its runtime, for GPUs, where no host serves it: stacks of reverse mode in the device's
// heap, and the report of a failed assert. On CPUs the host has these (src/runtime/cpu/host_symbols.cpp).
#pragma once

#include "types.h"

#ifdef __NVPTX__

namespace weft_device {

constexpr int32_t kFailureNumbers = 16;

// In memory of the host, which reads it after the launch (src/runtime/cuda/failure.h).
struct Failure {
    int32_t state;  // 0: none, 1: being written, 2: written
    int32_t count;
    const char* format;  // in the device's memory
    int64_t item;
    int64_t dims[8];
    int32_t ndim;
    int32_t unused;
    int64_t numbers[kFailureNumbers];
};

}  // namespace weft_device

extern "C" void* malloc(uint64_t bytes);
extern "C" void free(void* block);

// Set by whoever loads the code.
extern "C" weft_device::Failure* weft_failure;
weft_device::Failure* weft_failure = nullptr;

// The first failure is kept. `shape`: codegen's LaunchShape, eight extents and the number of dimensions; may be null.
extern "C" void weft_report_failure(const char* format, const void* shape, int64_t item, const int64_t* numbers,
                                    int32_t count) {
    weft_device::Failure* failure = weft_failure;
    if (failure == nullptr || __nvvm_atom_cas_gen_i(&failure->state, 0, 1) != 0) return;
    failure->format = format;
    failure->item = item;
    failure->count = count < weft_device::kFailureNumbers ? count : weft_device::kFailureNumbers;
    for (int32_t i = 0; i < failure->count; ++i) failure->numbers[i] = numbers[i];
    const auto* extents = static_cast<const int64_t*>(shape);
    for (int32_t i = 0; i < 8; ++i) failure->dims[i] = extents == nullptr ? 1 : extents[i];
    failure->ndim = extents == nullptr ? 1 : *reinterpret_cast<const int32_t*>(extents + 8);
    __nvvm_membar_sys();
    *static_cast<volatile int32_t*>(&failure->state) = 2;
}

extern "C" void* weft_stack_grow(void* old, uint64_t old_bytes, uint64_t bytes) {
    void* block = malloc(bytes);
    if (block == nullptr) {
        weft_report_failure("no memory for the values that the backward pass keeps: see the device's heap size",
                            nullptr, 0, nullptr, 0);
        __nvvm_exit();
    }
    const auto* from = static_cast<const uint32_t*>(old);
    auto* to = static_cast<uint32_t*>(block);
    for (uint64_t i = 0; i < old_bytes / 4; ++i) to[i] = from[i];
    for (uint64_t i = old_bytes / 4 * 4; i < old_bytes; ++i) {
        static_cast<char*>(block)[i] = static_cast<const char*>(old)[i];
    }
    free(old);
    return block;
}

extern "C" void weft_stack_free(void* block) { free(block); }

#endif
