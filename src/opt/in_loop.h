// Where an op stands.
#pragma once

#include "ir/ir.h"

namespace weft::opt {

// Whether the op is inside a loop of its function.
bool in_loop(const ir::Op& op);

}  // namespace weft::opt
