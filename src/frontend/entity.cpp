#include "frontend/entity.h"

#include "builtins/pattern.h"

namespace weft::frontend {
namespace {

using builtins::user_name;

bool same_int(const IntNumber& a, const IntNumber& b) { return a.negative == b.negative && a.magnitude == b.magnitude; }

ir::Value* constant_value(ir::Builder& builder, const Constant& constant) {
    size_t next = 0;
    const auto make = [&](const auto& self, ir::Type type) -> ir::Value* {
        if (type.is_scalar()) return builder.constant_bits(type, constant.bits.at(next++));
        std::vector<ir::Value*> parts;
        for (int i = 0; i < type.part_count(); ++i) parts.push_back(self(self, type.part(i)));
        return builder.compose(type, parts);
    };
    return make(make, constant.type);
}

}  // namespace

ir::Type Entity::type() const {
    if (const auto* v = value()) return v->type;
    if (as<IntNumber>()) return ir::i32();
    if (as<FloatNumber>()) return ir::f32();
    if (as<BoolNumber>()) return ir::boolean();
    if (const auto* tuple = as<TupleEntity>()) {
        std::vector<ir::Type> types;
        for (const auto& part : tuple->parts) {
            types.push_back(part.type());
            if (!types.back()) return {};
        }
        return ir::Type::tuple(types);
    }
    return {};
}

std::string Entity::describe() const {
    if (const ir::Type t = type()) return user_name(t);
    if (as<NoneValue>()) return "None";
    if (const auto* t = as<ir::Type>()) return "the type " + user_name(*t);
    if (const auto* b = as<BuiltinName>()) return "the builtin `" + b->name + "`";
    if (const auto* f = as<std::shared_ptr<const OverloadSet>>()) return "the function `" + (*f)->name + "`";
    if (as<StringValue>()) return "a string";
    if (const auto* o = as<Object>()) return o->description;
    if (as<TupleEntity>()) return "a tuple";
    if (as<ShapeEntity>()) return "the shape of an array";
    if (as<AdjointEntity>()) return "`wp.adjoint`";
    if (const auto* g = as<GradientEntity>())
        return "the gradient of `" + (g->functions ? g->functions->name : g->builtin) + "`";
    if (const auto* r = as<Reference>()) return user_name(r->ref->type.target());
    return "nothing";
}

bool same(const Entity& a, const Entity& b) {
    if (a.what.index() != b.what.index()) return false;
    if (a.value()) return a.value() == b.value();
    if (const auto* x = a.as<IntNumber>()) return same_int(*x, *b.as<IntNumber>());
    if (const auto* x = a.as<FloatNumber>()) {
        return ir::to_bits(ir::Scalar::F64, x->value) == ir::to_bits(ir::Scalar::F64, b.as<FloatNumber>()->value);
    }
    if (const auto* x = a.as<BoolNumber>()) return x->value == b.as<BoolNumber>()->value;
    if (const auto* x = a.as<ir::Type>()) return *x == *b.as<ir::Type>();
    if (const auto* x = a.as<BuiltinName>()) return x->name == b.as<BuiltinName>()->name;
    if (const auto* x = a.as<std::shared_ptr<const OverloadSet>>()) {
        return *x == *b.as<std::shared_ptr<const OverloadSet>>();
    }
    if (const auto* x = a.as<StringValue>()) return x->text == b.as<StringValue>()->text;
    if (const auto* x = a.as<Object>()) return x->handle == b.as<Object>()->handle;
    if (const auto* x = a.as<ShapeEntity>()) return x->array == b.as<ShapeEntity>()->array;
    if (const auto* x = a.as<GradientEntity>()) {
        const auto* y = b.as<GradientEntity>();
        return x->functions == y->functions && x->builtin == y->builtin;
    }
    if (const auto* x = a.as<Reference>()) return x->ref == b.as<Reference>()->ref;
    if (const auto* x = a.as<TupleEntity>()) {
        const auto& other = b.as<TupleEntity>()->parts;
        if (x->parts.size() != other.size()) return false;
        for (size_t i = 0; i < other.size(); ++i) {
            if (!same(x->parts[i], other[i])) return false;
        }
    }
    return true;
}

std::optional<Entity> entity_of(const Binding& binding, ir::Builder& builder) {
    return std::visit(
        [&](const auto& x) -> std::optional<Entity> {
            using T = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<T, Unusable> || std::is_same_v<T, builtins::TypePattern>) {
                return std::nullopt;
            } else if constexpr (std::is_same_v<T, Constant>) {
                return Entity(constant_value(builder, x));
            } else {
                return Entity(x);
            }
        },
        binding);
}

}  // namespace weft::frontend
