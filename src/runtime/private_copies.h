// Sums of floats by several threads without locks: ranges of items add to copies of the arrays, which start at zero and
// are added to the arrays at the end, one after the other. Not here: whether that pays (launch.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/backend.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/kernel.h"

namespace weft::runtime {

class PrivateCopies {
  public:
    // None where an atomic of the kernel that items share is not such a sum, or where an array that it adds to is also
    // used otherwise, overlaps another one, or has gaps. `owned`: own elements (opt.h) are each item's.
    static std::optional<PrivateCopies> of(const Code& code, const std::byte* arguments, bool owned);

    // What one range needs.
    int64_t bytes() const { return bytes_; }

    // Runs `n` items from `first` on, in ranges of `grain`. In order: each range has copies of its own and they are
    // added by order of the items, so that the sums depend on `grain` alone. Otherwise each thread has.
    void run(ThreadPool& pool, codegen::KernelEntry entry, codegen::LaunchShape shape, int64_t first, int64_t n,
             int64_t grain, bool in_order);

  private:
    struct Target {
        int64_t offset;  // of the descriptor in the argument block
        std::byte* begin;
        int64_t bytes;
        int64_t place;  // in a range's copies
        bool wide;      // of doubles
    };

    PrivateCopies(const std::byte* arguments, int64_t block_bytes) : arguments_(arguments), block_bytes_(block_bytes) {}

    const std::byte* arguments_;
    int64_t block_bytes_;
    std::vector<Target> targets_;
    int64_t bytes_ = 0;
};

}  // namespace weft::runtime
