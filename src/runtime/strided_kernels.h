// Copies and fills of strided arrays by kernels: for devices whose memory the host does not reach.
#pragma once

#include "runtime/array.h"

namespace weft::runtime {

// Element by element on the arrays' device; shapes and element sizes are equal, and the arrays do not overlap.
void copy_by_kernel(const Array& to, const Array& from);
// Every element becomes the bytes at `value`.
void fill_by_kernel(const Array& to, const std::byte* value);

}  // namespace weft::runtime
