// Copies between strided arrays of any rank, fills, and hashes of content.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/array.h"

namespace weft::runtime {

// Element by element; shapes and element sizes are equal. Right for overlapping arrays too.
void copy(const Array& to, const Array& from);
// A hash of the elements' bytes, in order: equal content gives equal hashes whatever the strides.
uint64_t content_hash(const Array& array);
// Every element becomes the size_of(element) bytes at `value`.
void fill(const Array& to, const std::byte* value);
void fill_zero(const Array& to);
// Sets the numbers of `to` to zero at which `a` and `b` have other bits; all three are of one type and shape.
void clear_where_different(const Array& to, const Array& a, const Array& b);

}  // namespace weft::runtime
