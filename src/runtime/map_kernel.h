// Kernels that the runtime writes itself: a builtin or a user's function applied to every element of arrays (operators
// at Python scope) or once to plain values (calls at Python scope). They are syntax trees like any user's kernel, so
// that types, errors and gradients are the front end's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/environment.h"

namespace weft::runtime {

struct MapOperand {
    ir::Type type;             // of an element, or of the value itself
    int ndim = 0;              // 0: a plain value
    std::vector<bool> single;  // for each dimension: it has one element, which all items use
    bool indexed = false;      // an array seen through indices
};

struct MapKernel {
    std::shared_ptr<const frontend::FunctionSource> source;
    // The results' types: the kernel takes the operands, then an array for each result (of `ndim` dimensions, or one).
    std::vector<ir::Type> results;
};

// `name` is what messages call it; `out_indexed`: which results go to arrays with indices (empty: none). Throws
// UserError where the callee does not take these types.
MapKernel make_map_kernel(const frontend::Binding& callee, const std::string& name,
                          std::span<const MapOperand> operands, int ndim, const std::vector<bool>& out_indexed = {});

}  // namespace weft::runtime
