#include "builtins/textures.h"

#include <algorithm>
#include <array>
#include <string>

namespace weft::builtins {

using ir::Type;

namespace {

Type made(int ndim) {
    const Type address = Type::scalar(ir::Scalar::U64);
    const auto size = [&](int least, const std::string& name) { return (ndim < least ? "$" : "") + name; };
    return Type::structure("Texture" + std::to_string(ndim) + "D", {{"$handle", address},
                                                                    {"$texels", address},
                                                                    {"width", ir::i32()},
                                                                    {size(2, "height"), ir::i32()},
                                                                    {size(3, "depth"), ir::i32()},
                                                                    {"$flags", Type::scalar(ir::Scalar::U32)}});
}

}  // namespace

Type texture_type(int ndim) {
    static const std::array<Type, 3> types = {made(1), made(2), made(3)};
    return types.at(static_cast<size_t>(ndim - 1));
}

int texture_ndim(Type type) {
    for (int ndim = 1; ndim <= 3; ++ndim) {
        if (type == texture_type(ndim)) return ndim;
    }
    return 0;
}

bool contains_texture(Type type) {
    if (type.is(ir::TypeKind::Array)) return contains_texture(type.target());
    if (!type.is(ir::TypeKind::Struct)) return false;
    return texture_ndim(type) > 0 ||
           std::ranges::any_of(type.fields(), [](const Type::Field& field) { return contains_texture(field.type); });
}

}  // namespace weft::builtins
