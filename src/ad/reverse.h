// Reverse mode on the IR: makes the adjoint of a kernel, and of every function it calls, from the structured SSA.
// How it works, stage by stage, is told in reverse.cpp; the derivative of each op is in rules.cpp, of each mathematical
// function in the registry's row.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"

namespace weft::ad {

// Adds the adjoint of `kernel` to the module and returns its name, `<kernel>.adjoint`.
//
// Parameters of a kernel's adjoint: those of the kernel; then, for each of them whose type contains an array and is
// differentiable, in order, one of the same type: its arrays are the gradients (a null array where there is none).
//
// Parameters of a function's adjoint (`f.adjoint`, or Function::adjoint where the user wrote one): those of the
// function; then one for each array-containing differentiable parameter, as above; then one for each differentiable
// result: the adjoint of that result. Its results are the adjoints of its parameters that hold floats by value, in
// order (a user's function: of its differentiable parameters without arrays).
//
// The adjoint repeats the forward computation without its stores, from the arrays as they are when it runs. Where it
// needs values that the kernel itself has overwritten, it must be given these arrays as they were before the kernel
// ran: `restored` gets the indices of such parameters, and the adjoint writes to the copies it is given. With a null
// `restored` that is refused instead. Throws UserError (Gradient), located, for what has no derivative.
std::string add_adjoint(ir::Module& module, const std::string& kernel, std::vector<int>* restored = nullptr);

// The adjoint of a function of the module (see above for its parameters), made on first use.
const ir::Function& adjoint_of(ir::Module& module, const ir::Function& function);

// Replaces the Gradient ops of the module by calls of adjoints.
void expand_gradients(ir::Module& module);

}  // namespace weft::ad
