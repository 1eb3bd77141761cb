// The C++ text that every generated program starts with: the types of values, and ops that are not C++ operators.
#pragma once

#include <string>

namespace weft::codegen::cxx {

// For the host flavour; ends with the functions of host_symbols.def, bound when the library is loaded.
std::string host_prelude();

}  // namespace weft::codegen::cxx
