// What a kernel that was compiled for the host and the stand-in for MACA's runtime know of each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_maca {

constexpr int kLanes = 64;

struct Index {
    unsigned x, y, z;
};

// Of the thread that runs.
struct Thread {
    Index thread, block, block_dim, grid_dim;
    int lane;
};

struct Services {
    const Thread* (*thread)();
    // Waits for all threads of the block; gives how many gave what is not 0.
    int (*barrier)(int value);
    // Waits for the lanes of `mask`; gives the value of lane `source` (the own one where that takes no part), and which
    // lanes' values are not 0.
    uint64_t (*exchange)(uint64_t mask, uint64_t value, int source, uint64_t* votes);
    uint64_t (*lanes)();  // of the wave, that have not ended
    __attribute__((noreturn)) void (*fail)(int result, const char* text);
};

struct Kernel {
    void (*call)(void** parameters);
    size_t count;  // of parameters
    const size_t* sizes;
    const size_t* alignments;
    int bound;  // threads of a block, 0: not said
};

}  // namespace fake_maca
