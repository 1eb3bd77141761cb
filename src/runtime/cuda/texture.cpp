#include "runtime/cuda/texture.h"

#include <utility>

#include "base/error.h"
#include "runtime/cuda/graph_memory.h"
#include "runtime/cuda/stream.h"

namespace weft::runtime::cuda {
namespace {

// CUarray_format, and the bytes of a number, in the order of device/textures.h.
struct Format {
    int driver;
    int bytes;
};
constexpr std::array<Format, 8> kFormats = {
    {{0x01, 1}, {0x02, 2}, {0x03, 4}, {0x08, 1}, {0x09, 2}, {0x0a, 4}, {0x10, 2}, {0x20, 4}}};
constexpr int kUnsigned32 = 2;
constexpr int kSigned32 = 5;

constexpr unsigned kSurfaceAccess = 2;  // CUDA_ARRAY3D_SURFACE_LDST
constexpr int kResourceArray = 0;       // CUresourcetype
constexpr int kResourceLevels = 1;
constexpr unsigned kReadAsIntegers = 1;  // CU_TRSF_...
constexpr unsigned kNormalized = 2;
constexpr unsigned kBlendsLevelsExactly = 0x20;
constexpr int kClamp = 1;         // CUaddress_mode
constexpr int kDeviceMemory = 2;  // CUmemorytype
constexpr int kArrayMemory = 3;

int type_of(int format) {
    for (size_t i = 0; i < kFormats.size(); ++i) {
        if (kFormats.at(i).driver == format) return static_cast<int>(i);
    }
    throw UserError(ErrorKind::Value, "the CUDA array holds numbers of a format (" + std::to_string(format) +
                                          ") that textures do not have");
}

ArrayDescription described(const ImageShape& shape) {
    // Dimensions that an array has not are 0.
    const auto extent = [&](int axis) {
        return axis < shape.ndim ? static_cast<size_t>(shape.size.at(static_cast<size_t>(axis))) : 0;
    };
    return {extent(0),
            extent(1),
            extent(2),
            kFormats.at(static_cast<size_t>(shape.type)).driver,
            static_cast<unsigned>(shape.channels),
            shape.has_surface ? kSurfaceAccess : 0};
}

Resource resource_of(ArrayHandle array) { return {kResourceArray, 0, array, {}, 0, 0}; }

}  // namespace

// ---- texels ----

Image::Image(CudaDevice& device, const ImageShape& shape) : device_(device), shape_(shape) {
    const CudaDevice::Guard guard(device);
    const OutsideCapture outside;
    make();
}

void Image::make() {
    const ArrayDescription description = described(shape_);
    const auto try_to = [&] {
        return shape_.levels > 1
                   ? driver().cuMipmappedArrayCreate(&levels_, &description, static_cast<unsigned>(shape_.levels))
                   : driver().cuArray3DCreate(&array_, &description);
    };
    Result result = try_to();
    if (result == kOutOfMemory && !device_.is_recording()) {  // textures that are gone hold theirs until then
        device_.synchronize();
        result = try_to();
    }
    check(result, "making an array for a texture");
}

Image::Image(CudaDevice& device, ArrayHandle array) : device_(device), array_(array), owned_(false) {
    const CudaDevice::Guard guard(device);
    ArrayDescription description{};
    check(driver().cuArray3DGetDescriptor(&description, array), "asking for the shape of a CUDA array");
    const std::array<size_t, 3> size = {description.width, description.height, description.depth};
    shape_.ndim = size[2] > 0 ? 3 : size[1] > 0 ? 2 : 1;
    for (size_t i = 0; i < 3; ++i) shape_.size.at(i) = size.at(i) > 0 ? static_cast<int>(size.at(i)) : 1;
    shape_.channels = static_cast<int>(description.channels);
    shape_.type = type_of(description.format);
    shape_.has_surface = (description.flags & kSurfaceAccess) != 0;
}

Image::~Image() {
    if (!owned_) return;
    device_.retire([array = array_, levels = levels_] {
        if (array != nullptr) driver().cuArrayDestroy(array);
        if (levels != nullptr) driver().cuMipmappedArrayDestroy(levels);
    });
}

ArrayHandle Image::level(int number) const {
    if (levels_ == nullptr) return array_;
    ArrayHandle out = nullptr;
    check(driver().cuMipmappedArrayGetLevel(&out, levels_, static_cast<unsigned>(number)),
          "asking for a level of a texture");
    return out;
}

void Image::copy(Address numbers, int level, bool to_image) const {
    const CudaDevice::Guard guard(device_);
    const auto extent = [&](size_t axis) {
        const int size = shape_.size.at(axis) >> level;
        return static_cast<size_t>(size > 0 ? size : 1);
    };
    const size_t row =
        extent(0) * static_cast<size_t>(shape_.channels * kFormats.at(static_cast<size_t>(shape_.type)).bytes);
    Copy3D copy{};
    CopyEnd& memory = to_image ? copy.from : copy.to;
    CopyEnd& image = to_image ? copy.to : copy.from;
    memory.kind = kDeviceMemory;
    memory.device = numbers;
    memory.pitch = row;
    memory.height = extent(1);
    image.kind = kArrayMemory;
    image.array = this->level(level);
    copy.row_bytes = row;
    copy.rows = extent(1);
    copy.slices = extent(2);
    check(driver().cuMemcpy3DAsync(&copy, device_.stream()), to_image ? "copy to a texture" : "copy from a texture");
}

// ---- objects ----

Texture::Texture(std::shared_ptr<Image> image, const Sampling& sampling) : image_(std::move(image)) {
    const CudaDevice::Guard guard(image_->device());
    const OutsideCapture outside;
    try {
        make(sampling);
    } catch (...) {
        parts_.release();
        throw;
    }
}

void Texture::make(const Sampling& sampling) {
    const Driver& d = driver();
    const ImageShape& shape = image_->shape();
    const unsigned integers =
        shape.type == kUnsigned32 || shape.type == kSigned32 ? kReadAsIntegers : 0;  // they stand for themselves
    Resource whole = image_->levels() == nullptr ? resource_of(image_->level(0))
                                                 : Resource{kResourceLevels, 0, image_->levels(), {}, 0, 0};
    TextureDescription description{};
    for (size_t i = 0; i < 3; ++i) description.address_modes[i] = sampling.address_modes.at(i);
    description.linear = sampling.linear ? 1 : 0;
    description.flags = integers | (sampling.normalized ? kNormalized : 0);
    if (shape.levels > 1) {
        description.blends_levels = sampling.blends_levels ? 1 : 0;
        description.last_level = static_cast<float>(shape.levels - 1);
        if (sampling.blends_levels) description.flags |= kBlendsLevelsExactly;
    }
    check(d.cuTexObjectCreate(&parts_.sampled, &whole, &description, nullptr), "making a texture object");

    TextureDescription single{};
    for (int& mode : single.address_modes) mode = kClamp;
    single.flags = integers;
    for (int level = 0; level < shape.levels; ++level) {
        const Resource texels = resource_of(image_->level(level));
        uint64_t object = 0;
        check(d.cuTexObjectCreate(&object, &texels, &single, nullptr), "making a texture object");
        parts_.single.push_back(object);
    }
    const size_t bytes = parts_.single.size() * sizeof(uint64_t);
    check(d.cuMemAlloc(&parts_.table, bytes), "allocating memory of the device");
    StreamHandle stream = image_->device().side_stream();
    check(d.cuMemcpyHtoDAsync(parts_.table, parts_.single.data(), bytes, stream), "copy to the device");
    check(d.cuStreamSynchronize(stream), "copy to the device");
}

uint64_t Texture::surface() {
    if (parts_.surface == 0) {
        const CudaDevice::Guard guard(image_->device());
        const OutsideCapture outside;
        const Resource texels = resource_of(image_->level(0));
        check(driver().cuSurfObjectCreate(&parts_.surface, &texels), "making a surface object");
    }
    return parts_.surface;
}

void Texture::Parts::release() const {
    const Driver& d = driver();
    if (surface != 0) d.cuSurfObjectDestroy(surface);
    for (const uint64_t object : single) d.cuTexObjectDestroy(object);
    if (sampled != 0) d.cuTexObjectDestroy(sampled);
    if (table != 0) d.cuMemFree(table);
}

Texture::~Texture() {
    // Before the image, which follows if nobody else has it.
    image_->device().retire([parts = std::move(parts_)] { parts.release(); });
}

}  // namespace weft::runtime::cuda
