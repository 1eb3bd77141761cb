#include "runtime/graph.h"

#include <cstring>

#include "runtime/algorithms.h"
#include "runtime/copy.h"
#include "runtime/launch.h"

namespace weft::runtime {
namespace {

bool holds(const Array& condition) {
    int32_t value = 0;
    std::memcpy(&value, condition.data(), sizeof(value));
    return value != 0;
}

struct Runner {
    void operator()(const LaunchStep& s) const {
        for (const Array& array : s.holds.written) array.before_write();
        run_on_host(*s.code, s.arguments(), s.shape);
    }
    void operator()(const FillStep& s) const {
        if (s.value.empty()) {
            fill_zero(s.to);
        } else {
            fill(s.to, s.value.data());
        }
    }
    void operator()(const CopyStep& s) const { copy(s.to, s.from); }
    void operator()(const ScanStep& s) const { scan(s.in, s.out, s.inclusive); }
    void operator()(const SortStep& s) const { sort_pairs(s.keys, s.values, s.begin, s.count, s.begin_bit, s.end_bit); }
    void operator()(const SegmentSortStep& s) const { sort_segments(s.keys, s.values, s.count, s.starts, s.ends); }
    void operator()(const RunsStep& s) const { encode_runs(s.values, s.count, s.run_values, s.run_lengths, s.runs); }
    void operator()(const SumStep& s) const { sum_along(s.values, s.out, s.axis, s.count); }
    void operator()(const InnerStep& s) const { inner_along(s.a, s.b, s.out, s.axis, s.count); }
    void operator()(const BranchStep& s) const {
        const std::shared_ptr<Graph>& chosen = holds(s.condition) ? s.yes : s.no;
        if (chosen != nullptr) chosen->run();
    }
    void operator()(const LoopStep& s) const {
        while (holds(s.condition)) s.body->run();
    }
    void operator()(const PartStep& s) const { s.graph->run(); }
};

}  // namespace

void run(const Step& step) { std::visit(Runner(), step); }

void Graph::add_launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape, LaunchHolds holds) {
    const auto bytes = static_cast<size_t>(code.block_bytes());
    auto block = std::make_shared<std::vector<double>>(bytes / sizeof(double) + 2);
    if (bytes > 0) std::memcpy(block->data(), arguments, bytes);
    add(LaunchStep{&code, std::move(block), shape, std::move(holds)});
}

void Graph::run() const {
    for (const Step& step : steps_) runtime::run(step);
}

}  // namespace weft::runtime
