// Pages for compiled code. They come from larger mappings, as programs load many small kernels and each mapping, each
// fault and each change of protection costs as much as the rest of loading one. Each is given back by itself.
#pragma once

#include <cstddef>

namespace weft::runtime {

// Zeroed memory of `size` bytes, whole pages, that may be written; null where there is none.
void* take_code_pages(size_t size);
void give_back_code_pages(void* memory, size_t size);

}  // namespace weft::runtime
