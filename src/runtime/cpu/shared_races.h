// Finds threads of a block that touch the same byte of shared memory with nothing between them that waits, one of them
// writing. Barriers order all threads, operations of warps those of one warp; atomics may meet each other. A write that
// changes nothing is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/shared_access.h"

namespace weft::runtime {

class SharedRaces {
  public:
    // Of a block of so many threads, whose shared memory is here.
    SharedRaces(const char* memory, int64_t bytes, int64_t threads);
    // All threads have waited for each other.
    void barrier() { barrier_ = ++clock_; }
    // Threads of one warp have: next(), then each of them.
    void warp(int32_t thread) { waited_[static_cast<size_t>(thread)] = clock_; }
    void next() { ++clock_; }

    // An access by a thread; what is wrong with it, or "". `place`: what a message says of where it is. `stored`: what
    // is about to be written, if that is known.
    std::string access(const char* address, int64_t bytes, codegen::SharedAccess kind, const char* place,
                       const char* stored, int32_t thread);

  private:
    struct Touch {
        uint64_t time = 0;  // 0: none
        int32_t thread = 0;
        bool atomic = false;
        const char* place = nullptr;
    };
    // The last write, the last read, and the last read by another thread than that.
    struct Byte {
        Touch write;
        Touch read;
        Touch other_read;
    };

    bool ordered(const Touch& before, int32_t thread) const;

    const char* memory_;
    std::vector<Byte> bytes_;
    std::vector<uint64_t> waited_;  // by thread: when it last waited for its warp
    uint64_t clock_ = 1;
    uint64_t barrier_ = 0;
};

}  // namespace weft::runtime
