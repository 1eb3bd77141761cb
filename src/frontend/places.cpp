// Places: what can be read and, mostly, written. Parts of locals are values inserted and extracted; elements of arrays
// and their parts are addresses, so that a chain of subscripts and members reads or writes only what it names.
#include <algorithm>

#include "builtins/array_kinds.h"
#include "builtins/pattern.h"
#include "builtins/textures.h"
#include "frontend/function_lowering.h"
#include "frontend/messages.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;
using ir::TypeKind;

FunctionLowering::Place FunctionLowering::entity_place(Entity entity) {
    Place p;
    p.type = entity.type();
    p.root = std::move(entity);
    return p;
}

FunctionLowering::Place FunctionLowering::name_place(const Expr& e) {
    Entity entity = lookup(e.text, e.span);
    if (const auto* reference = entity.as<Reference>()) {
        Place p;
        p.ref = reference->ref;
        p.type = p.ref->type.target();
        p.alone = true;
        return p;
    }
    Place p = entity_place(std::move(entity));
    if (names_.contains(e.text) || assigned_.contains(e.text))
        p.local = e.text;  // else a free name, which is read only
    return p;
}

FunctionLowering::Place FunctionLowering::place(const Expr& e) {
    if (e.kind == ExprKind::Name) return name_place(e);
    if (e.kind == ExprKind::Attribute) return attribute_place(e);
    if (e.kind == ExprKind::Subscript) return subscript_place(e);
    return entity_place(expression(e));
}

// ---- reading and writing ----

void FunctionLowering::enter(Place& p, Step step) {
    p.type = step.type;
    if (!p.path.empty() && p.path.back().count > 0) {
        // A choice among chosen scalars.
        Step& last = p.path.back();
        last = chosen_among(last, step);
        if (last.count > 0 || !p.ref) return;
        step = last;
        p.path.pop_back();
    }
    if (p.ref && step.count == 0) {
        p.ref = element_ref(p.ref, step, 0);
    } else {
        p.path.push_back(step);
    }
}

ir::Value* FunctionLowering::flat_index(const Step& step, int k) {
    if (!step.parts.empty()) return step.parts.at(static_cast<size_t>(k));
    return builder_.add(step.base, builder_.constant(ir::i32(), k * step.stride));
}

ir::Value* FunctionLowering::element_ref(Value* ref, const Step& step, int k) {
    Value* part = flat_index(step, k);
    if (const auto known = ir::constant_integer(part)) return builder_.member(ref, static_cast<int>(*known));
    return builder_.member_at(ref, part);
}

ir::Value* FunctionLowering::choose(Value* aggregate, const Step& step) {
    const auto one = [&](int k) {
        Value* part = flat_index(step, k);
        if (const auto known = ir::constant_integer(part)) return builder_.extract(aggregate, static_cast<int>(*known));
        return builder_.extract_at(aggregate, part);
    };
    if (step.count == 0) return one(0);
    std::vector<Value*> parts;
    for (int k = 0; k < step.count; ++k) parts.push_back(one(k));
    return builder_.compose(step.type, parts);
}

ir::Value* FunctionLowering::replace(Value* aggregate, const Step& step, Value* value) {
    const auto one = [&](Value* whole, Value* v, int k) {
        Value* part = flat_index(step, k);
        if (const auto known = ir::constant_integer(part)) return builder_.insert(whole, v, static_cast<int>(*known));
        return builder_.insert_at(whole, v, part);
    };
    if (step.count == 0) return one(aggregate, value, 0);
    for (int k = 0; k < step.count; ++k) aggregate = one(aggregate, builder_.extract(value, k), k);
    return aggregate;
}

Entity FunctionLowering::read(const Place& p, const Span& span) {
    at(span);
    if (p.ref) {
        const auto load = [&]() -> std::vector<Value*> {
            if (p.path.empty()) return {builder_.load(p.ref)};
            std::vector<Value*> parts;
            for (int k = 0; k < p.path[0].count; ++k) parts.push_back(builder_.load(element_ref(p.ref, p.path[0], k)));
            return {builder_.compose(p.type, parts)};
        };
        if (!p.guard) return load()[0];
        // The adjoint of an array that has none is zero.
        return branch(builder_.is_valid(p.guard), load,
                      [&]() -> std::vector<Value*> { return {builder_.zero(p.type)}; })[0];
    }
    if (p.path.empty()) return p.root;
    Value* v = materialize(p.root, span);
    for (const Step& step : p.path) v = choose(v, step);
    return v;
}

void FunctionLowering::refuse_part_of_texture(const Place& p, const Span& span) {
    if (p.of_texture) fail(ErrorKind::Type, span, "a texture cannot be changed in a kernel");
}

void FunctionLowering::write(const Place& p, Value* value, const Span& span) {
    refuse_part_of_texture(p, span);
    if (p.type != value->type) {
        if (!p.type || (p.type.is(TypeKind::Array) && !p.ref && p.path.empty())) {
            fail(ErrorKind::Type, span,
                 p.type ? "a part of an array can be written one element at a time only" : "this cannot be assigned");
        }
        fail(ErrorKind::Type, span,
             "a place of type " + user_name(p.type) + " cannot hold " + user_name(value->type) +
                 "; nothing is converted",
             {"write " + user_name(p.type) + "(...) around the value",
              "Composite slot assignment expects value of type " + user_name(p.type)});
    }
    at(span);
    if (p.ref && !p.guard) check_finite(value, span);
    if (p.ref) {
        const auto store = [&]() -> std::vector<Value*> {
            if (p.path.empty()) builder_.store(p.ref, value);
            for (int k = 0; !p.path.empty() && k < p.path[0].count; ++k) {
                builder_.store(element_ref(p.ref, p.path[0], k), builder_.extract(value, k));
            }
            return {};
        };
        if (p.guard) {
            branch(builder_.is_valid(p.guard), store, []() -> std::vector<Value*> { return {}; });
        } else {
            store();
        }
        return;
    }
    if (p.local.empty() || !p.root.type()) {
        fail(ErrorKind::Type, span, "only variables, elements of arrays and their parts can be written");
    }
    if (p.path.empty()) {
        if (p.type.is(TypeKind::Array))
            fail(ErrorKind::Type, span, "a part of an array can be written one element at a time only");
        return bind(p.local, value, span);
    }
    // Every part on the way, then the new one put back from the inside out.
    std::vector<Value*> outer = {materialize(p.root, span)};
    for (size_t i = 0; i + 1 < p.path.size(); ++i) outer.push_back(choose(outer.back(), p.path[i]));
    for (size_t i = p.path.size(); i-- > 0;) value = replace(outer[i], p.path[i], value);
    bind(p.local, value, span);
}

void FunctionLowering::atomic_into(const Place& p, ir::AtomicKind kind, Value* value, const Span& span) {
    refuse_part_of_texture(p, span);
    if (!p.guard) check_finite(value, span);
    at(span);
    const auto add = [&]() -> std::vector<Value*> {
        if (p.path.empty()) builder_.atomic(kind, p.ref, value);
        for (int k = 0; !p.path.empty() && k < p.path[0].count; ++k) {
            builder_.atomic(kind, element_ref(p.ref, p.path[0], k), builder_.extract(value, k));
        }
        return {};
    };
    if (p.guard) {
        branch(builder_.is_valid(p.guard), add, []() -> std::vector<Value*> { return {}; });
    } else {
        add();
    }
}

// ---- attributes ----

FunctionLowering::Place FunctionLowering::attribute_place(const Expr& e) { return attribute_of(place(e.child(0)), e); }

FunctionLowering::Place FunctionLowering::attribute_of(Place p, const Expr& e) {
    const std::string& name = e.text;
    if (const auto* object = p.root.as<Object>()) {
        const Binding binding = source_.environment->attribute(*object, name);
        if (std::holds_alternative<Unknown>(binding)) {
            const std::string message = &e == callee_ ? "Could not find function " + source_.text(e.span)
                                                      : no_attribute(name, object->description);
            fail(ErrorKind::Name, e.span, message, did_you_mean(name));
        }
        return entity_place(from_binding(binding, name, e.span));
    }
    const auto* named = p.root.as<ir::Type>();
    const Type type = named ? *named : p.type;
    if (!type) fail(ErrorKind::Name, e.span, no_attribute(name, p.root.describe()));
    // Of a member of an enum, or of a typed number.
    if (name == "value" && p.root.is_literal() && p.path.empty()) return p;

    // Members and components, of values only.
    if (!named) {
        const auto part = [&](int first, int count, Type chosen) {
            enter(p, {builder_.constant(ir::i32(), first), 1, count, chosen, {}});
            p.type = chosen;
            return p;
        };
        if (builtins::is_array_like(type) && !type.is(TypeKind::Array)) {
            const int ndim = builtins::array_ndim(type);
            if (name == "shape") return entity_place(ShapeEntity{materialize(read(p, e.span), e.span)});
            if (name == "ndim") return entity_place(builder_.constant(ir::i32(), ndim));
            if (name == "dtype") return entity_place(builtins::array_element(type));
            if (name == "size") {
                Value* array = materialize(read(p, e.span), e.span);
                return entity_place(element_count(array, e.span));
            }
            fail(ErrorKind::Name, e.span, no_attribute(name, user_name(type)));
        }
        if (type.is(TypeKind::Struct)) {
            const int field = type.field_index(name);
            p.of_texture = p.of_texture || builtins::texture_ndim(type) > 0;
            if (field >= 0) return part(field, 0, type.part(field));
            std::vector<std::string> fields;
            for (const auto& f : type.fields()) {
                if (!f.name.starts_with('$')) fields.push_back(f.name);
            }
            std::string list;
            for (const auto& f : fields) list += (list.empty() ? "" : ", ") + f;
            fail(ErrorKind::Name, e.span, no_attribute(name, "struct " + type.name()), {"its members: " + list});
        }
        if ((type.is(TypeKind::Vec) || type.is(TypeKind::Quat)) && name.size() == 1) {
            const auto component = std::string_view("xyzw").find(name);
            if (component < static_cast<size_t>(std::min(4, type.part_count()))) {
                return part(static_cast<int>(component), 0, type.element_type());
            }
        }
        if (type.is(TypeKind::Transform) && name == "p") return part(0, 3, Type::vec(3, type.element()));
        if (type.is(TypeKind::Transform) && name == "q") return part(3, 4, Type::quat(type.element()));
        if (type.is(TypeKind::Array)) {
            Value* array = materialize(read(p, e.span), e.span);
            if (name == "shape") return entity_place(ShapeEntity{array});
            if (name == "ndim") return entity_place(builder_.constant(ir::i32(), type.ndim()));
            if (name == "ptr") return entity_place(builder_.address(array));
            if (name == "strides") {
                TupleEntity strides;
                for (int i = 0; i < type.ndim(); ++i) strides.parts.emplace_back(builder_.stride(array, i));
                return entity_place(strides);
            }
            if (name == "size") {
                Value* size = element_count(array, e.span);
                return entity_place(size);
            }
        }
    }
    if (name == "dtype") {
        if (type.is(TypeKind::Array)) return entity_place(type.target());
        if (type.is_scalar() || type.is_uniform()) return entity_place(type.element_type());
    }
    if (named && type.is(TypeKind::Struct)) {
        if (const auto member = static_member(e)) return *member;
    }
    if (name == "length" && type.is_uniform() && !type.is(TypeKind::Mat)) {
        return entity_place(IntNumber{false, static_cast<uint64_t>(type.part_count())});
    }
    fail(ErrorKind::Name, e.span, no_attribute(name, (named ? "the type " : "") + user_name(type)));
}

// What the class of a struct has besides the members of its values.
std::optional<FunctionLowering::Place> FunctionLowering::static_member(const Expr& e) {
    try {
        const Binding binding = source_.environment->evaluate(source_.text(e.span), e.span, {});
        return entity_place(from_binding(binding, e.text, e.span));
    } catch (const UserError&) {
        return std::nullopt;  // there is none, or it is nothing that kernels can use
    }
}

// ---- subscripts ----

ir::Value* FunctionLowering::index(const Expr& e) {
    Value* v = value(e);
    if (!v->type.is_int()) {
        fail(ErrorKind::Type, e.span, "an index needs an integer, found " + user_name(v->type),
             {"Array slot write indices must be integers, as those of reads"});
    }
    return v;
}

FunctionLowering::Place FunctionLowering::array_element(Value* array, std::span<const ExprPtr> indices, const Expr& e) {
    const int ndim = array->type.ndim();
    if (static_cast<int>(indices.size()) > ndim) {
        fail(ErrorKind::Argument, e.span, too_many_indices(array->type, ndim, indices.size()));
    }
    const bool nullable = nullable_.contains(array);
    if (std::any_of(indices.begin(), indices.end(), [](const ExprPtr& i) { return i->kind == ExprKind::Slice; })) {
        Value* part = array_slice(array, indices, e);
        if (nullable) nullable_.insert(part);
        return entity_place(part);
    }
    std::vector<Value*> values;
    for (const auto& one : indices) values.push_back(index(*one));
    if (!nullable) {
        for (size_t d = 0; d < values.size(); ++d) check_index(array, values[d], d, indices[d]->span);
    }
    at(e.span);
    Place p;
    if (static_cast<int>(values.size()) < ndim) {
        Value* view = builder_.view(array, values);
        if (nullable) nullable_.insert(view);
        return entity_place(view);
    }
    p.ref = builder_.at(array, values);
    p.type = array->type.target();
    if (nullable) p.guard = array;
    return p;
}

// `wp.adjoint[x]`, or of a member, `wp.adjoint[x.member]`: that of the parameter, then its member.
FunctionLowering::Place FunctionLowering::adjoint_place(const Expr& of, const Expr& e) {
    if (of.kind == ExprKind::Attribute) return attribute_of(adjoint_place(of.child(0), e), of);
    const std::string name = of.kind == ExprKind::Name ? "adjoint." + of.text : "";
    const auto it = names_.find(name);
    if (!gradient_ || it == names_.end()) {
        fail(ErrorKind::Name, e.span,
             "wp.adjoint[...] takes a differentiable parameter of the function whose gradient this is");
    }
    Place adjoint = entity_place(it->second);
    adjoint.local = name;
    return adjoint;
}

FunctionLowering::Place FunctionLowering::subscript_place(const Expr& e) {
    const std::span<const ExprPtr> indices = std::span(e.children).subspan(1);
    Place p = place(e.child(0));
    if (p.root.as<AdjointEntity>() || (p.root.as<BuiltinName>() && p.root.as<BuiltinName>()->name == "adjoint")) {
        if (indices.size() == 1) return adjoint_place(*indices[0], e);
        fail(ErrorKind::Argument, e.span, "wp.adjoint[...] takes one parameter, or a member of one");
    }
    if (const auto* shape = p.root.as<ShapeEntity>()) {
        const int ndim = builtins::array_ndim(shape->array->type);
        if (indices.size() != 1) fail(ErrorKind::Argument, e.span, "a shape takes one index");
        Value* which = index(*indices[0]);
        if (const auto known = ir::constant_integer(which)) {
            const int64_t dimension = *known < 0 ? *known + ndim : *known;
            // Dimensions that an array might have had are empty: programs ask so how many a slice has left.
            if (dimension >= ndim && dimension < builtins::kMaxArrayDims) {
                return entity_place(builder_.constant(ir::i32(), 0));
            }
            if (dimension < 0 || dimension >= ndim) {
                fail(ErrorKind::Value, indices[0]->span,
                     "the array has " + std::to_string(ndim) + " dimensions: there is no shape[" +
                         std::to_string(*known) + "]");
            }
            return entity_place(array_extent(shape->array, static_cast<int>(dimension)));
        }
        which = wrapped_index(*indices[0], ndim);
        Value* size = builder_.constant(ir::i32(), 0);
        for (int i = ndim; i-- > 0;) {
            Value* here = builder_.compare(Opcode::Eq, which, builder_.constant(ir::i32(), i));
            size = builder_.select(here, array_extent(shape->array, i), size);
        }
        return entity_place(size);
    }
    const auto* tuple = p.root.as<TupleEntity>();
    if ((tuple && p.path.empty()) || p.type.is(TypeKind::Tuple)) {
        const auto count = static_cast<int64_t>(tuple ? tuple->parts.size() : static_cast<size_t>(p.type.part_count()));
        int64_t part = -1;
        if (indices.size() == 1) {
            if (const auto known = ir::constant_integer(index(*indices[0])))
                part = *known < 0 ? *known + count : *known;
        }
        if (part < 0 || part >= count) {
            fail(ErrorKind::Value, e.span,
                 "a tuple of " + std::to_string(count) +
                     " needs an index below it that is known when the kernel is compiled");
        }
        if (tuple) return entity_place(tuple->parts[static_cast<size_t>(part)]);
        enter(p, {builder_.constant(ir::i32(), part), 1, 0, p.type.part(static_cast<int>(part)), {}});
        return p;
    }
    if (p.type.is(TypeKind::Array)) return array_element(materialize(read(p, e.span), e.span), indices, e);
    if (builtins::is_array_like(p.type)) return array_like_element(materialize(read(p, e.span), e.span), indices, e);
    if (p.type.is_uniform()) {
        enter(p, part_step(p.type, indices, e));
        return p;
    }
    fail(ErrorKind::Type, e.span, (p.type ? user_name(p.type) : p.root.describe()) + " cannot be indexed");
}

}  // namespace weft::frontend
