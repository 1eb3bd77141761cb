// Textures of a GPU: the driver's arrays that hold texels, and the objects through which kernels read them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/array.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

// What the texels of an image are. `type` counts as device/textures.h does.
struct ImageShape {
    int ndim = 1;
    std::array<int, 3> size = {1, 1, 1};
    int channels = 1;
    int type = 0;
    int levels = 1;
    bool has_surface = false;
};

// Texels in an order of the driver's own.
class Image {
  public:
    Image(CudaDevice& device, const ImageShape& shape);
    // Somebody else's array, who keeps it.
    Image(CudaDevice& device, ArrayHandle array);
    ~Image();
    Image(const Image&) = delete;
    Image& operator=(const Image&) = delete;

    CudaDevice& device() const { return device_; }
    const ImageShape& shape() const { return shape_; }
    // The array of a level, and all levels together; null where there is one level.
    ArrayHandle level(int number) const;
    MipmappedHandle levels() const { return levels_; }
    // Between a level and as many numbers in memory of the device, without gaps; on the device's current stream.
    void copy(Address numbers, int level, bool to_image) const;

  private:
    void make();

    CudaDevice& device_;
    ImageShape shape_;
    ArrayHandle array_ = nullptr;
    MipmappedHandle levels_ = nullptr;
    bool owned_ = true;
};

struct Sampling {
    bool linear = false;
    bool blends_levels = false;
    std::array<int, 3> address_modes = {1, 1, 1};
    bool normalized = true;
};

class Texture {
  public:
    Texture(std::shared_ptr<Image> image, const Sampling& sampling);
    ~Texture();
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;

    const std::shared_ptr<Image>& image() const { return image_; }
    // The object that kernels sample.
    uint64_t handle() const { return parts_.sampled; }
    // The address of the objects that give single texels, one for each level.
    Address texels() const { return parts_.table; }
    // The object through which kernels write; made when first asked for.
    uint64_t surface();

  private:
    // What the driver has made; it goes when the device has run all that was asked for.
    struct Parts {
        uint64_t sampled = 0;
        uint64_t surface = 0;
        std::vector<uint64_t> single;
        Address table = 0;
        void release() const;
    };
    void make(const Sampling& sampling);

    std::shared_ptr<Image> image_;
    Parts parts_;
};

}  // namespace weft::runtime::cuda
