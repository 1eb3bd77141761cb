// The backend "cxx-maca": IR printed as C++ and compiled by the vendor's compiler, mxcc, which is a program.
#pragma once

#include <string>

#include "codegen/backend.h"

namespace weft::codegen::cxx {

// Which compiler it would use: its path, and all that it says of its version, as one number stands for several
// versions. "none" without one.
std::string maca_key();
// Prints without a compiler; compile() throws UserError (Unsupported) where there is none.
Backend& open_maca();

}  // namespace weft::codegen::cxx
