#include "runtime/extents.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "ir/layout.h"

namespace weft::runtime {

bool elements_apart(ir::Type type, const std::byte* descriptor, Extent& extent) {
    const int ndim = type.ndim();
    std::array<int64_t, 1 + 2 * 8> words{};
    std::memcpy(words.data(), descriptor, static_cast<size_t>(ir::descriptor_size(ndim)));
    std::array<std::pair<int64_t, int64_t>, 8> dims;  // stride and extent
    int64_t low = 0;
    int64_t high = ir::size_of(type.target());
    size_t count = 0;
    const auto* data = reinterpret_cast<const std::byte*>(words[0]);
    for (int d = 0; d < ndim; ++d) {
        const int64_t size = words[static_cast<size_t>(1 + d)];
        const int64_t stride = words[static_cast<size_t>(1 + ndim + d)];
        if (size == 0 || data == nullptr) return true;
        if (size == 1) continue;
        (stride < 0 ? low : high) += stride * (size - 1);
        dims[count++] = {std::abs(stride), size};
    }
    extent = {data + low, data + high};
    std::sort(dims.begin(), dims.begin() + count);
    int64_t covered = ir::size_of(type.target());
    for (size_t i = 0; i < count; ++i) {
        if (dims[i].first < covered) return false;
        covered += dims[i].first * (dims[i].second - 1);
    }
    return true;
}

}  // namespace weft::runtime
