// Arrays of texels are memory of the host, without padding; texture objects know what they were made of.
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "fake_driver/state.h"

#define DRIVER(name, symbol, parameters) extern "C" weft::runtime::cuda::Result name parameters __asm__(symbol);
#define OPTIONAL(name, symbol, parameters) DRIVER(name, symbol, parameters)
namespace weft::runtime::cuda {
#include "runtime/cuda/driver_functions.def"
}
#undef OPTIONAL
#undef DRIVER

namespace weft::runtime::cuda {

using namespace fake;

namespace {

struct Texels {
    ArrayDescription description;
    std::vector<char> bytes;
};
using Levels = std::vector<void*>;

std::map<void*, Texels>& arrays() {
    static auto& instance = *new std::map<void*, Texels>;
    return instance;
}
std::map<void*, Levels>& mipmapped() {
    static auto& instance = *new std::map<void*, Levels>;
    return instance;
}

size_t bytes_of(int format) {
    static const std::map<int, size_t> bytes = {{0x01, 1}, {0x02, 2}, {0x03, 4}, {0x08, 1},
                                                {0x09, 2}, {0x0a, 4}, {0x10, 2}, {0x20, 4}};
    return bytes.at(format);
}

size_t at_least_1(size_t n) { return n > 0 ? n : 1; }

void* new_array(const ArrayDescription& d) {
    void* object = std::malloc(16);
    arrays()[object] = {d, std::vector<char>(at_least_1(d.width) * at_least_1(d.height) * at_least_1(d.depth) *
                                             d.channels * bytes_of(d.format))};
    return object;
}

void forget_array(void* object) {
    arrays().erase(object);
    std::free(object);
}

std::map<uint64_t, TextureDescription>& textures() {
    static auto& instance = *new std::map<uint64_t, TextureDescription>;
    return instance;
}

}  // namespace

Result cuArray3DCreate(ArrayHandle* array, const ArrayDescription* description) {
    if (const Result result = enter_late("cuArray3DCreate")) return result;
    void* object = new_array(*description);
    const std::lock_guard lock(state().mutex);
    state().alive["array"].insert(object);
    *array = static_cast<ArrayHandle>(object);
    return 0;
}
Result cuArray3DGetDescriptor(ArrayDescription* description, ArrayHandle array) {
    *description = arrays().at(array).description;
    return enter("cuArray3DGetDescriptor");
}
Result cuArrayDestroy(ArrayHandle array) {
    arrays().erase(array);
    return destroy("cuArrayDestroy", "array", array);
}

Result cuMipmappedArrayCreate(MipmappedHandle* array, const ArrayDescription* description, unsigned levels) {
    void* object = nullptr;
    if (const Result result = make("cuMipmappedArrayCreate", "array", &object)) return result;
    ArrayDescription d = *description;
    for (unsigned i = 0; i < levels; ++i) {
        mipmapped()[object].push_back(new_array(d));
        for (size_t* size : {&d.width, &d.height, &d.depth}) *size = *size > 1 ? *size / 2 : *size;
    }
    *array = static_cast<MipmappedHandle>(object);
    return 0;
}
Result cuMipmappedArrayGetLevel(ArrayHandle* level, MipmappedHandle array, unsigned number) {
    *level = static_cast<ArrayHandle>(mipmapped().at(array).at(number));
    return enter("cuMipmappedArrayGetLevel");
}
Result cuMipmappedArrayDestroy(MipmappedHandle array) {
    for (void* level : mipmapped()[array]) forget_array(level);
    mipmapped().erase(array);
    return destroy("cuMipmappedArrayDestroy", "array", array);
}

// What a captured copy would do later is not done.
Result cuMemcpy3DAsync(const Copy3D* copy, StreamHandle stream) {
    if (const Result result = enter_late("cuMemcpy3DAsync")) return result;
    if (is_captured(stream)) return 0;
    const auto place = [&](const CopyEnd& end, size_t slice, size_t row) -> char* {
        if (end.kind == 2) {
            return reinterpret_cast<char*>(end.device) + ((slice * end.height + row) * end.pitch);
        }
        Texels& texels = arrays().at(end.array);
        const ArrayDescription& d = texels.description;
        const size_t pitch = d.width * d.channels * bytes_of(d.format);
        return texels.bytes.data() + ((slice * at_least_1(d.height) + row) * pitch);
    };
    for (size_t slice = 0; slice < copy->slices; ++slice) {
        for (size_t row = 0; row < copy->rows; ++row) {
            std::memcpy(place(copy->to, slice, row), place(copy->from, slice, row), copy->row_bytes);
        }
    }
    return 0;
}

Result cuTexObjectCreate(uint64_t* object, const Resource* resource, const TextureDescription* description,
                         const void*) {
    // As the driver: levels need normalised coordinates.
    if (resource->kind == 1 && (description->flags & 2) == 0) return 1;
    void* made = nullptr;
    if (const Result result = make("cuTexObjectCreate", "texture", &made)) return result;
    *object = reinterpret_cast<uint64_t>(made);
    textures()[*object] = *description;
    return 0;
}
Result cuTexObjectDestroy(uint64_t object) {
    return destroy("cuTexObjectDestroy", "texture", reinterpret_cast<void*>(object));
}
Result cuSurfObjectCreate(uint64_t* object, const Resource* resource) {
    if ((arrays().at(resource->object).description.flags & 2) == 0) return 1;
    void* made = nullptr;
    if (const Result result = make("cuSurfObjectCreate", "texture", &made)) return result;
    *object = reinterpret_cast<uint64_t>(made);
    return 0;
}
Result cuSurfObjectDestroy(uint64_t object) {
    return destroy("cuSurfObjectDestroy", "texture", reinterpret_cast<void*>(object));
}

}  // namespace weft::runtime::cuda

// Of a texture object: its modes, filter, flags, filter between levels, last level.
extern "C" int fake_texture(uint64_t object, int which) {
    const weft::runtime::cuda::TextureDescription& d = weft::runtime::cuda::textures().at(object);
    const int numbers[] = {d.address_modes[0],
                           d.address_modes[1],
                           d.address_modes[2],
                           d.linear,
                           static_cast<int>(d.flags),
                           d.blends_levels,
                           static_cast<int>(d.last_level)};
    return numbers[which];
}
