// Kernels that the runtime writes itself: a builtin or a user's function applied to every element of arrays (operators
// at Python scope) or once to plain values (calls at Python scope). They are syntax trees like any user's kernel, so
// that types, errors and gradients are the front end's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "builtins/array_kinds.h"
#include "frontend/environment.h"

namespace weft::runtime {

struct MapOperand {
    ir::Type type;             // of an element, or of the value itself
    int ndim = 0;              // 0: a plain value
    std::vector<bool> single;  // for each dimension: it has one element, which all items use
    builtins::ArrayKind kind = builtins::ArrayKind::Plain;  // how an array holds its elements
};

constexpr int kMapLaunchDims = 4;

struct MapKernel {
    std::shared_ptr<const frontend::FunctionSource> source;
    // The results' types: the kernel takes the operands, then an array for each result (of `ndim` dimensions, or one).
    // It is launched over the results' shape; of more than kMapLaunchDims dimensions, the first ones are multiplied
    // into one.
    std::vector<ir::Type> results;
};

// `derivative`: the callee's gradient (`wp.grad(callee)`) instead. `name` is what messages call it; `out_kinds`: the
// kinds of the arrays that results go to (plain, where there are fewer). Throws UserError where the callee does not
// take these types.
MapKernel make_map_kernel(const frontend::Binding& callee, const std::string& name,
                          std::span<const MapOperand> operands, int ndim,
                          std::span<const builtins::ArrayKind> out_kinds = {}, bool derivative = false);

}  // namespace weft::runtime
