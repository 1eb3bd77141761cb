// How values lie in memory: the one place that knows sizes, alignments and offsets, the same on every platform.
// Scalars have their natural alignment, a bool takes one byte, uniform types are dense and aligned as their element,
// structs are laid out as C does unless packed or aligned. An array in memory is its descriptor:
// { void* data; int64 shape[ndim]; int64 stride_in_bytes[ndim]; }.
#pragma once

#include <cstdint>

#include "ir/type.h"

namespace weft::ir {

int64_t size_of(Type type);
int64_t align_of(Type type);
// The byte offset of part `index` of an aggregate.
int64_t offset_of(Type type, int index);

// Offsets inside an array's descriptor.
constexpr int64_t descriptor_shape_offset(int dim) { return 8 + 8 * static_cast<int64_t>(dim); }
constexpr int64_t descriptor_stride_offset(int ndim, int dim) { return 8 + 8 * static_cast<int64_t>(ndim + dim); }
constexpr int64_t descriptor_size(int ndim) { return 8 + 16 * static_cast<int64_t>(ndim); }

constexpr int64_t align_up(int64_t offset, int64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

}  // namespace weft::ir
