// What code tells of its accesses where races on shared memory are looked for (weft_shared_access in host_symbols.def).
#pragma once

#include <cstdint>

namespace weft::codegen {

enum class SharedAccess : int32_t { Read, Write, Atomic };

}  // namespace weft::codegen
