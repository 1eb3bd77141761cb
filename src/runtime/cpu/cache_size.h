// The size of the processor's caches.
#pragma once

#include <cstdint>

namespace weft::runtime {

// Of the last level, which cores share. What is larger had better be stored past it.
int64_t cache_bytes();

}  // namespace weft::runtime
