#include "runtime/copy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/cpu/host_memory.h"
#include "runtime/device.h"
#include "runtime/strided_kernels.h"

namespace weft::runtime {
namespace {

struct Dimension {
    int64_t extent;
    int64_t to;
    int64_t from;
};

// Dimensions that matter, neighbours merged where both sides run on without a gap.
std::vector<Dimension> collapse(std::span<const int64_t> shape, std::span<const int64_t> to,
                                std::span<const int64_t> from) {
    std::vector<Dimension> dimensions;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 1) continue;
        if (!dimensions.empty()) {
            Dimension& outer = dimensions.back();
            if (outer.to == shape[i] * to[i] && outer.from == shape[i] * from[i]) {
                outer = {outer.extent * shape[i], to[i], from[i]};
                continue;
            }
        }
        dimensions.push_back({shape[i], to[i], from[i]});
    }
    return dimensions;
}

template <size_t kSize>
void copy_row(std::byte* to, const std::byte* from, const Dimension& d) {
    for (int64_t i = 0; i < d.extent; ++i) std::memcpy(to + i * d.to, from + i * d.from, kSize);
}

void copy_row(std::byte* to, const std::byte* from, const Dimension& d, int64_t size) {
    if (d.to == size && d.from == size) return copy_on_host(to, from, d.extent * size);
    switch (size) {
        case 1:
            copy_row<1>(to, from, d);
            return;
        case 2:
            copy_row<2>(to, from, d);
            return;
        case 4:
            copy_row<4>(to, from, d);
            return;
        case 8:
            copy_row<8>(to, from, d);
            return;
        case 12:
            copy_row<12>(to, from, d);
            return;
        case 16:
            copy_row<16>(to, from, d);
            return;
        default:
            for (int64_t i = 0; i < d.extent; ++i) {
                std::memcpy(to + i * d.to, from + i * d.from, static_cast<size_t>(size));
            }
    }
}

void copy_dimensions(std::byte* to, const std::byte* from, std::span<const Dimension> dimensions, int64_t size) {
    if (dimensions.empty()) {
        std::memcpy(to, from, static_cast<size_t>(size));
    } else if (dimensions.size() == 1) {
        copy_row(to, from, dimensions[0], size);
    } else {
        const Dimension& d = dimensions[0];
        for (int64_t i = 0; i < d.extent; ++i) {
            copy_dimensions(to + i * d.to, from + i * d.from, dimensions.subspan(1), size);
        }
    }
}

// A hash of bytes: 128-bit products of pairs of 64-bit words, four chains side by side.
class Hasher {
  public:
    static uint64_t hash(const std::byte* bytes, size_t count) {
        uint64_t chains[4] = {kSteps[3], kSteps[2], kSteps[1], kSteps[0]};
        for (; count >= 64; bytes += 64, count -= 64) {
            for (size_t i = 0; i < 4; ++i) add(chains[i], bytes + (16 * i), i);
        }
        for (size_t i = 0; count >= 16; ++i, bytes += 16, count -= 16) add(chains[i], bytes, i);
        if (count > 0) {
            std::byte rest[16] = {};
            std::memcpy(rest, bytes, count);
            add(chains[3], rest, 0);
        }
        return mix(chains[0] ^ mix(chains[1], kSteps[0]), chains[2] ^ mix(chains[3], kSteps[1]));
    }

  private:
    static void add(uint64_t& chain, const std::byte* bytes, size_t step) {
        uint64_t words[2];
        std::memcpy(words, bytes, sizeof(words));
        chain = mix(words[0] ^ kSteps[step], words[1] ^ chain);
    }
    static uint64_t mix(uint64_t a, uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    static constexpr uint64_t kSteps[4] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                           0x27d4eb2f165667c5};
};

bool overlap(const Array& a, const Array& b) {
    const auto [a_begin, a_end] = a.extent();
    const auto [b_begin, b_end] = b.extent();
    return a_begin < b_end && b_begin < a_end;
}

bool on_host(const Array& array) { return array.device().capabilities().host_memory; }

Array dense_on(Device& device, const Array& like) { return {like.element(), like.shape(), device, false}; }

// At least one of them is not in the host's memory.
void copy_on_devices(const Array& to, const Array& from) {
    Device& there = to.device();
    Device& here = from.device();
    if (&there == &here) {
        if (overlap(to, from)) {
            const Array aside = dense_on(here, from);
            copy_on_devices(aside, from);
            copy_on_devices(to, aside);
        } else if (to.is_contiguous() && from.is_contiguous()) {
            there.copy_within(to.data(), from.data(), to.size() * ir::size_of(to.element()));
        } else {
            copy_by_kernel(to, from);
        }
        return;
    }
    if ((there.is_recording() || here.is_recording()) &&
        ((on_host(from) && !from.is_contiguous()) || (on_host(to) && !to.is_contiguous()))) {
        throw UserError(ErrorKind::Runtime,
                        "Failed to allocate memory for a recorded copy on device 'cpu': arrays of the host must be "
                        "contiguous there");
    }
    if (!from.is_contiguous()) {
        const Array aside = dense_on(here, from);
        copy(aside, from);
        copy_on_devices(to, aside);
        return;
    }
    if (!to.is_contiguous()) {
        const Array aside = dense_on(there, to);
        copy_on_devices(aside, from);
        copy(to, aside);
        return;
    }
    const int64_t bytes = to.size() * ir::size_of(to.element());
    if (on_host(from)) {
        there.keep(from.storage());
        there.copy_from_host(to.data(), from.data(), bytes);
    } else if (on_host(to)) {
        here.keep(to.storage());
        here.copy_to_host(to.data(), from.data(), bytes);
    } else {
        const Array aside = dense_on(*devices().front(), from);
        copy_on_devices(aside, from);
        copy_on_devices(to, aside);
    }
}

}  // namespace

void copy(const Array& to, const Array& from) {
    const int64_t size = ir::size_of(to.element());
    WEFT_CHECK(size == ir::size_of(from.element()), "elements of different sizes");
    WEFT_CHECK(std::equal(to.shape().begin(), to.shape().end(), from.shape().begin(), from.shape().end()),
               "arrays of different shapes");
    if (to.size() == 0) return;
    to.before_write();
    if (!on_host(to) || !on_host(from)) return copy_on_devices(to, from);
    if (overlap(to, from)) {
        const Array aside(from.element(), from.shape(), from.device(), false);
        copy_dimensions(aside.data(), from.data(), collapse(from.shape(), aside.strides(), from.strides()), size);
        copy_dimensions(to.data(), aside.data(), collapse(to.shape(), to.strides(), aside.strides()), size);
    } else {
        copy_dimensions(to.data(), from.data(), collapse(to.shape(), to.strides(), from.strides()), size);
    }
}

uint64_t content_hash(const Array& array) {
    if (!on_host(array)) {
        const Array aside = dense_on(*devices().front(), array);
        copy(aside, array);
        return content_hash(aside);
    }
    // The bytes are taken as they lie in a contiguous copy: in blocks of the same size whatever the strides.
    const int64_t size = array.element_size();
    const auto bytes = static_cast<size_t>(array.size() * size);
    if (bytes == 0) return 0;
    if (array.is_contiguous()) return Hasher::hash(array.data(), bytes);
    const Array aside(array.element(), array.shape(), array.device(), false);
    copy_dimensions(aside.data(), array.data(), collapse(array.shape(), aside.strides(), array.strides()), size);
    return Hasher::hash(aside.data(), bytes);
}

void fill(const Array& to, const std::byte* value) {
    if (to.size() == 0) return;
    to.before_write();
    if (!on_host(to)) return fill_by_kernel(to, value);
    const int64_t size = ir::size_of(to.element());
    const std::array<int64_t, Array::kMaxDims> none{};
    copy_dimensions(to.data(), value, collapse(to.shape(), to.strides(), {none.data(), static_cast<size_t>(to.ndim())}),
                    size);
}

void fill_zero(const Array& to) {
    if (to.size() == 0) return;
    if (to.is_contiguous()) {
        to.before_write();
        to.device().fill_zero(to.data(), to.size() * ir::size_of(to.element()));
        return;
    }
    const std::vector<std::byte> zero(static_cast<size_t>(ir::size_of(to.element())));
    fill(to, zero.data());
}

void clear_where_different(const Array& to, const Array& a, const Array& b) {
    if (to.size() == 0) return;
    if (!on_host(to)) {
        std::array<Array, 3> aside;
        for (size_t k = 0; const Array* array : {&to, &a, &b}) {
            aside[k] = dense_on(*devices().front(), *array);
            copy(aside[k++], *array);
        }
        clear_where_different(aside[0], aside[1], aside[2]);
        return copy(to, aside[0]);
    }
    to.before_write();
    const int64_t size = ir::size_of(to.element());
    const int64_t number = to.element().is_aggregate() ? size / to.element().part_count() : size;
    std::array<int64_t, Array::kMaxDims> index{};
    const int ndim = to.ndim();
    for (int64_t done = 0; done < to.size(); ++done) {
        const std::array<const Array*, 3> arrays = {&to, &a, &b};
        std::array<std::byte*, 3> at{};
        for (size_t k = 0; k < arrays.size(); ++k) {
            at[k] = arrays[k]->data();
            for (int d = 0; d < ndim; ++d) {
                at[k] += index[static_cast<size_t>(d)] * arrays[k]->strides()[static_cast<size_t>(d)];
            }
        }
        for (int64_t k = 0; k < size; k += number) {
            const auto bytes = static_cast<size_t>(number);
            if (std::memcmp(at[1] + k, at[2] + k, bytes) != 0) std::memset(at[0] + k, 0, bytes);
        }
        for (int d = ndim - 1; d >= 0 && ++index[static_cast<size_t>(d)] == to.shape()[static_cast<size_t>(d)]; --d) {
            index[static_cast<size_t>(d)] = 0;
        }
    }
}

}  // namespace weft::runtime
