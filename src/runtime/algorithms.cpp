// Prefix sums and sorts; sums are in reductions.cpp, run lengths in run_lengths.cpp.
#include "runtime/algorithms.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/host_copies.h"
#include "runtime/prefix_sum.h"
#include "runtime/radix_sort.h"

namespace weft::runtime {
namespace {

template <typename T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

std::vector<PairRange> segments_of(const Array& starts, const Array& ends, int64_t count) {
    std::vector<PairRange> out;
    for (int64_t k = 0; k < starts.size(); ++k) {
        const auto begin = read<int32_t>(starts.data() + k * starts.strides()[0]);
        const auto end = read<int32_t>(ends.data() + k * ends.strides()[0]);
        if (begin < 0 || begin > end || end > count) {
            throw UserError(ErrorKind::Value, "Invalid segment range at index " + std::to_string(k) + ": [" +
                                                  std::to_string(begin) + ", " + std::to_string(end) + ") of " +
                                                  std::to_string(count) + " elements");
        }
        out.push_back({begin, int64_t{end} - begin});
    }
    return out;
}

bool lie_apart(std::vector<PairRange> ranges) {
    std::ranges::sort(ranges, {}, [](const PairRange& range) { return std::pair(range.begin, range.count); });
    int64_t end = 0;
    for (const PairRange& range : ranges) {
        if (range.begin < end) return false;
        end = range.begin + range.count;
    }
    return true;
}

}  // namespace

void scan(const Array& from, const Array& to, bool inclusive) {
    HostCopies host;
    const Array in = host.read(from);
    const Array out = host.changed(to);
    if (in.size() == 0) return;
    out.before_write();
    prefix_sums(in, out, inclusive);
    host.finish();
}

void sort_pairs(const Array& all_keys, const Array& all_values, int64_t begin, int64_t count, int begin_bit,
                int end_bit) {
    if (count < 2) return;
    HostCopies host;
    const Array keys = host.changed(all_keys);
    const Array values = host.changed(all_values);
    keys.before_write();
    values.before_write();
    const PairRange range{begin, count};
    radix_sort(keys.data(), keys.element().element(), values.data(), ir::size_of(values.element()), {&range, 1},
               begin_bit, end_bit);
    host.finish();
}

void sort_segments(const Array& all_keys, const Array& all_values, int64_t count, const Array& starts_in,
                   const Array& ends_in) {
    HostCopies host;
    const Array starts = host.read(starts_in);
    const Array ends = host.read(ends_in);
    const std::vector<PairRange> segments = segments_of(starts, ends, count);
    const Array keys = host.changed(all_keys);
    const Array values = host.changed(all_values);
    keys.before_write();
    values.before_write();
    const auto sort = [&](std::span<const PairRange> ranges) {
        radix_sort(keys.data(), keys.element().element(), values.data(), ir::size_of(values.element()), ranges, 0,
                   ir::scalar_bits(keys.element().element()));
    };
    if (lie_apart(segments)) {
        sort(segments);
    } else {
        for (const PairRange& segment : segments) sort({&segment, 1});
    }
    host.finish();
}

}  // namespace weft::runtime
