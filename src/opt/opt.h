// The passes on the IR, one file and one free function each. Each leaves a module that verifies.
#pragma once

#include <string_view>

#include "ir/ir.h"

namespace weft::opt {

// Erases ops without effect whose results are unused, carried values and yields that nobody reads, and per-item stacks
// whose popped values are unused. Loops are taken to end.
void dead_code(ir::Module& module);
void dead_code(ir::Module& module, ir::Function& function);

// Replaces carried values of loops that never change, and results of ifs that are one value either way, by that value.
void unchanged_values(ir::Module& module);

// Erases the functions that `entry` does not reach through calls.
void keep_reachable(ir::Module& module, std::string_view entry);

// Rewrites a function so that every region ends in yield (or the one return at the end): break, continue and early
// return become flags. What reverse mode works on.
void single_exit(ir::Module& module, ir::Function& function);

// Copies the bodies of all called functions into `function`, calls within them as well. The callees must have one exit.
void inline_calls(ir::Module& module, ir::Function& function);

// Whether running the function changes anything outside it (stores, atomics, prints, asserts, also in what it calls).
bool has_effects(const ir::Module& module, const ir::Function& function);

}  // namespace weft::opt
