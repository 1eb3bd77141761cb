// How values are seen by scalar code: any value type is a flat list of scalar leaves, each with its offset in memory.
// Used by the LLVM backend, whose values are such lists.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/type.h"

namespace weft::codegen {

enum class LeafKind : uint8_t { Number, Pointer, Extent };  // Pointer and Extent (64 bits): parts of an array

struct Leaf {
    LeafKind kind = LeafKind::Number;
    ir::Scalar scalar = ir::Scalar::I64;
    int64_t offset = 0;  // bytes from the start of the value in memory
};

// The leaves of a value of this type, in order. A Ref or Stack is one Pointer.
std::vector<Leaf> leaves(ir::Type type);
int leaf_count(ir::Type type);
// The index of the first leaf of part `part` of an aggregate.
int first_leaf(ir::Type aggregate, int part);

}  // namespace weft::codegen
