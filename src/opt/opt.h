// The passes on the IR, one file and one free function each. Each leaves a module that verifies.
#pragma once

#include "ir/ir.h"

namespace weft::opt {

// Erases ops without effect whose results are unused, carried values and yields that nobody reads, and per-item stacks
// whose popped values are unused.
void dead_code(ir::Module& module);

// Rewrites a function so that every region ends in yield (or the one return at the end): break, continue and early
// return become flags. What reverse mode works on.
void single_exit(ir::Module& module, ir::Function& function);

}  // namespace weft::opt
