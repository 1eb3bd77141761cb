// Makes an image of any format callable: objects by the object loader, shared libraries by dlopen of a private file.
#pragma once

#include <memory>
#include <string_view>

#include "codegen/backend.h"

namespace weft::runtime {

// Code that stays callable as long as this object lives.
class LoadedImage {
  public:
    virtual ~LoadedImage() = default;
    // Null when the image has no such symbol.
    virtual void* find(std::string_view symbol) const = 0;
};

// Throws InternalError for a malformed image or one that calls what does not exist.
std::unique_ptr<LoadedImage> load_image(const codegen::Image& image);

}  // namespace weft::runtime
