// What of CUDA's driver has other parameters, or none of its kind, in MACA's runtime.
#pragma once

#include <string>

#include "runtime/cuda/driver.h"

namespace weft::runtime::maca {

// Finds in the library what the adapters call and enters them in the table. Gives the first symbol that is missing and
// cannot be done without; empty where there is none.
std::string adapt(void* library, cuda::Driver& table);

}  // namespace weft::runtime::maca
