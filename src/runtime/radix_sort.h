// Sorts pairs of keys and values on the host, stably, by all threads: digit by digit, least significant first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/type.h"

namespace weft::runtime {

struct PairRange {
    int64_t begin;
    int64_t count;
};

// Sorts the pairs of each range, by the bits [begin_bit, end_bit) of the keys. Values have 4 or 8 bytes.
void radix_sort(std::byte* keys, ir::Scalar key_type, std::byte* values, int64_t value_size,
                std::span<const PairRange> ranges, int begin_bit, int end_bit);

}  // namespace weft::runtime
