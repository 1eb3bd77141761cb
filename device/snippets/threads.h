// Threads, blocks and warps for native snippets. A GPU's vendor has its own.
#pragma once

#include "numbers.h"

#ifdef WEFT_NVPTX
#include "nvptx_threads.h"
#else
#include "host_threads.h"
#endif
