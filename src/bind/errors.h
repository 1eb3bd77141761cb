// C++ exceptions in functions that nanobind does not wrap.
#pragma once

#include <exception>

namespace weft::bind {

// Sets Python's error indicator; needs the GIL.
void set_python_error(const std::exception_ptr& pointer);

}  // namespace weft::bind
