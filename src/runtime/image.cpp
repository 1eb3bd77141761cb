#include "runtime/image.h"

#include "base/error.h"
#include "runtime/cpu/image_loader.h"
#include "runtime/cuda/gpu_image.h"

namespace weft::runtime {

std::unique_ptr<LoadedImage> load_image(const codegen::Image& image) {
    switch (image.format) {
        case codegen::ImageFormat::Object:
        case codegen::ImageFormat::SharedLibrary:
            return cpu::load_image(image);
        case codegen::ImageFormat::Ptx:
        case codegen::ImageFormat::Cubin:
        case codegen::ImageFormat::MacaBinary:
            return std::make_unique<cuda::GpuImage>(image.bytes);
    }
    WEFT_CHECK(false, "unknown image format");
}

codegen::Image finished(codegen::Image image, const codegen::Options& options) {
    if (image.format != codegen::ImageFormat::Ptx) return image;
    return cuda::assembled(std::move(image), options.architecture);
}

}  // namespace weft::runtime
