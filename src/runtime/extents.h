// Where the arrays of a launch lie, read from its packed arguments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace weft::runtime {

struct Extent {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;

    bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

// Of the array whose descriptor is there: whether no two indices mean bytes that overlap; `extent` gets all it covers,
// and stays empty of an array without elements.
bool elements_apart(ir::Type array, const std::byte* descriptor, Extent& extent);

}  // namespace weft::runtime
