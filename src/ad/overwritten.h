// Refuses a derivative that would read a value which the kernel itself has overwritten: the adjoint runs after the
// kernel and loads from arrays as they are then.
#pragma once

#include "ir/ir.h"

namespace weft::ad {

// Marks a Load (in Op::text) that wants the value the array ended with.
inline constexpr const char* kFinalLoad = "final";

// Throws UserError (Gradient) when `adjoint` still loads, directly or in a function that it calls, from an array among
// the parameters of `kernel` that the kernel writes.
void check_overwritten(const ir::Module& module, const ir::Function& kernel, const ir::Function& adjoint);

}  // namespace weft::ad
