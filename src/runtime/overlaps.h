// Which arrays of a launch overlap in memory while the kernel writes to one of them: what it reads through one may be
// what it wrote through another, so that derivatives must see them as one memory.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "runtime/array.h"

namespace weft::runtime {

// Arrays that overlap, by index, one list for each piece of memory; mostly none.
using Overlaps = std::vector<std::vector<size_t>>;

struct UsedArray {
    const Array* array;
    bool written;
};
Overlaps find_overlaps(std::span<const UsedArray> arrays);

// Copies of arrays that overlap, which overlap in the same way.
std::vector<Array> clone_together(std::span<const Array* const> arrays);

bool overlap(const Array& read, const Array& written);
// What an algorithm is to read while it writes: the array, or a copy where what is written lies in its memory.
Array readable_beside(const Array& read, std::initializer_list<const Array*> written);

}  // namespace weft::runtime
