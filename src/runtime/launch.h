// Runs compiled kernels on packed arguments. Needs neither Python nor its GIL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "runtime/kernel.h"

namespace weft::runtime {

// All items of `shape` on the host's cores, in parallel where it pays; waits for the compile first. Throws what the
// compile threw, and UserError (Runtime) where an assert of the kernel failed.
void run_on_host(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape);

// Whether the same bits are wanted of this launch (Code::deterministic), and items must come in one order for that.
bool needs_order(const Code& code, const std::byte* arguments, const codegen::LaunchShape& shape);

// "in thread (1, 2): message", the thread by its coordinates, as wp.tid() gives them.
std::string failure_text(int64_t item, std::span<const int64_t> dims, const std::string& message);

// The codes to run, in order, for the adjoint of a kernel on these arguments: as a gather where they allow it.
std::vector<Code*> adjoint_codes(KernelInstance& instance, const std::byte* arguments,
                                 const codegen::LaunchShape& shape);

// The number of items; throws UserError (Launch) for a negative extent, more than `max_dims`, an extent that thread
// indices of 32 bits cannot hold where the code uses them, or a product beyond 64 bits.
int64_t item_count(const Code& code, const codegen::LaunchShape& shape);

}  // namespace weft::runtime
