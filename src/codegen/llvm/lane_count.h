// How many items run side by side.
#pragma once

#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// For a kernel without calls, on a machine whose vectors hold `native` numbers: a power of two. `coordinates`: how many
// of the item's the kernel looks at.
int lane_count(const ir::Function& kernel, int coordinates, int native);

}  // namespace weft::codegen::llvm_backend
