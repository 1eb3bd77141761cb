// Blocks of threads on the host: fibres, in waves of 64.
#pragma once

#include "maca/services.h"

namespace fake_maca {

// Runs a launch's blocks one after the other in this thread of the host. Gives mcSuccess, or what went wrong.
int run_grid(const Kernel& kernel, void** parameters, Index grid, Index block);
const Services& services();

}  // namespace fake_maca
