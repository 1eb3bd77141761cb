// The C++ text that every generated program starts with: the types of values, and ops that are not C++ operators. It is
// made of device/cxx/, where each header is read once.
#pragma once

#include <string>

#include "codegen/cxx/flavour.h"

namespace weft::codegen::cxx {

// What of it a program asks for; a host's has all but the library.
struct Parts {
    bool failures = false;  // asserts
    bool stacks = false;    // of reverse mode
    bool library = false;   // device/*.h
};

// Of the host flavour it has the functions of host_symbols.def, bound when the library is loaded.
std::string prelude(Flavour flavour, const Parts& parts);
// What native snippets find (device/snippets/), for text that follows the prelude.
std::string snippet_prelude(Flavour flavour);

}  // namespace weft::codegen::cxx
