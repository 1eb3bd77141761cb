// Runs of equal values, found by blocks side by side: the runs that begin in each block are counted, then written from
// where those of the blocks before it end. A run's length is known where the next one begins.
#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/algorithms.h"
#include "runtime/cpu/wide.h"
#include "runtime/host_copies.h"
#include "runtime/overlaps.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kBlock = int64_t{1} << 15;

using Integers = Numbers<int32_t>;

struct Block {
    int64_t runs = 0;    // that begin in it; then before it
    int64_t first = -1;  // where the first and the last of them begin
    int64_t last = -1;
};

// Dense ones are read without their stride.
template <bool kDense>
int32_t read(const Integers& values, int64_t i) {
    return kDense ? Integers{values.data, sizeof(int32_t)}.read(i) : values.read(i);
}

// The value before a place; of the first one another than its own.
int32_t before(const Integers& values, int64_t i) { return i == 0 ? ~values.read(0) : values.read(i - 1); }

template <bool kDense>
int64_t count_runs(const Integers& values, int64_t begin, int64_t end) {
    int64_t runs = 0;
    int32_t previous = before(values, begin);
    for (int64_t i = begin; i < end; ++i) {
        const int32_t value = read<kDense>(values, i);
        runs += value != previous ? 1 : 0;
        previous = value;
    }
    return runs;
}

template <bool kDense>
void write_runs(const Integers& values, int64_t begin, int64_t end, const Integers& run_values,
                const Integers& run_lengths, Block& block) {
    int64_t run = block.runs;
    int32_t previous = before(values, begin);
    Block found;
    for (int64_t i = begin; i < end; ++i) {
        const int32_t value = read<kDense>(values, i);
        if (value == previous) continue;
        previous = value;
        run_values.write(run, value);
        if (found.first < 0) {
            found.first = i;
        } else {
            run_lengths.write(run - 1, static_cast<int32_t>(i - found.last));
        }
        found.last = i;
        ++run;
    }
    block.first = found.first;
    block.last = found.last;
}

template <bool kDense>
int64_t encode(const Integers& values, int64_t count, const Integers& run_values, const Integers& run_lengths) {
    std::vector<Block> blocks(static_cast<size_t>((count + kBlock - 1) / kBlock));
    const auto each = [&](const auto& work) {
        Runtime::get().pool().parallel_for(static_cast<int64_t>(blocks.size()), 0, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) {
                work(blocks[static_cast<size_t>(k)], k * kBlock, std::min(count, (k + 1) * kBlock));
            }
        });
    };
    each([&](Block& block, int64_t begin, int64_t end) { block.runs = count_runs<kDense>(values, begin, end); });
    int64_t runs = 0;
    for (Block& block : blocks) runs += std::exchange(block.runs, runs);
    each([&](Block& block, int64_t begin, int64_t end) {
        write_runs<kDense>(values, begin, end, run_values, run_lengths, block);
    });
    int64_t open = 0;
    for (const Block& block : blocks) {
        if (block.first > 0) run_lengths.write(block.runs - 1, static_cast<int32_t>(block.first - open));
        if (block.first >= 0) open = block.last;
    }
    if (runs > 0) run_lengths.write(runs - 1, static_cast<int32_t>(count - open));
    return runs;
}

}  // namespace

void encode_runs(const Array& of, int64_t count, const Array& values_to, const Array& lengths_to,
                 const Array& count_to) {
    HostCopies host;
    const Array run_values = host.changed(values_to);
    const Array run_lengths = host.changed(lengths_to);
    const Array runs = host.changed(count_to);
    for (const Array* written : {&run_values, &run_lengths, &runs}) written->before_write();
    const Array values = readable_beside(host.read(of), {&run_values, &run_lengths});
    const auto integers = [](const Array& array) { return Integers{array.data(), array.strides()[0]}; };
    const Integers in = integers(values);
    const int64_t found = in.are_dense() ? encode<true>(in, count, integers(run_values), integers(run_lengths))
                                         : encode<false>(in, count, integers(run_values), integers(run_lengths));
    Integers{runs.data(), 0}.write(0, static_cast<int32_t>(found));
    host.finish();
}

}  // namespace weft::runtime
