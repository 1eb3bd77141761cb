// Conversions between double and the 16-bit formats, rounding to nearest even. Exact in one rounding from double.
#pragma once

#include <cstdint>

namespace weft {

uint16_t f16_from_double(double value);   // IEEE binary16: overflow from 65520 gives infinity
uint16_t bf16_from_double(double value);  // bfloat16: the upper half of a float32
double f16_to_double(uint16_t bits);
double bf16_to_double(uint16_t bits);

}  // namespace weft
