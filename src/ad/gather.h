// The adjoint of a stencil as a gather. Where a kernel reads x[i + c] for constants c, its adjoint adds to adj_x[i +
// c]: items meet. Instead item i may compute what items i - c would add to adj_x[i], and add it alone. Not here:
// whether the arrays and the launch allow it, which is known when the adjoint runs (runtime/gathered_adjoint.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace weft::ad {

// Two kernels with the adjoint's parameters that together do what it does; the second one begins when the first has
// ended. `main` gathers and adds what needs no neighbour; `rest` clears the gradients of what was written, and adds
// what has no item of its own to gather it, at the border of the launch.
struct Gather {
    std::string main;
    std::string rest;
    // Parameters whose arrays are gathered: their elements must lie apart, and no other array may overlap them.
    std::vector<int> arrays;
    // The launch must have extent 1 in all dimensions from this one on.
    int dims = 0;
};

// Adds both kernels to the module where the adjoint is of this kind; nothing otherwise.
std::optional<Gather> add_gather(ir::Module& module, const std::string& adjoint);

}  // namespace weft::ad
