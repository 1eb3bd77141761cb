// The texts of errors that several files raise.
#pragma once

#include <string>

#include "builtins/pattern.h"

namespace weft::frontend {

inline std::string no_attribute(const std::string& name, const std::string& owner) {
    return "`" + name + "` is not an attribute of " + owner;
}

inline std::string too_many_indices(ir::Type array, int ndim, size_t found) {
    return "Incorrect number of indices specified for array indexing: " + builtins::user_name(array) + " has " +
           std::to_string(ndim) + (ndim == 1 ? " dimension" : " dimensions") + ", found " + std::to_string(found) +
           " indices";
}

inline const char* const kKernelReturns =
    "Warp kernels cannot return values. Write results to output arguments, and omit the return annotation or use "
    "`-> None`.";

}  // namespace weft::frontend
