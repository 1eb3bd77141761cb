// Checks that a module is well formed: types of operands and results, dominance, terminators, refs that do not escape,
// calls that match. Runs after the front end, and after every pass in debug builds. Throws InternalError.
#pragma once

#include "ir/ir.h"

namespace weft::ir {

void verify(const Module& module);

}  // namespace weft::ir
