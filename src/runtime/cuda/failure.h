// The report of a failed assert, written by a kernel (device/gpu_runtime.h) in memory that the host and the device
// share.
#pragma once

#include <cstdint>

namespace weft::runtime::cuda {

struct Failure {
    static constexpr int32_t kNumbers = 16;
    int32_t state;  // 0: none, 1: being written, 2: written
    int32_t count;
    uint64_t format;  // of the message, as printf's: an address in the device's memory
    int64_t item;
    int64_t dims[8];
    int32_t ndim;
    int32_t unused;
    int64_t numbers[kNumbers];
};

// The name of the pointer to it in compiled code.
inline constexpr const char* kFailureSymbol = "weft_failure";

}  // namespace weft::runtime::cuda
