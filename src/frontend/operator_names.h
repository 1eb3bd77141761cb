// Which builtin an operator of the kernel language is: `a + b` is `add(a, b)`.
#pragma once

#include <string>

namespace weft::frontend {

std::string builtin_of(const std::string& op);
std::string builtin_of_unary(const std::string& op);

}  // namespace weft::frontend
