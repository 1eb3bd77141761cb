// Copies between strided arrays of any rank, and fills.
#pragma once

#include <cstddef>

#include "runtime/array.h"

namespace weft::runtime {

// Element by element; shapes and element sizes are equal. Right for overlapping arrays too.
void copy(const Array& to, const Array& from);
// Every element becomes the size_of(element) bytes at `value`.
void fill(const Array& to, const std::byte* value);
void fill_zero(const Array& to);

}  // namespace weft::runtime
