// The builtins that are written in the kernel language itself: prelude/*.py as serialised trees (tools/embed_prelude.py
// writes the definition while the package is built).
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace weft::builtins {

struct PreludeFunction {
    std::string_view name;
    std::string_view group;
    std::string_view file;
    std::string_view signature;  // "(a: Vector[Scalar, n], b: Scalar = 1.0) -> Scalar", see parse_signature
    std::string_view doc;
    std::string_view updates;   // the parameters whose arguments take the last results as their new values, "p q"
    std::string_view tree;      // see frontend/tree.h
    std::string_view gradient;  // its @func_grad, "" where autodiff makes the derivative
};

std::span<const PreludeFunction> prelude();

}  // namespace weft::builtins
