// For whom C++ is printed. One program; what differs is how items are run, and what the compiler already has.
#pragma once

#include <cstdint>

namespace weft::codegen::cxx {

enum class Flavour : uint8_t { Host, Cuda, Maca };

inline bool is_gpu(Flavour flavour) { return flavour != Flavour::Host; }

}  // namespace weft::codegen::cxx
