#include "runtime/overlaps.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/copy.h"

namespace weft::runtime {
namespace {

// Whether no element of one shares a byte with one of the other, as columns of a matrix do not: modulo what divides all
// strides the elements lie in different places.
bool lie_between(const Array& a, const Array& b) {
    int64_t step = 0;
    for (const Array* array : {&a, &b}) {
        for (int d = 0; d < array->ndim(); ++d) {
            const auto k = static_cast<size_t>(d);
            if (array->shape()[k] > 1) step = std::gcd(step, array->strides()[k]);
        }
    }
    if (step == 0) return false;
    const int64_t apart = (((b.data() - a.data()) % step) + step) % step;
    return apart >= a.element_size() && apart + b.element_size() <= step;
}

}  // namespace

Overlaps find_overlaps(std::span<const UsedArray> arrays) {
    Overlaps found;
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (!arrays[i].written) continue;
        const auto [begin, end] = arrays[i].array->extent();
        for (size_t j = 0; j < arrays.size(); ++j) {
            if (i == j || (j < i && arrays[j].written)) continue;
            const auto [other_begin, other_end] = arrays[j].array->extent();
            if (begin >= other_end || other_begin >= end || lie_between(*arrays[i].array, *arrays[j].array)) continue;
            // What has been found joins what it meets.
            std::vector<size_t> joined = {i, j};
            std::erase_if(found, [&](const auto& group) {
                const bool meets = std::ranges::any_of(group, [&](size_t k) { return k == i || k == j; });
                if (meets) joined.insert(joined.end(), group.begin(), group.end());
                return meets;
            });
            std::ranges::sort(joined);
            joined.erase(std::ranges::unique(joined).begin(), joined.end());
            found.push_back(std::move(joined));
        }
    }
    return found;
}

std::vector<Array> clone_together(std::span<const Array* const> arrays) {
    auto [begin, end] = arrays.front()->extent();
    for (const Array* array : arrays) {
        begin = std::min(begin, array->extent().first);
        end = std::max(end, array->extent().second);
    }
    const int64_t bytes = end - begin;
    const int64_t one = 1;
    const Array all(ir::Type::scalar(ir::Scalar::U8), {&bytes, 1}, {&one, 1}, const_cast<std::byte*>(begin),
                    arrays.front()->storage());
    const Array made(all.element(), all.shape(), all.device(), false);
    copy(made, all);
    std::vector<Array> out;
    for (const Array* array : arrays) {
        out.emplace_back(array->element(), array->shape(), array->strides(), made.data() + (array->data() - begin),
                         made.storage());
    }
    return out;
}

bool overlap(const Array& read, const Array& written) {
    const std::array<UsedArray, 2> both{{{&read, false}, {&written, true}}};
    return !find_overlaps(both).empty();
}

Array readable_beside(const Array& read, std::initializer_list<const Array*> written) {
    const Array* const only = &read;
    const auto meets = [&](const Array* other) { return overlap(read, *other); };
    return std::ranges::any_of(written, meets) ? clone_together({&only, 1}).front() : read;
}

}  // namespace weft::runtime
