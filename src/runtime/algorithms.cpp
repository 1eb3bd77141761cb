// Sums are taken in double precision and in index order, so that they do not depend on threads.
#include "runtime/algorithms.h"

#include <algorithm>
#include <array>
#include <cstring>

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

template <typename T>
void write(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof(T));
}

// Calls visit(offset in a, offset in b, offset in out) for each place of `out`.
template <typename Visit>
void each_place(const Array& a, const Array& b, const Array& out, int axis, const Visit& visit) {
    std::array<int64_t, Array::kMaxDims> index{};
    if (out.size() == 0) return;
    while (true) {
        int64_t in_a = 0;
        int64_t in_b = 0;
        int64_t in_out = 0;
        for (int d = 0; d < out.ndim(); ++d) {
            in_out += index[d] * out.strides()[d];
            if (d == axis) continue;
            in_a += index[d] * a.strides()[d];
            in_b += index[d] * b.strides()[d];
        }
        visit(in_a, in_b, in_out);
        int d = out.ndim() - 1;
        while (d >= 0 && ++index[d] == out.shape()[d]) index[d--] = 0;
        if (d < 0) return;
    }
}

template <typename T>
void sum_of(const Array& values, const Array& out, int axis, int64_t count) {
    const int parts = values.element().is_scalar() ? 1 : values.element().part_count();
    const int64_t stride = values.strides()[axis];
    each_place(values, values, out, axis, [&](int64_t from, int64_t, int64_t to) {
        for (int part = 0; part < parts; ++part) {
            const int64_t offset = part * static_cast<int64_t>(sizeof(T));
            double sum = 0;
            for (int64_t i = 0; i < count; ++i) sum += read<T>(values.data() + from + i * stride + offset);
            write<T>(out.data() + to + offset, static_cast<T>(sum));
        }
    });
}

template <typename T>
void inner_of(const Array& a, const Array& b, const Array& out, int axis, int64_t count) {
    const int parts = a.element().is_scalar() ? 1 : a.element().part_count();
    each_place(a, b, out, axis, [&](int64_t in_a, int64_t in_b, int64_t to) {
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            const std::byte* left = a.data() + in_a + i * a.strides()[axis];
            const std::byte* right = b.data() + in_b + i * b.strides()[axis];
            for (int part = 0; part < parts; ++part) {
                const int64_t offset = part * static_cast<int64_t>(sizeof(T));
                sum += static_cast<double>(read<T>(left + offset)) * static_cast<double>(read<T>(right + offset));
            }
        }
        write<T>(out.data() + to, static_cast<T>(sum));
    });
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

void encode_runs(const Array& of, int64_t count, const Array& values_to, const Array& lengths_to,
                 const Array& count_to) {
    HostCopies host;
    const Array values = host.read(of);
    const Array run_values = host.changed(values_to);
    const Array run_lengths = host.changed(lengths_to);
    const Array runs = host.changed(count_to);
    for (const Array* written : {&run_values, &run_lengths, &runs}) written->before_write();
    int32_t found = 0;
    for (int64_t i = 0; i < count;) {
        const auto value = read<int32_t>(values.data() + i * values.strides()[0]);
        int64_t end = i + 1;
        while (end < count && read<int32_t>(values.data() + end * values.strides()[0]) == value) ++end;
        write<int32_t>(run_values.data() + found * run_values.strides()[0], value);
        write<int32_t>(run_lengths.data() + found * run_lengths.strides()[0], static_cast<int32_t>(end - i));
        ++found;
        i = end;
    }
    write<int32_t>(runs.data(), found);
    host.finish();
}

void sum_along(const Array& of, const Array& to, int axis, int64_t count) {
    HostCopies host;
    const Array values = host.read(of);
    const Array out = host.changed(to);
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
    const Array a = host.read(first);
    const Array b = host.read(second);
    const Array out = host.changed(to);
    out.before_write();
    if (a.element().element() == ir::Scalar::F32) {
        inner_of<float>(a, b, out, axis, count);
    } else {
        inner_of<double>(a, b, out, axis, count);
    }
    host.finish();
}

}  // namespace weft::runtime
