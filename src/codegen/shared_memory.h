// Static shared memory of native snippets.
#pragma once

#include <cstdint>

#include "ir/ir.h"

namespace weft::codegen {

// What CUDA gives a block.
inline constexpr int64_t kMostShared = int64_t{48} << 10;

// Throws UserError (Value) at the first snippet that has such memory where it is more than a block has.
void check_shared_memory(const ir::Module& module, int64_t used, int64_t most = kMostShared);

}  // namespace weft::codegen
