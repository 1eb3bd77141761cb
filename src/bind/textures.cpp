// Textures of GPUs, below the package's classes (python/warp/textures.py).
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/shared_ptr.h>

#include "base/error.h"
#include "bind/exports.h"
#include "runtime/array.h"
#include "runtime/cuda/texture.h"

namespace nb = nanobind;

namespace weft::bind {

using runtime::cuda::CudaDevice;
using runtime::cuda::Image;
using runtime::cuda::ImageShape;
using runtime::cuda::Sampling;
using runtime::cuda::Texture;

namespace {

// `numbers`: an array of the image's device, dense.
void copy(const std::shared_ptr<Texture>& texture, const runtime::Array& numbers, int level, bool to_image) {
    CudaDevice& device = texture->image()->device();
    WEFT_CHECK(&numbers.device() == &device, "copies between a texture and an array of another device");
    if (!to_image) numbers.before_write();
    if (device.keeps()) {
        device.keep(texture);
        device.keep(numbers.storage());
    }
    texture->image()->copy(reinterpret_cast<uintptr_t>(numbers.data()), level, to_image);
}

}  // namespace

void export_textures(nb::module_& m) {
    nb::class_<Image>(m, "CudaImage", "Texels in a GPU's memory.")
        .def(
            "__init__",
            [](Image* self, CudaDevice& device, int ndim, const std::array<int, 3>& size, int channels, int type,
               int levels, bool has_surface) {
                new (self) Image(device, ImageShape{ndim, size, channels, type, levels, has_surface});
            },
            nb::arg("device"), nb::arg("ndim"), nb::arg("size"), nb::arg("channels"), nb::arg("type"),
            nb::arg("levels"), nb::arg("has_surface"))
        .def("__init__",
             [](Image* self, CudaDevice& device, uintptr_t array) {
                 new (self) Image(device, reinterpret_cast<runtime::cuda::ArrayHandle>(array));
             })
        .def_prop_ro("ndim", [](const Image& i) { return i.shape().ndim; })
        .def_prop_ro("size",
                     [](const Image& i) {
                         const auto& size = i.shape().size;
                         return nb::make_tuple(size[0], size[1], size[2]);
                     })
        .def_prop_ro("channels", [](const Image& i) { return i.shape().channels; })
        .def_prop_ro("type", [](const Image& i) { return i.shape().type; });
    nb::class_<Texture>(m, "CudaTexture", "Through which kernels read texels.")
        .def(
            "__init__",
            [](Texture* self, std::shared_ptr<Image> image, bool linear, bool blends_levels,
               const std::array<int, 3>& address_modes, bool normalized) {
                new (self) Texture(std::move(image), Sampling{linear, blends_levels, address_modes, normalized});
            },
            nb::arg("image"), nb::arg("linear"), nb::arg("blends_levels"), nb::arg("address_modes"),
            nb::arg("normalized"))
        .def_prop_ro("handle", &Texture::handle)
        .def_prop_ro("texels", &Texture::texels)
        .def_prop_ro("array", [](const Texture& t) { return reinterpret_cast<uintptr_t>(t.image()->level(0)); })
        .def_prop_ro("has_surface", [](const Texture& t) { return t.image()->shape().has_surface; })
        .def_prop_ro("surface", &Texture::surface)
        .def("_copy", &copy, nb::arg("numbers"), nb::arg("level"), nb::arg("to_image"));
}

}  // namespace weft::bind
