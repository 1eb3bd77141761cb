// In blocks: the sum of each, then the prefix sums of each from where the blocks before it end. Floats are summed in
// double precision, in an order that depends on the array's length alone; integers wrap.
#include "runtime/prefix_sum.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kBlock = int64_t{1} << 16;
constexpr int64_t kGroup = 8;  // whose sums are taken apart from the running one, which waits for each addition

// Numbers of one component, from some place on.
template <typename T>
struct Numbers {
    std::byte* data;
    int64_t stride;

    T read(int64_t i) const {
        T value;
        std::memcpy(&value, data + i * stride, sizeof(T));
        return value;
    }
    void write(int64_t i, T value) const { std::memcpy(data + i * stride, &value, sizeof(T)); }
    Numbers from(int64_t i) const { return {data + i * stride, stride}; }
};

// Integers as unsigned ones, which wrap.
template <typename T, bool kFloats = std::is_floating_point_v<T>>
struct SumOf {
    using type = double;
};
template <typename T>
struct SumOf<T, false> {
    using type = std::make_unsigned_t<T>;
};

template <typename T, typename Sum = typename SumOf<T>::type>
Sum block_sum(const Numbers<T>& in, int64_t begin, int64_t end) {
    std::array<Sum, kGroup> sums{};
    int64_t i = begin;
    for (; i + kGroup <= end; i += kGroup) {
        const Numbers<T> group = in.from(i);
#pragma GCC unroll 8
        for (size_t k = 0; k < kGroup; ++k) sums[k] += static_cast<Sum>(group.read(static_cast<int64_t>(k)));
    }
    Sum out{};
    for (const Sum sum : sums) out += sum;
    for (; i < end; ++i) out += static_cast<Sum>(in.read(i));
    return out;
}

template <bool kInclusive, typename T, typename Sum>
void scan_block(const Numbers<T>& in, const Numbers<T>& out, int64_t begin, int64_t end, Sum before) {
    int64_t i = begin;
    for (; i + kGroup <= end; i += kGroup) {
        const Numbers<T> from = in.from(i);
        const Numbers<T> to = out.from(i);
        std::array<Sum, kGroup + 1> sums{};
#pragma GCC unroll 8
        for (size_t k = 0; k < kGroup; ++k) {
            sums[k + 1] = sums[k] + static_cast<Sum>(from.read(static_cast<int64_t>(k)));
        }
#pragma GCC unroll 8
        for (size_t k = 0; k < kGroup; ++k) {
            to.write(static_cast<int64_t>(k), static_cast<T>(before + sums[kInclusive ? k + 1 : k]));
        }
        before += sums[kGroup];
    }
    for (; i < end; ++i) {
        const Sum next = before + static_cast<Sum>(in.read(i));
        out.write(i, static_cast<T>(kInclusive ? next : before));
        before = next;
    }
}

template <typename T, typename Sum = typename SumOf<T>::type>
void scan_numbers(const Numbers<T>& in, const Numbers<T>& out, int64_t count, bool inclusive) {
    ThreadPool& pool = Runtime::get().pool();
    const int64_t blocks = (count - 1) / kBlock + 1;
    std::vector<Sum> starts(static_cast<size_t>(blocks));
    const auto by_blocks = [&](const auto& work) {
        pool.parallel_for(blocks, 0, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) work(k, k * kBlock, std::min(count, (k + 1) * kBlock));
        });
    };
    if (blocks > 1) {
        by_blocks([&](int64_t k, int64_t begin, int64_t end) {
            starts[static_cast<size_t>(k)] = block_sum<T>(in, begin, end);
        });
    }
    Sum sum{};
    for (Sum& start : starts) sum += std::exchange(start, sum);
    by_blocks([&](int64_t k, int64_t begin, int64_t end) {
        const Sum before = starts[static_cast<size_t>(k)];
        if (inclusive) {
            scan_block<true>(in, out, begin, end, before);
        } else {
            scan_block<false>(in, out, begin, end, before);
        }
    });
}

template <typename T>
void scan_of(const Array& in, const Array& out, bool inclusive) {
    const int parts = in.element().is_scalar() ? 1 : in.element().part_count();
    for (int part = 0; part < parts; ++part) {
        const int64_t offset = part * static_cast<int64_t>(sizeof(T));
        scan_numbers<T>({in.data() + offset, in.strides()[0]}, {out.data() + offset, out.strides()[0]}, in.shape()[0],
                        inclusive);
    }
}

}  // namespace

void prefix_sums(const Array& in, const Array& out, bool inclusive) {
    if (in.size() == 0) return;
    switch (in.element().element()) {
        case ir::Scalar::I32:
            return scan_of<int32_t>(in, out, inclusive);
        case ir::Scalar::I64:
            return scan_of<int64_t>(in, out, inclusive);
        case ir::Scalar::F32:
            return scan_of<float>(in, out, inclusive);
        case ir::Scalar::F64:
            return scan_of<double>(in, out, inclusive);
        default:
            throw InternalError("a prefix sum of a type that has none");
    }
}

}  // namespace weft::runtime
