// __shared__ memory that a compiler would refuse without a word of where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::codegen::cxx {

// The source with an assertion behind each __shared__ variable: it and those before it that can be seen take no more
// than `most` bytes.
std::string with_shared_limit(std::string_view source, int64_t most);

}  // namespace weft::codegen::cxx
