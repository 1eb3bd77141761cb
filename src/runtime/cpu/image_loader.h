// Makes an image for this processor callable: objects by the object loader, shared libraries by dlopen of a private
// file.
#pragma once

#include <memory>

#include "runtime/image.h"

namespace weft::runtime::cpu {

// Throws InternalError for a malformed image or one that calls what does not exist.
std::unique_ptr<LoadedImage> load_image(const codegen::Image& image);

}  // namespace weft::runtime::cpu
