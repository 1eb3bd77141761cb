// The passes on the IR, one file and one free function each. Each leaves a module that verifies.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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
// Erases the functions that no kernel reaches through calls.
void keep_called(ir::Module& module);

// Rewrites a function so that every region ends in yield (or the one return at the end): break, continue and early
// return become flags. What reverse mode works on.
void single_exit(ir::Module& module, ir::Function& function);

// Copies the bodies of all called functions into `function`, calls within them as well, but not of those that name an
// adjoint. The callees must have one exit.
void inline_calls(ir::Module& module, ir::Function& function);

// Whether running the function changes anything outside it (stores, atomics, prints, asserts, also in what it calls).
bool has_effects(const ir::Module& module, const ir::Function& function);

// Marks an Atomic (in Op::text) on an element that belongs to its item, if the launch is as OwnElements wants it.
inline constexpr const char* kOwnElement = "own";

// An array parameter of which each item touches elements of its own, on three conditions: the extents of all dimensions
// of the launch but these are 1, the array's strides keep its elements apart, and no array that the kernel writes
// overlaps it.
struct OwnElements {
    int parameter = 0;
    uint32_t coordinates = 0;  // a bit for each dimension of the launch
};

// Finds the array parameters whose atomics need not be atomic, and marks these.
std::vector<OwnElements> own_elements(const ir::Module& module, ir::Function& kernel);

}  // namespace weft::opt
