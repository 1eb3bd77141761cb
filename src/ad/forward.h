// Forward mode on the IR: makes the tangent of a kernel, and of every function it calls. The original computation runs
// along, effects included; each value and each place in memory has a tangent beside it.
#pragma once

#include <string>

#include "ir/ir.h"

namespace weft::ad {

// Adds the tangent of `kernel` to the module and returns its name, `<kernel>.tangent`.
//
// Parameters of a tangent: those of the original; then, for each of them whose type is differentiable, in order, one of
// the same type: its tangent (arrays hold the tangents; a null array where there is none, which reads as zero). A
// function's tangent returns the results, then the tangents of the differentiable ones, in order.
//
// The module may hold adjoints (their stacks are followed too), so that the tangent of an adjoint gives Hessian-vector
// products. Throws UserError (Gradient), located, for what has no tangent.
std::string add_tangent(ir::Module& module, const std::string& kernel);

}  // namespace weft::ad
