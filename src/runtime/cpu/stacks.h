// Memory of the stacks that adjoints keep values of loops on (StackNew of ir/ops.def), item by item.
#pragma once

#include <cstdint>

namespace weft::runtime {

// The most bytes that the stacks of one item have had at once since reset_stack_peak().
int64_t stack_peak_bytes();
void reset_stack_peak();

// Frees what a kernel kept of a stack (StackKeep), by its address; 0 is nothing.
void free_kept_stack(int64_t address);

}  // namespace weft::runtime
