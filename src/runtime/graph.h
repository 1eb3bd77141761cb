// Recorded work: launches, copies, fills and algorithms, with branches and loops that read their condition from memory.
// Replayed without Python. A recording does not run what it records. Not here: recordings in files (graph_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "codegen/backend.h"
#include "runtime/array.h"
#include "runtime/kernel.h"

namespace weft::runtime {

class Graph;

// What a launch holds on to while it is recorded.
struct LaunchHolds {
    std::vector<Array> written;                    // the arrays that the kernel writes
    std::vector<std::shared_ptr<Storage>> memory;  // what the pointers of its arguments lead to
    std::shared_ptr<void> keep;                    // the owners of the memory and of the code
};

struct LaunchStep {
    Code* code;
    std::shared_ptr<std::vector<double>> block;  // the packed arguments, aligned as kernels expect them
    codegen::LaunchShape shape;
    LaunchHolds holds;

    std::byte* arguments() const { return reinterpret_cast<std::byte*>(block->data()); }
};
struct FillStep {
    Array to;
    std::vector<std::byte> value;  // of one element; empty: zeros
};
struct CopyStep {
    Array to, from;
};
struct ScanStep {
    Array in, out;
    bool inclusive;
};
struct SortStep {
    Array keys, values;
    int64_t begin, count;
    int32_t begin_bit, end_bit;
};
struct RunsStep {
    Array values;
    int64_t count;
    Array run_values, run_lengths, runs;
};
struct SumStep {
    Array values, out;
    int32_t axis;
    int64_t count;
};
struct InnerStep {
    Array a, b, out;
    int32_t axis;
    int64_t count;
};
// `yes` or `no` (either may be null) by the first element of `condition`, an array of int32.
struct BranchStep {
    Array condition;
    std::shared_ptr<Graph> yes, no;
};
// `body` for as long as the element is not zero.
struct LoopStep {
    Array condition;
    std::shared_ptr<Graph> body;
};
// Sorts inside the segments that lie in `starts` and `ends` when the step runs.
struct SegmentSortStep {
    Array keys, values;
    int64_t count;
    Array starts, ends;
};
struct PartStep {
    std::shared_ptr<Graph> graph;
};
using Step = std::variant<LaunchStep, FillStep, CopyStep, ScanStep, SortStep, RunsStep, SumStep, InnerStep, BranchStep,
                          LoopStep, PartStep, SegmentSortStep>;

// Throws what a launch throws.
void run(const Step& step);

class Graph {
  public:
    void add(Step step) { steps_.push_back(std::move(step)); }
    // `arguments` is the packed block, which is copied.
    void add_launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape, LaunchHolds holds);

    size_t size() const { return steps_.size(); }
    std::span<const Step> steps() const { return steps_; }
    // In order; throws what a launch throws.
    void run() const;

  private:
    std::vector<Step> steps_;
};

}  // namespace weft::runtime
