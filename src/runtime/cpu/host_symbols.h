// The functions that generated CPU code may call (codegen/host_symbols.def and the C maths library), by name, and the
// assert failures that such code has reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::runtime {

// Null when generated code may not call it.
void* host_symbol(std::string_view name);

struct AssertFailure {
    std::string message;
    int64_t item = 0;  // linear index in the launch
};
// The first assert that failed since the last call, and forgets it. To be asked after a launch has ended.
std::optional<AssertFailure> take_assert_failure();

}  // namespace weft::runtime
