// Memory of arrays on the host: blocks at 64-byte alignment. Large ones are mapped by themselves, advised to lie in
// huge pages, and kept when they are released, so that a program that makes its arrays anew in each step does not pay
// for the pages again. What is kept the system may take back when memory runs short.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

// Blocks from here on are mapped and kept.
constexpr int64_t kMappedBlock = int64_t{1} << 16;

// Throws std::bad_alloc.
void* allocate_on_host(int64_t bytes, bool zeroed);
// `bytes`: as given to allocate_on_host.
void release_on_host(void* memory, int64_t bytes) noexcept;
// Bytes that are kept for later blocks. At most an eighth of the machine's memory.
int64_t kept_on_host();

// memset and memcpy by all threads, where there is enough to do.
void zero_on_host(void* to, int64_t bytes);
void copy_on_host(void* to, const void* from, int64_t bytes);

}  // namespace weft::runtime
