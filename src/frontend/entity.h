// What an expression of the kernel language denotes while it is lowered: a run-time value, or something known at
// compile time (a literal, a type, a function, a module, a string, a tuple of these).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontend/environment.h"
#include "ir/builder.h"

namespace weft::frontend {

struct Entity;

struct TupleEntity {
    std::vector<Entity> parts;
};
// `arr.shape`, before it is indexed.
struct ShapeEntity {
    ir::Value* array = nullptr;
};
// A name that stands for a place in memory: a `wp.ref[T]` parameter, or a local whose address is taken.
struct Reference {
    ir::Value* ref = nullptr;
};
// `wp.grad(f)`, before it is called: the function, or the builtin.
struct GradientEntity {
    std::shared_ptr<const OverloadSet> functions;  // null for a builtin
    std::string builtin;
};
// `wp.adjoint` inside a func_grad, before it is indexed.
struct AdjointEntity {};

struct Entity {
    std::variant<Unknown, NoneValue, ir::Value*, IntNumber, FloatNumber, BoolNumber, ir::Type, BuiltinName,
                 std::shared_ptr<const OverloadSet>, StringValue, Object, TupleEntity, ShapeEntity, AdjointEntity,
                 Reference, GradientEntity>
        what;

    Entity() = default;
    template <typename T>
    Entity(T value) : what(std::move(value)) {}

    template <typename T>
    const T* as() const {
        return std::get_if<T>(&what);
    }
    ir::Value* value() const {
        const auto* v = as<ir::Value*>();
        return v ? *v : nullptr;
    }
    bool is_literal() const { return as<IntNumber>() || as<FloatNumber>() || as<BoolNumber>(); }
    // The type as an argument or operand: of a value, of a literal (int32, float32, bool), a tuple of both; else Void.
    ir::Type type() const;
    // "int32", "a string", "the type vec3": for messages.
    std::string describe() const;
};

// Same compile-time thing, or same SSA value.
bool same(const Entity& a, const Entity& b);

// What the environment gave; Unusable and TypePattern, which no expression can denote, are left to the caller.
std::optional<Entity> entity_of(const Binding& binding, ir::Builder& builder);

}  // namespace weft::frontend
