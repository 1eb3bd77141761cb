// How a kernel runs on a GPU where the launch allows more than one item a thread: decided on the IR, so that who
// launches and who emits agree.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace weft::codegen {

// What a launch promises to a kernel that was compiled with Options::dense.
inline constexpr int kDenseAlignment = 16;  // arrays begin at multiples of it, and have no gaps
inline constexpr int kWarp = 32;            // blocks are multiples of it where there are sums

struct GpuPlan {
    // Neighbouring items that a thread takes together, so that its loads and stores are wide.
    int items = 1;
    // Atomic ops that add to one address for all items, without use for the old value: threads sum for themselves, then
    // warps together. Such kernels run in a bounded number of blocks, each thread taking items until none are left.
    std::vector<const ir::Op*> sums;
    // The thread coordinates that the module asks for; the launch has no more dimensions.
    int coordinates = 0;
};

GpuPlan plan_for_gpu(const ir::Module& module, const ir::Function& kernel);

}  // namespace weft::codegen
