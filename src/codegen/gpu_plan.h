// How a kernel runs on a GPU where the launch allows more than one item a thread: decided on the IR, so that who
// launches and who emits agree.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "ir/ir.h"

namespace weft::codegen {

// What a launch promises to a kernel that was compiled with Options::dense.
inline constexpr int kDenseAlignment = 16;  // arrays begin at multiples of it, and have no gaps
inline constexpr int kWarp = 32;            // blocks are multiples of it where there are sums

// Of launches that are narrow besides: the most that an extent is, of the launch and of arrays; the bytes of an array
// are under 2^31, so that places in arrays are found in 32 bits. What the kernel writes is no memory of another array.
inline constexpr int64_t kBoundedExtent = 1 << 29;

// Threads of a block that code is made for where it needs a bound and the user sets none: MetaX's compiler assumes the
// first itself, and a launch beyond what was said compiles anew.
inline constexpr int kUsualBound = 512;
inline constexpr int kLargestBound = 1024;

enum class Promise : uint8_t { None, Dense, Narrow };

// What launches must know of it.
struct GpuLaunch {
    // Neighbouring items that a thread takes together, so that its loads and stores are wide.
    int items = 1;
    // There are sums (below): a bounded number of blocks, each thread taking items until none are left.
    bool has_sums = false;
    // The thread coordinates that the module asks for; the launch has no more dimensions.
    int coordinates = 0;
    // Code for narrow launches is another than for dense ones.
    bool narrows = false;
    // No code asks which threads make a block: small launches may be cut into more and smaller blocks than was asked.
    bool free_blocks = false;

    Promise usual() const { return narrows ? Promise::Narrow : Promise::Dense; }
};

struct GpuPlan : GpuLaunch {
    // Atomic ops that add to one address for all items, without use for the old value: threads sum for themselves, then
    // warps together.
    std::vector<const ir::Op*> sums;
};

// Whether a Ref is to a place in an array that the kernel is given.
bool is_in_given_array(const ir::Value* ref);
// Whether an Atomic adds several float32 to such a place, and nobody asks what was there.
bool adds_vector(const ir::Op& op, const std::unordered_set<const ir::Value*>& used);

GpuPlan plan_for_gpu(const ir::Module& module, const ir::Function& kernel);

}  // namespace weft::codegen
