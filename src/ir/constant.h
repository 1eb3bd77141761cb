// Folding of scalar constants, by bits. std::nullopt where an op is not folded.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/ir.h"

namespace weft::ir {

std::optional<uint64_t> fold_binary(Opcode code, Scalar type, uint64_t a, uint64_t b);
std::optional<uint64_t> fold_unary(Opcode code, Scalar type, uint64_t a);
bool fold_compare(Opcode code, Scalar type, uint64_t a, uint64_t b);
uint64_t fold_cast(Scalar to, Scalar from, uint64_t bits);

}  // namespace weft::ir
