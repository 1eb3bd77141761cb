// Atomic adds of two and four numbers in one instruction: sm_90 has them, in PTX 8.1.
#pragma once

#include "codegen/backend.h"

namespace weft::codegen::llvm_backend {

bool has_vector_sums(const Options& options);

}  // namespace weft::codegen::llvm_backend
