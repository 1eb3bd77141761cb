// Finds the values that a derivative would read after the kernel itself has overwritten them: the adjoint runs after
// the kernel and loads from arrays as they are then. What is found is either restored (reverse.h) or refused.
#pragma once

#include <map>
#include <vector>

#include "ir/ir.h"

namespace weft::ad {

// The parameters of the function that an array or a Ref may come from, by index.
std::vector<int> root_parameters(const ir::Value* value, const ir::Function& function);

// Marks a Load (in Op::text) that stands for the old value of an atomic, which nothing can bring back.
inline constexpr const char* kAtomicResult = "result of an atomic";

// Marks a Load (in Op::text) that wants the value the array ended with.
inline constexpr const char* kFinalLoad = "final";

// The parameters of `kernel` that the kernel writes and that `adjoint` still loads from, directly or in a function that
// it calls; with the place of a load.
std::map<int, Location> overwritten(const ir::Module& module, const ir::Function& kernel, const ir::Function& adjoint);

// Where the kernel first reads the arrays of a parameter; no place, where it does not.
Location first_read(const ir::Module& module, const ir::Function& kernel, int parameter);

// Whether the adjoint, or a function that it calls, uses the result of an atomic; the other throws UserError (Gradient)
// if so.
bool uses_atomic_results(const ir::Module& module, const ir::Function& adjoint);
void refuse_atomic_results(const ir::Module& module, const ir::Function& kernel, const ir::Function& adjoint);

// The parameters whose arrays the kernel changes by atomic min or max of floats.
std::vector<int> extreme_parameters(const ir::Module& module, const ir::Function& kernel);

// Throws the UserError (Gradient) for the first of these parameters.
[[noreturn]] void refuse_overwritten(const ir::Module& module, const ir::Function& kernel,
                                     const std::map<int, Location>& parameters);

}  // namespace weft::ad
