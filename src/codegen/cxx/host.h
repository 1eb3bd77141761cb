// The backend "cxx-host": IR printed as C++ and compiled by the system's C++ compiler to a shared library.
#pragma once

#include <string>

#include "codegen/backend.h"

namespace weft::codegen::cxx {

// Which compiler it would use: path and build id. "none" without one.
std::string host_key();
// Throws UserError (Unsupported) when there is no compiler.
Backend& open_host();

}  // namespace weft::codegen::cxx
