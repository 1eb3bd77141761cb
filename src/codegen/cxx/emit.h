// Prints an IR module as C++: structured control stays structured, the user's names stay where they are known.
#pragma once

#include <string>

#include "ir/ir.h"

namespace weft::codegen::cxx {

// The program without its prelude. Kernels become entries (backend.h), functions static functions.
std::string emit(const ir::Module& module);

}  // namespace weft::codegen::cxx
