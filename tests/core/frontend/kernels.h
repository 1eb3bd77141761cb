// Kernels for tests, written in the kernel language: text becomes trees by the tool that makes the prelude (it needs a
// python3), names come from a table. Annotations are type patterns: `x: Array[float32, 1]`.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "frontend/environment.h"
#include "frontend/lower.h"

namespace weft::frontend::testing {

// The last function of `text` is the kernel, the others are its functions (of one name: overloads). `names` are
// what it captures. A function `adj_f` is the gradient of `f`.
std::shared_ptr<FunctionSource> kernel_of(const std::string& text, const std::map<std::string, Binding>& names = {});

// The IR of the kernel, printed.
std::string lowered(const std::string& text, const std::map<std::string, Binding>& names = {},
                    const LoweringOptions& options = {});
// The message and notes of the UserError that lowering it raises; "" when there is none.
std::string refused(const std::string& text, const std::map<std::string, Binding>& names = {});

}  // namespace weft::frontend::testing
