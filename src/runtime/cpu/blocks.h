// Blocks of threads on the CPU: the items of a block are fibres of one thread of the host, which switches between them
// where they wait for each other. What generated code calls for it is in codegen/host_symbols.def.
#pragma once

#include <cstdint>

#include "codegen/backend.h"

namespace weft::runtime {

// Lanes of a warp.
inline constexpr int kWarp = 32;

// What the code of an item reads of its place (device/snippets/host_threads.h has the same).
struct ThreadState {
    int32_t thread = 0;  // in its block
    int32_t block = 0;
    int32_t block_dim = 0;
    int32_t grid_dim = 0;  // blocks of the launch
    char* shared = nullptr;
};

}  // namespace weft::runtime
