// Algorithms on whole arrays on the host: prefix sums, sorts, run lengths, sums and inner products. Arguments have
// been checked by the caller (python/warp/algorithms.py): types, shapes, sizes. Arrays of other devices travel to the
// host and back.
#pragma once

#include <cstdint>

#include "runtime/array.h"

namespace weft::runtime {

// out[i] = sum of in[0..i], or [0..i) when not `inclusive`; by component. One dimension, any strides.
void scan(const Array& in, const Array& out, bool inclusive);

// Sorts `count` pairs from element `begin` on by the bits [begin_bit, end_bit) of the keys, stably. Contiguous arrays;
// values of 4 or 8 bytes.
void sort_pairs(const Array& keys, const Array& values, int64_t begin, int64_t count, int begin_bit, int end_bit);

// Sorts the pairs of each segment [starts[k], ends[k]) by themselves, by all bits of the keys. Throws UserError (Value)
// for what is no range of the first `count` pairs. Segments that overlap are sorted one after the other.
void sort_segments(const Array& keys, const Array& values, int64_t count, const Array& starts, const Array& ends);

// Runs of equal int32 values among the first `count`; `runs` gets their number.
void encode_runs(const Array& values, int64_t count, const Array& run_values, const Array& run_lengths,
                 const Array& runs);

// Sums of floats over the first `count` elements along `axis`, by component. `out` has extent 1 there.
void sum_along(const Array& values, const Array& out, int axis, int64_t count);
// Sums of products, over components too: `out` has the scalar type.
void inner_along(const Array& a, const Array& b, const Array& out, int axis, int64_t count);

}  // namespace weft::runtime
