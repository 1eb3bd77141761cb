// Code that was compiled, in memory: what a backend made, ready to be called or launched.
#pragma once

#include <memory>
#include <string_view>

#include "codegen/backend.h"

namespace weft::runtime {

// Stays usable as long as this object lives.
class LoadedImage {
  public:
    virtual ~LoadedImage() = default;
    // A function that the host may call; null when there is no such symbol.
    virtual void* find(std::string_view symbol) const = 0;
};

// Throws InternalError for a malformed image or one that calls what does not exist.
std::unique_ptr<LoadedImage> load_image(const codegen::Image& image);

// The image as it is kept in the cache: what the machine's own tools still have to do is done (machine code of a GPU).
codegen::Image finished(codegen::Image image, const codegen::Options& options);

}  // namespace weft::runtime
