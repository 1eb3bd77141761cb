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
// The adjoint repeats the forward computation without its stores, from the arrays as they are when it runs. What cannot
// be had from them it must be given:
struct AdjointNeeds {
    // Parameters whose arrays the kernel overwrites though the adjoint needs their values: it must be given copies of
    // them as they were before the kernel ran, and writes to these.
    std::vector<int> restored;
    // Parameters whose arrays the kernel changes by atomic min or max of floats. Where an element of such an array is
    // not what it was before the kernel ran, what it was has no gradient: who runs the adjoint sets it to zero
    // afterwards.
    std::vector<int> extremes;
    // How many numbers an item keeps of results of integer atomics (slots that counters hand out). If any: the kernel
    // that keeps them, `<kernel>.logged`, has been added to the module; it and the adjoint take one parameter more, the
    // last: a log, array<i64, 2> of items by numbers, zero at first, which one writes and the other reads.
    int results = 0;
    // The columns of the log that are addresses (StackKeep): who has the log frees them.
    std::vector<int> kept_stacks;
};
// With null `needs` all that is refused instead. What `needs` has as restored already is to be restored in any case:
// parameters whose arrays overlap in memory, so that what one of them writes may be what another one reads. Throws
// UserError (Gradient), located, for what has no derivative.
std::string add_adjoint(ir::Module& module, const std::string& kernel, AdjointNeeds* needs = nullptr);

// The adjoint of a function of the module (see above for its parameters), made on first use.
const ir::Function& adjoint_of(ir::Module& module, const ir::Function& function);

// Replaces the Gradient ops of the module by calls of adjoints.
void expand_gradients(ir::Module& module);

}  // namespace weft::ad
