// Textures (`wp.Texture1D` to `wp.Texture3D`): in the IR they are structs of numbers, whose bits device/textures.h
// tells. Kernels see their sizes; what else they hold has names that no program can write.
#pragma once

#include "ir/type.h"

namespace weft::builtins {

ir::Type texture_type(int ndim);
// 1 to 3; 0: it is no texture.
int texture_ndim(ir::Type type);
// Whether it is a texture, or a struct or array holds one.
bool contains_texture(ir::Type type);

}  // namespace weft::builtins
