// Compiles of a module's other kernels, begun while a launch waits for the code of one: on the thread that waits, so
// that nothing runs beside the program but the compile service. Only so many that all its threads have work. What the
// program changes before a kernel's own launch counts, and errors come with that launch (Kernel::prepare).
#pragma once

#include <nanobind/nanobind.h>

#include "runtime/kernel.h"

namespace weft::bind {

// Before a launch waits for `code` of this kernel. Needs the GIL.
void compile_ahead(nanobind::handle kernel, runtime::Code& code, int block_dim);

void set_compile_ahead(bool enabled);

}  // namespace weft::bind
