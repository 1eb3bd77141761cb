// Sums are taken in double precision and in index order, so that they do not depend on threads; integers wrap.
#include "runtime/algorithms.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/host_copies.h"

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

template <typename T>
T plus(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        using Unsigned = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
    } else {
        return a + b;
    }
}

template <typename T>
void scan_of(const Array& in, const Array& out, bool inclusive) {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const int64_t n = in.shape()[0];
    const int parts = in.element().is_scalar() ? 1 : in.element().part_count();
    for (int part = 0; part < parts; ++part) {
        const std::byte* from = in.data() + part * static_cast<int64_t>(sizeof(T));
        std::byte* to = out.data() + part * static_cast<int64_t>(sizeof(T));
        Sum sum{};
        for (int64_t i = 0; i < n; ++i) {
            const T value = read<T>(from + i * in.strides()[0]);
            const Sum next = plus<Sum>(sum, value);
            write<T>(to + i * out.strides()[0], static_cast<T>(inclusive ? next : sum));
            sum = next;
        }
    }
}

// Keys as unsigned numbers that sort as the keys do.
uint64_t sortable(const std::byte* key, ir::Scalar type) {
    switch (type) {
        case ir::Scalar::I32:
            return read<uint32_t>(key) ^ 0x80000000U;
        case ir::Scalar::U32:
            return read<uint32_t>(key);
        case ir::Scalar::F32: {
            const auto bits = read<uint32_t>(key);
            return (bits & 0x80000000U) != 0 ? static_cast<uint32_t>(~bits) : bits | 0x80000000U;
        }
        case ir::Scalar::I64:
            return read<uint64_t>(key) ^ (uint64_t{1} << 63);
        case ir::Scalar::U64:
            return read<uint64_t>(key);
        case ir::Scalar::F64: {
            const auto bits = read<uint64_t>(key);
            return (bits >> 63) != 0 ? ~bits : bits | (uint64_t{1} << 63);
        }
        default:
            throw InternalError("keys of a type that is not sorted");
    }
}

struct Pair {
    uint64_t key;
    int64_t from;
};

// By digits of 8 bits, least significant first.
void radix_sort(std::vector<Pair>& pairs, int begin_bit, int end_bit) {
    std::vector<Pair> aside(pairs.size());
    for (int bit = begin_bit; bit < end_bit; bit += 8) {
        const int bits = std::min(8, end_bit - bit);
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        std::array<size_t, 257> starts{};
        for (const Pair& pair : pairs) ++starts[((pair.key >> bit) & mask) + 1];
        if (std::ranges::any_of(starts, [&](size_t n) { return n == pairs.size(); })) continue;
        for (size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
        for (const Pair& pair : pairs) aside[starts[(pair.key >> bit) & mask]++] = pair;
        std::swap(pairs, aside);
    }
}

void permute(const Array& array, int64_t begin, const std::vector<Pair>& pairs) {
    const int64_t size = ir::size_of(array.element());
    std::byte* data = array.data() + begin * size;
    const std::vector<std::byte> old(data, data + static_cast<int64_t>(pairs.size()) * size);
    for (size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(data + static_cast<int64_t>(i) * size, old.data() + pairs[i].from * size,
                    static_cast<size_t>(size));
    }
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
    switch (in.element().element()) {
        case ir::Scalar::I32:
            scan_of<int32_t>(in, out, inclusive);
            break;
        case ir::Scalar::I64:
            scan_of<int64_t>(in, out, inclusive);
            break;
        case ir::Scalar::F32:
            scan_of<float>(in, out, inclusive);
            break;
        case ir::Scalar::F64:
            scan_of<double>(in, out, inclusive);
            break;
        default:
            throw InternalError("a prefix sum of a type that has none");
    }
    host.finish();
}

void sort_pairs(const Array& all_keys, const Array& all_values, int64_t begin, int64_t count, int begin_bit,
                int end_bit) {
    if (count < 2) return;
    HostCopies host;
    const Array keys = host.changed(all_keys);
    const Array values = host.changed(all_values);
    const ir::Scalar type = keys.element().element();
    const int64_t size = ir::size_of(keys.element());
    std::vector<Pair> pairs(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
        pairs[static_cast<size_t>(i)] = {sortable(keys.data() + (begin + i) * size, type), i};
    }
    radix_sort(pairs, begin_bit, end_bit);
    keys.before_write();
    values.before_write();
    permute(keys, begin, pairs);
    permute(values, begin, pairs);
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
