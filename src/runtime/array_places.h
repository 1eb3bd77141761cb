// Where the descriptors of arrays lie in the bytes of a value.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/type.h"

namespace weft::runtime {

struct ArrayPlace {
    int64_t offset = 0;
    ir::Type type;
};

// The arrays that a value of the type holds, in order; those that their elements hold are not among them.
void find_arrays(ir::Type type, int64_t offset, std::vector<ArrayPlace>& out);

}  // namespace weft::runtime
