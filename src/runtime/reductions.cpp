// Sums and inner products along an axis. They are taken in double precision, by blocks, in an order that depends on the
// number of elements alone. All threads share the blocks of a long sum, or else the sums.
#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/algorithms.h"
#include "runtime/cpu/wide.h"
#include "runtime/host_copies.h"
#include "runtime/overlaps.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kBlock = int64_t{1} << 15;

// The sum of [0, count), of which sum_of(begin, end) is a block's.
template <typename SumOf>
double sum_blocks(int64_t count, const SumOf& sum_of) {
    if (count <= kBlock) return sum_of(0, count);
    const int64_t blocks = (count - 1) / kBlock + 1;
    std::vector<double> sums(static_cast<size_t>(blocks));
    Runtime::get().pool().parallel_for(blocks, 0, [&](int64_t first, int64_t last) {
        for (int64_t k = first; k < last; ++k) {
            sums[static_cast<size_t>(k)] = sum_of(k * kBlock, std::min(count, (k + 1) * kBlock));
        }
    });
    double out = 0;
    for (const double sum : sums) out += sum;
    return out;
}

template <bool kDense, typename T>
double sum_numbers(const Numbers<T>& in, int64_t count) {
    return sum_blocks(count, [&](int64_t begin, int64_t end) {
        double out = 0;
        run_widest([&](auto bytes) {
            constexpr size_t kBytes = decltype(bytes)::value;
            out = sum_range<double, kBytes>(
                begin, end,
                [&](auto& sums, int64_t i)
                    __attribute__((always_inline)) { sums += Group<double, kBytes>::template load<kDense>(in, i); },
                [&](int64_t i) { return static_cast<double>(in.read(i)); });
        });
        return out;
    });
}

template <bool kDense, typename T>
double sum_products(const Numbers<T>& a, const Numbers<T>& b, int64_t count) {
    return sum_blocks(count, [&](int64_t begin, int64_t end) {
        double out = 0;
        run_widest([&](auto bytes) {
            constexpr size_t kBytes = decltype(bytes)::value;
            out = sum_range<double, kBytes>(
                begin, end,
                [&](auto& sums, int64_t i) __attribute__((always_inline)) {
                    auto products = Group<double, kBytes>::template load<kDense>(a, i);
                    products *= Group<double, kBytes>::template load<kDense>(b, i);
                    sums += products;
                },
                [&](int64_t i) { return static_cast<double>(a.read(i)) * static_cast<double>(b.read(i)); });
        });
        return out;
    });
}

// Calls visit(offset in a, offset in b, offset in out) for each place of `out`, side by side.
template <typename Visit>
void each_place(const Array& a, const Array& b, const Array& out, int axis, const Visit& visit) {
    const int64_t grain = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, a.shape()[static_cast<size_t>(axis)]));
    Runtime::get().pool().parallel_for(out.size(), grain, [&](int64_t first, int64_t last) {
        for (int64_t place = first; place < last; ++place) {
            int64_t in_a = 0;
            int64_t in_b = 0;
            int64_t in_out = 0;
            int64_t left = place;
            for (int d = out.ndim() - 1; d >= 0; --d) {
                const auto k = static_cast<size_t>(d);
                const int64_t index = left % out.shape()[k];
                left /= out.shape()[k];
                in_out += index * out.strides()[k];
                if (d == axis) continue;
                in_a += index * a.strides()[k];
                in_b += index * b.strides()[k];
            }
            visit(in_a, in_b, in_out);
        }
    });
}

int parts_of(const Array& array) { return array.element().is_scalar() ? 1 : array.element().part_count(); }

template <typename T>
void sum_of(const Array& values, const Array& out, int axis, int64_t count) {
    const int64_t stride = values.strides()[static_cast<size_t>(axis)];
    each_place(values, values, out, axis, [&](int64_t from, int64_t, int64_t to) {
        for (int part = 0; part < parts_of(values); ++part) {
            const int64_t offset = part * static_cast<int64_t>(sizeof(T));
            const Numbers<T> in{values.data() + from + offset, stride};
            const double sum = in.are_dense() ? sum_numbers<true>(in, count) : sum_numbers<false>(in, count);
            Numbers<T>{out.data() + to + offset, 0}.write(0, static_cast<T>(sum));
        }
    });
}

template <typename T>
void inner_of(const Array& a, const Array& b, const Array& out, int axis, int64_t count) {
    const auto d = static_cast<size_t>(axis);
    each_place(a, b, out, axis, [&](int64_t in_a, int64_t in_b, int64_t to) {
        double sum = 0;
        for (int part = 0; part < parts_of(a); ++part) {
            const int64_t offset = part * static_cast<int64_t>(sizeof(T));
            const Numbers<T> left{a.data() + in_a + offset, a.strides()[d]};
            const Numbers<T> right{b.data() + in_b + offset, b.strides()[d]};
            const bool dense = left.are_dense() && right.are_dense();
            sum += dense ? sum_products<true>(left, right, count) : sum_products<false>(left, right, count);
        }
        Numbers<T>{out.data() + to, 0}.write(0, static_cast<T>(sum));
    });
}

}  // namespace

void sum_along(const Array& of, const Array& to, int axis, int64_t count) {
    HostCopies host;
    const Array out = host.changed(to);
    const Array values = readable_beside(host.read(of), {&out});
    out.before_write();
    if (values.element().element() == ir::Scalar::F32) {
        sum_of<float>(values, out, axis, count);
    } else {
        sum_of<double>(values, out, axis, count);
    }
    host.finish();
}

void inner_along(const Array& first, const Array& second, const Array& to, int axis, int64_t count) {
    HostCopies host;
    const Array out = host.changed(to);
    const Array a = readable_beside(host.read(first), {&out});
    const Array b = readable_beside(host.read(second), {&out});
    out.before_write();
    if (a.element().element() == ir::Scalar::F32) {
        inner_of<float>(a, b, out, axis, count);
    } else {
        inner_of<double>(a, b, out, axis, count);
    }
    host.finish();
}

}  // namespace weft::runtime
