// Prefix sums of arrays on the host, by all threads.
#pragma once

#include "runtime/array.h"

namespace weft::runtime {

// out[i] = sum of in[0..i], or [0..i) when not `inclusive`; by component. One dimension, any strides, in place too.
void prefix_sums(const Array& in, const Array& out, bool inclusive);

}  // namespace weft::runtime
