// wp.texture_sample: which form is meant, and the type of what it gives.
#include "builtins/textures.h"

#include <array>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::TypeKind;

namespace {

constexpr int kMostChannels = 4;

// The names of the parameters of the form that takes a vector, or one number an axis.
std::vector<std::string> parameter_names(int ndim, bool vector) {
    static constexpr std::array<const char*, 3> kAxes = {"u", "v", "w"};
    std::vector<std::string> names = {"tex"};
    std::string joined;
    for (int axis = 0; axis < ndim; ++axis) {
        joined += kAxes.at(static_cast<size_t>(axis));
        if (!vector) names.emplace_back(kAxes.at(static_cast<size_t>(axis)));
    }
    if (vector) names.push_back(joined);
    names.insert(names.end(), {"dtype", "lod"});
    return names;
}

bool is_vector(ir::Type type, int length) {
    return type.is(TypeKind::Vec) && type.part_count() == length && type.element() == ir::Scalar::F32;
}

// The channels that a type holds; 0: textures give no such values.
int channels_of(ir::Type type) {
    if (type == ir::f32()) return 1;
    return is_vector(type, 2) ? 2 : is_vector(type, kMostChannels) ? kMostChannels : 0;
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): all of the table take them so
Entity FunctionLowering::special_texture_sample(const Expr& e, std::vector<Argument> a) {
    const ir::Type texture = a.empty() ? ir::Type() : a[0].entity.type();
    const int ndim = texture ? builtins::texture_ndim(texture) : 0;
    if (ndim == 0) {
        fail(ErrorKind::Type, a.empty() ? e.span : a[0].span,
             "wp.texture_sample() takes a texture (Texture1D, Texture2D or Texture3D) first, found " +
                 (a.empty() ? std::string("nothing") : a[0].entity.describe()));
    }
    const bool vector = ndim > 1 && a.size() > 1 && a[1].entity.type() && a[1].entity.type().is(TypeKind::Vec);
    const auto names = parameter_names(ndim, vector);
    std::vector<const Argument*> given(names.size(), nullptr);
    for (size_t i = 0; i < a.size(); ++i) {
        const auto at = a[i].name.empty() ? names.begin() + static_cast<std::ptrdiff_t>(std::min(i, names.size()))
                                          : std::find(names.begin(), names.end(), a[i].name);
        if (at == names.end()) {
            fail(ErrorKind::Type, a[i].span,
                 "wp.texture_sample() of a " + texture.name() + " has no parameter for " +
                     (a[i].name.empty() ? a[i].entity.describe() : "'" + a[i].name + "'"));
        }
        given[static_cast<size_t>(at - names.begin())] = &a[i];
    }
    const size_t axes = names.size() - 3;
    for (size_t i = 1; i <= axes + 1; ++i) {
        if (given[i] == nullptr) {
            fail(ErrorKind::Type, e.span,
                 "wp.texture_sample() of a " + texture.name() + " needs a value for '" + names[i] + "'");
        }
    }

    const ir::Type wanted = vector ? ir::Type::vec(ndim, ir::Scalar::F32) : ir::f32();
    std::vector<Value*> coordinates;
    for (size_t i = 1; i <= axes; ++i) {
        Value* value = materialize(given[i]->entity, given[i]->span);
        if (value->type != wanted) {
            fail(ErrorKind::Type, given[i]->span,
                 "wp.texture_sample() of a " + texture.name() + " takes a " + user_name(wanted) + " for '" + names[i] +
                     "', found " + given[i]->entity.describe());
        }
        for (int k = 0; vector && k < ndim; ++k) coordinates.push_back(builder_.extract(value, k));
        if (!vector) coordinates.push_back(value);
    }
    while (coordinates.size() < 3) coordinates.push_back(builder_.constant(ir::f32(), 0));

    const Argument& dtype = *given[axes + 1];
    const ir::Type type = type_argument(dtype);
    const int channels = channels_of(type);
    if (channels == 0) {
        fail(ErrorKind::Type, dtype.span,
             "unsupported texture type `" + user_name(type) + "`: textures give float32, vec2f or vec4f");
    }
    Value* lod = builder_.constant(ir::f32(), -1);
    if (const Argument* level = given[axes + 2]) {
        lod = materialize(level->entity, level->span);
        if (lod->type != ir::f32()) {
            fail(ErrorKind::Type, level->span,
                 "the level of detail of wp.texture_sample() is a float32, found " + level->entity.describe());
        }
    }
    const Entity operands[] = {a[0].entity, builder_.compose(ir::Type::vec(3, ir::Scalar::F32), coordinates), lod,
                               builder_.constant(ir::i32(), channels)};
    const std::optional<Entity> sampled = try_rows("_texture_sample", operands, e.span);
    WEFT_CHECK(sampled, "a texture cannot be sampled");
    Value* values = sampled->value();
    if (channels == kMostChannels) return values;
    if (channels == 1) return builder_.extract(values, 0);
    Value* parts[] = {builder_.extract(values, 0), builder_.extract(values, 1)};
    return builder_.compose(type, parts);
}

}  // namespace weft::frontend
