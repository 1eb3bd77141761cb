// MACA's runtime for MetaX GPUs, opened at run time, as the table that NVIDIA's driver has (cuda/driver.h): the same
// host code drives both. What MACA has not answers "not supported".
#pragma once

#include "runtime/cuda/driver.h"

namespace weft::runtime::maca {

// Whether the environment names it (WEFT_MACA_DRIVER, MACA_PATH): it then goes before NVIDIA's.
bool is_wanted();
// The library of WEFT_MACA_DRIVER; else MACA_PATH/lib, then the loader's path.
cuda::OpenedDriver open();

}  // namespace weft::runtime::maca
