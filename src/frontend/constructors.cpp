// Types called as functions: casts of scalars, and the constructors of vec, mat, quat, transform and structs.
#include <algorithm>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "frontend/messages.h"

namespace weft::frontend {

using builtins::user_name;
using ir::TypeKind;

// A number as a scalar of the given type. Literals are converted from their full value, not from int32 or float32.
ir::Value* FunctionLowering::convert(const Entity& entity, Type scalar, const Span& span) {
    if (const auto* n = entity.as<IntNumber>()) {
        if (n->too_large) fail(ErrorKind::Value, span, "this integer does not fit " + user_name(scalar));
        if (scalar.is_bool()) return builder_.boolean(n->magnitude != 0);
        if (scalar.is_float()) {
            const auto magnitude = static_cast<double>(n->magnitude);
            return builder_.constant(scalar, n->negative ? -magnitude : magnitude);
        }
        const uint64_t bits = n->negative ? 0 - n->magnitude : n->magnitude;
        return builder_.constant(scalar, static_cast<int64_t>(bits));
    }
    if (const auto* n = entity.as<FloatNumber>()) {
        if (scalar.is_bool()) return builder_.boolean(n->value != 0);
        if (scalar.is_float()) return builder_.constant(scalar, n->value);
        const int bits = ir::scalar_bits(scalar.element());
        const double limit = scalar.is_signed() ? 0x1p63 : 0x1p64;
        const double low = scalar.is_signed() ? -limit : -1;
        if (!(n->value > low && n->value < limit) || !(n->value < 2 * static_cast<double>(uint64_t{1} << (bits - 1)))) {
            fail(ErrorKind::Value, span, "this number does not fit " + user_name(scalar));
        }
        return scalar.is_signed() ? builder_.constant(scalar, static_cast<int64_t>(n->value))
                                  : builder_.constant_bits(scalar, static_cast<uint64_t>(n->value));
    }
    if (const auto* n = entity.as<BoolNumber>()) return builder_.constant(scalar, n->value ? 1 : 0);
    if (entity.type().is_scalar()) return builder_.cast(scalar, entity.value());
    fail(ErrorKind::Type, span, user_name(scalar) + "(...) needs a number, found " + entity.describe());
}

Entity FunctionLowering::construct(Type type, std::span<const Argument> arguments, const Expr& e) {
    for (const auto& a : arguments) {
        if (!a.name.empty() && !type.is(TypeKind::Struct)) {
            fail(ErrorKind::Argument, a.span,
                 user_name(type) + "(...) takes no argument by name, found `" + a.name + "`");
        }
    }
    switch (type.kind()) {
        case TypeKind::Scalar:
            if (arguments.size() != 1) {
                fail(ErrorKind::Argument, e.span,
                     user_name(type) + "(...) takes one number, found " + std::to_string(arguments.size()) +
                         " arguments");
            }
            return convert(arguments[0].entity, type, arguments[0].span);
        case TypeKind::Vec:
            return construct_vector(type, arguments, e);
        case TypeKind::Mat:
            return construct_matrix(type, arguments, e);
        case TypeKind::Quat:
            return construct_quaternion(type, arguments, e);
        case TypeKind::Transform:
            return construct_transform(type, arguments, e);
        case TypeKind::Struct:
            return construct_struct(type, arguments, e);
        default:
            fail(ErrorKind::Type, e.span, "values of type " + user_name(type) + " cannot be made in a kernel");
    }
}

ir::Value* FunctionLowering::construct_vector(Type type, std::span<const Argument> arguments, const Expr& e) {
    const auto length = static_cast<size_t>(type.part_count());
    if (arguments.empty()) return builder_.zero(type);
    const Type element = type.element_type();
    if (arguments.size() == 1) {
        const Type given = arguments[0].entity.type();
        if (given.is_scalar()) return builder_.splat(type, convert(arguments[0].entity, element, arguments[0].span));
        if (given.is(TypeKind::Vec) && given.part_count() == type.part_count()) {
            return builder_.cast(type, arguments[0].entity.value());
        }
    }
    // Two halves, as spatial vectors are written.
    if (arguments.size() == 2 && arguments[0].entity.type().is(TypeKind::Vec) &&
        arguments[1].entity.type().is(TypeKind::Vec) && length == 6 && arguments[0].entity.type().part_count() == 3 &&
        arguments[1].entity.type().part_count() == 3) {
        std::vector<Value*> halves;
        for (const auto& a : arguments) {
            for (int i = 0; i < 3; ++i) halves.push_back(builder_.cast(element, builder_.extract(a.entity.value(), i)));
        }
        return builder_.compose(type, halves);
    }
    if (arguments.size() != length) {
        fail(ErrorKind::Argument, e.span,
             user_name(type) + "(...) takes nothing, one number, " + std::to_string(length) +
                 " numbers or a vector, found " + std::to_string(arguments.size()) +
                 (arguments.size() == 1 ? " argument: " + arguments[0].entity.describe() : " arguments"));
    }
    std::vector<Value*> parts;
    for (const auto& a : arguments) parts.push_back(convert(a.entity, element, a.span));
    return builder_.compose(type, parts);
}

ir::Value* FunctionLowering::matrix_of_vectors(const Expr& e, std::span<const Argument> vectors, bool columns) {
    if (vectors.empty()) fail(ErrorKind::Argument, e.span, "a matrix needs at least one vector");
    const Type first = vectors[0].entity.type();
    for (const auto& v : vectors) {
        const Type type = v.entity.type();
        if (!type.is(TypeKind::Vec) || type != first) {
            fail(ErrorKind::Type, v.span,
                 type.is(TypeKind::Vec) ? "a matrix is made of vectors of one type, found " + v.entity.describe() +
                                              " with " + vectors[0].entity.describe()
                                        : "a matrix is made of vectors, found " + v.entity.describe());
        }
    }
    const auto count = static_cast<int>(vectors.size());
    const int length = first.part_count();
    const Type type = columns ? Type::mat(length, count, first.element()) : Type::mat(count, length, first.element());
    std::vector<Value*> parts;
    for (int i = 0; i < type.rows(); ++i) {
        for (int j = 0; j < type.columns(); ++j) {
            const int vector = columns ? j : i;
            parts.push_back(builder_.extract(vectors[static_cast<size_t>(vector)].entity.value(), columns ? i : j));
        }
    }
    return builder_.compose(type, parts);
}

ir::Value* FunctionLowering::construct_matrix(Type type, std::span<const Argument> arguments, const Expr& e) {
    if (arguments.empty()) return builder_.zero(type);
    const Type element = type.element_type();
    const Type given = arguments[0].entity.type();
    if (arguments.size() == 1) {
        if (given.is_scalar()) return builder_.splat(type, convert(arguments[0].entity, element, arguments[0].span));
        if (given.is(TypeKind::Mat) && given.rows() == type.rows() && given.columns() == type.columns()) {
            return builder_.cast(type, arguments[0].entity.value());
        }
    }
    // The vectors are columns, as they were before version 1.10 of the API; later ones refuse them.
    if (given.is(TypeKind::Vec) && static_cast<int>(arguments.size()) == type.columns() &&
        given.part_count() == type.rows()) {
        return builder_.cast(type, matrix_of_vectors(e, arguments, true));
    }
    if (static_cast<int>(arguments.size()) != type.part_count()) {
        fail(ErrorKind::Argument, e.span,
             user_name(type) + "(...) takes nothing, one number, " + std::to_string(type.part_count()) +
                 " numbers or a matrix, found " + std::to_string(arguments.size()) +
                 (arguments.size() == 1 ? " argument: " + arguments[0].entity.describe() : " arguments"));
    }
    std::vector<Value*> parts;
    for (const auto& a : arguments) parts.push_back(convert(a.entity, element, a.span));
    return builder_.compose(type, parts);
}

ir::Value* FunctionLowering::construct_quaternion(Type type, std::span<const Argument> arguments, const Expr& e) {
    if (arguments.empty()) return builder_.zero(type);
    const Type element = type.element_type();
    const Type given = arguments[0].entity.type();
    if (arguments.size() == 1 && given.is(TypeKind::Quat)) return builder_.cast(type, arguments[0].entity.value());
    std::vector<Value*> parts;
    if (arguments.size() == 4) {
        for (const auto& a : arguments) parts.push_back(convert(a.entity, element, a.span));
    } else if (given.is(TypeKind::Vec) && given.part_count() == 3 && arguments.size() == 2) {
        for (int i = 0; i < 3; ++i)
            parts.push_back(builder_.cast(element, builder_.extract(arguments[0].entity.value(), i)));
        parts.push_back(convert(arguments[1].entity, element, arguments[1].span));
    } else {
        fail(ErrorKind::Argument, e.span,
             user_name(type) + "(...) takes nothing, four numbers, a vec3 and a number, or a quaternion, found " +
                 std::to_string(arguments.size()) + " arguments");
    }
    return builder_.compose(type, parts);
}

ir::Value* FunctionLowering::construct_transform(Type type, std::span<const Argument> arguments, const Expr& e) {
    if (arguments.empty()) return builder_.zero(type);
    const Type element = type.element_type();
    const Type given = arguments[0].entity.type();
    if (arguments.size() == 1 && given.is(TypeKind::Transform)) return builder_.cast(type, arguments[0].entity.value());
    std::vector<Value*> parts;
    const auto add = [&](const Argument& a) {
        for (int i = 0; i < a.entity.type().part_count(); ++i) {
            parts.push_back(builder_.cast(element, builder_.extract(a.entity.value(), i)));
        }
    };
    const bool position = given.is(TypeKind::Vec) && given.part_count() == 3;
    if (arguments.size() == 7) {
        for (const auto& a : arguments) parts.push_back(convert(a.entity, element, a.span));
    } else if (position && arguments.size() == 2 && arguments[1].entity.type().is(TypeKind::Quat)) {
        add(arguments[0]);
        add(arguments[1]);
    } else if (position && arguments.size() == 1) {
        add(arguments[0]);
        for (int i = 0; i < 4; ++i) parts.push_back(builder_.constant(element, i == 3 ? 1 : 0));
    } else {
        fail(ErrorKind::Argument, e.span,
             user_name(type) + "(...) takes nothing, a vec3 and a quaternion, or seven numbers, found " +
                 std::to_string(arguments.size()) + " arguments");
    }
    return builder_.compose(type, parts);
}

// All members by position, or some by name: the others are zero.
ir::Value* FunctionLowering::construct_struct(Type type, std::span<const Argument> arguments, const Expr& e) {
    if (arguments.empty()) return builder_.zero(type);
    const auto count = static_cast<size_t>(type.part_count());
    if (arguments.size() > count || (arguments.back().name.empty() && arguments.size() != count)) {
        fail(ErrorKind::Argument, e.span,
             type.name() + "(...) takes nothing or all " + std::to_string(count) + " members, found " +
                 std::to_string(arguments.size()));
    }
    std::vector<Value*> parts(count, nullptr);
    for (size_t k = 0; k < arguments.size(); ++k) {
        const Argument& a = arguments[k];
        const int i = a.name.empty() ? static_cast<int>(k) : type.field_index(a.name);
        if (i < 0) fail(ErrorKind::Argument, a.span, no_attribute(a.name, "struct " + type.name()));
        Value*& part = parts[static_cast<size_t>(i)];
        const std::string& name = type.fields()[static_cast<size_t>(i)].name;
        if (part) fail(ErrorKind::Argument, a.span, type.name() + "(...) gets member `" + name + "` twice");
        part = materialize(a.entity, a.span);
        if (part->type != type.part(i)) {
            fail(ErrorKind::Type, a.span,
                 "member `" + name + "` of " + type.name() + " is " + user_name(type.part(i)) + ", found " +
                     user_name(part->type));
        }
    }
    for (size_t i = 0; i < count; ++i) {
        if (!parts[i]) parts[i] = builder_.zero(type.part(static_cast<int>(i)));
    }
    return builder_.compose(type, parts);
}

}  // namespace weft::frontend
