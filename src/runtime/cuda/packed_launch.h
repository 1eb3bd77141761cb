// Launches that hand their arguments over as one buffer (`extra` of cuLaunchKernel), for drivers that take no address
// for each parameter.
#pragma once

#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

// `parameters`: addresses of the four parameters of an entry (codegen/llvm/nvptx/thread_entry.cpp), of which the first
// has `argument_bytes`.
Result launch_packed(FunctionHandle function, unsigned grid, unsigned block, StreamHandle stream,
                     void* const* parameters, size_t argument_bytes);

}  // namespace weft::runtime::cuda
