// Rows of the builtins that the device library implements (device/*.h).
// A native op passes an array as data pointer, shape and strides in bytes (all dimensions of each), the rest by value.
#include "builtins/rows.h"
#include "builtins/textures.h"

namespace weft::builtins {
namespace {

// int32 weft_lower_bound_<scalar>(const void* data, int64 shape, int64 stride, int32 begin, int32 end, <scalar> value)
std::string lower_bound(ir::Type value) { return "weft_lower_bound_" + value.str(); }

// "weft_texture_values_2d": of the first argument, which is a texture.
Lowering of_texture(const std::string& what) {
    return LowerNative{[what](std::span<const ir::Type> types) {
        return "weft_texture_" + what + "_" + std::to_string(texture_ndim(types[0])) + "d";
    }};
}

}  // namespace

void native_rows(Rows& rows) {
    rows.group("Other");
    rows.add("lower_bound", "(arr: Array[Scalar, 1], value: Scalar) -> int32", expand([](const ExpandContext& c) {
                 ir::Value* operands[] = {c.arguments[0], c.builder.constant(ir::i32(), 0),
                                          c.builder.shape(c.arguments[0], 0), c.arguments[1]};
                 return c.builder.native(lower_bound(c.arguments[1]->type), c.result, operands);
             }),
             "The first index of a sorted array whose element is not less than `value`.")
        .differentiable = false;
    rows.add("lower_bound", "(arr: Array[Scalar, 1], arr_begin: int32, arr_end: int32, value: Scalar) -> int32",
             LowerNative{[](std::span<const ir::Type> types) { return lower_bound(types[3]); }}, "")
        .differentiable = false;

    rows.group("Textures");
    rows.add("texture_sample", "(tex: Any, at: Any, dtype: Any, lod: float32 = -1.0) -> Any", special(),
             "What a texture has at a place, given by a vector or by one number an axis: float, vec2f or vec4f.");
    rows.add("_texture_values", "(tex: Any, at: vec3f, lod: float32, channels: int32) -> vec4f", of_texture("values"));
    rows.add("_texture_slopes", "(tex: Any, at: vec3f, lod: float32, channels: int32, g: vec4f) -> vec4f",
             of_texture("slopes"))
        .differentiable = false;
}

}  // namespace weft::builtins
