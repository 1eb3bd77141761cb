// The names of functions outside the generated code: what a backend may call, and what entries are called.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace weft::codegen {

// "sinf" or "sin": the C function behind a MathFn, for f32 or f64.
std::string math_symbol(ir::MathFn fn, bool is_double);
// Whether generated CPU code may call it: rows of host_symbols.def, maths functions, and what compilers call on their
// own.
bool is_host_symbol(std::string_view name);
std::span<const std::string_view> compiler_symbols();  // "memcpy", "fmodf", ...

}  // namespace weft::codegen
