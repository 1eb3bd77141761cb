// Functions whose body the user wrote in C++ (`@wp.func_native`): each snippet becomes a Snippet op in a function of
// its own. Nothing of the C++ text is looked at here.
#pragma once

#include <vector>

#include "frontend/instances.h"

namespace weft::frontend {

// The function for these arguments, with its adjoint and what is repeated in its place. Throws UserError, located.
Instance lower_native(Instances& instances, const FunctionSource& source,
                      const std::vector<InstanceArgument>& arguments);

}  // namespace weft::frontend
