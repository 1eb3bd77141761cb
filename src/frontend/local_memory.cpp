// Memory of one item: arrays made in a kernel, places whose address is taken, and what functions take by reference
// (`wp.ref[T]`). Not here: elements and members in general (places.cpp).
#include <algorithm>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::TypeKind;

// ---- arrays of one item ----

std::vector<int64_t> FunctionLowering::local_shape(const Argument& a) {
    std::vector<Entity> parts = {a.entity};
    if (const auto* tuple = a.entity.as<TupleEntity>()) parts = tuple->parts;
    std::vector<int64_t> shape;
    for (const Entity& part : parts) {
        const int size = int_argument({"", part, a.span, nullptr});
        if (size < 1) fail(ErrorKind::Value, a.span, "an array made in a kernel has at least one element");
        shape.push_back(size);
    }
    if (shape.empty() || shape.size() > 8) fail(ErrorKind::Value, a.span, "an array has 1 to 8 dimensions");
    return shape;
}

Entity FunctionLowering::local_array(Type element, const Argument& shape, Value* fill, const Expr& e) {
    if (element.is(TypeKind::Array) || element.is(TypeKind::Tuple)) {
        fail(ErrorKind::Type, e.span, "an array cannot have elements of type " + user_name(element));
    }
    const auto sizes = local_shape(shape);
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    constexpr int64_t kLargest = int64_t{1} << 24;
    if (count > kLargest) fail(ErrorKind::Value, shape.span, "an array made in a kernel cannot be that large");
    at(e.span);
    Value* array = builder_.local_array(element, sizes);
    if (!fill) return array;
    // Filled in a loop over each dimension.
    std::vector<Value*> indices;
    const std::function<void()> dimension = [&] {
        const size_t d = indices.size();
        if (d == sizes.size()) return builder_.store(builder_.at(array, indices), fill);
        const auto number = [&](int64_t n) { return builder_.constant(ir::i32(), n); };
        builder_.for_(number(0), number(sizes[d]), number(1), {}, [&](Value* index, std::span<Value* const>) {
            indices.push_back(index);
            dimension();
            indices.pop_back();
            builder_.yield({});
        });
    };
    dimension();
    return array;
}

// zeros, empty and ones.
Entity FunctionLowering::special_zeros(const Expr& e, std::vector<Argument> a) {
    auto shape = take(a, "shape");
    auto dtype = take(a, "dtype");
    if (!shape && !a.empty()) {
        shape = a[0];
        a.erase(a.begin());
    }
    if (!dtype && !a.empty()) {
        dtype = a[0];
        a.erase(a.begin());
    }
    const std::string& name = e.child(0).text;
    if (!shape || !a.empty())
        fail(ErrorKind::Argument, e.span, name + "(...) in a kernel takes `shape` and `dtype` only");
    // Not a default: `np.zeros` comes here too, whose default is another.
    if (!dtype) fail(ErrorKind::Argument, e.span, name + "(...) in a kernel needs `dtype`, as in dtype=float");
    const Type element = type_argument(*dtype);
    Value* fill = nullptr;
    if (name == "ones") {
        if (!element.is_scalar() && !element.is_uniform())
            fail(ErrorKind::Type, e.span, "ones(...) makes numbers, found the type " + user_name(element));
        fill = element.is_scalar() ? builder_.constant(element, 1)
                                   : builder_.splat(element, builder_.constant(element.element_type(), 1));
    }
    return local_array(element, *shape, fill, e);
}

Entity FunctionLowering::special_full(const Expr& e, std::vector<Argument> a) {
    std::optional<Argument> given[3];
    const char* names[] = {"shape", "value", "dtype"};
    for (size_t i = 0; i < 3; ++i) given[i] = take(a, names[i]);
    for (auto& slot : given) {
        if (slot || a.empty()) continue;
        slot = a[0];
        a.erase(a.begin());
    }
    if (!given[0] || !given[1] || !a.empty())
        fail(ErrorKind::Argument, e.span, "full(...) in a kernel takes `shape`, `value` and `dtype` only");
    const Type element = given[2] ? type_argument(*given[2]) : given[1]->entity.type();
    std::vector<Argument> one = {*given[1]};
    const Entity made = given[1]->entity.type() == element ? given[1]->entity : construct(element, one, e);
    return local_array(element, *given[0], materialize(made, e.span), e);
}

// array(ptr=, shape=, dtype=): what lies at an address, dense.
Entity FunctionLowering::special_array(const Expr& e, std::vector<Argument> a) {
    const auto ptr = take(a, "ptr");
    const auto shape = take(a, "shape");
    const auto dtype = take(a, "dtype");
    if (!ptr || !shape || !dtype || !a.empty())
        fail(ErrorKind::Argument, e.span, "array(...) in a kernel takes `ptr`, `shape` and `dtype`");
    const Type element = type_argument(*dtype);
    Value* address = materialize(ptr->entity, ptr->span);
    if (!address->type.is_scalar(ir::Scalar::U64))
        fail(ErrorKind::Type, ptr->span, "`ptr` needs uint64, found " + user_name(address->type));
    std::vector<Entity> parts = {shape->entity};
    if (const auto* tuple = shape->entity.as<TupleEntity>()) parts = tuple->parts;
    std::vector<Value*> sizes;
    for (const Entity& part : parts) {
        Value* size = materialize(part, shape->span);
        if (!size->type.is_int())
            fail(ErrorKind::Type, shape->span, "`shape` needs integers, found " + part.describe());
        sizes.push_back(size);
    }
    if (sizes.empty() || sizes.size() > 8) fail(ErrorKind::Value, shape->span, "an array has 1 to 8 dimensions");
    at(e.span);
    return builder_.array_at(element, address, sizes);
}

// ---- addresses and references ----

ir::Value* FunctionLowering::spill(Value* value) {
    const int64_t one = 1;
    Value* zero = builder_.constant(ir::i32(), 0);
    Value* ref = builder_.at(builder_.local_array(value->type, {&one, 1}), {&zero, 1});
    builder_.store(ref, value);
    return ref;
}

ir::Value* FunctionLowering::reference_to(const Expr& e, std::function<void()>* back) {
    const auto refuse = [&](const std::vector<std::string>& notes = {}) {
        fail(ErrorKind::Type, e.span,
             "this has no address: only variables, elements of arrays and their parts have one", notes);
    };
    if (e.kind != ExprKind::Name && e.kind != ExprKind::Attribute && e.kind != ExprKind::Subscript) refuse();
    const auto literal = literal_names_.find(e.text);
    if (e.kind == ExprKind::Name && literal != literal_names_.end() && names_.contains(e.text)) {
        fail(ErrorKind::Type, e.span,
             "`" + e.text + "` stands for a literal, which has no address: write " + e.text + " = " + literal->second);
    }
    Place p = place(e);
    if (p.ref && p.path.empty()) return p.ref;
    if (!back || p.local.empty() || !p.type || p.type.is(TypeKind::Array)) refuse();
    Value* ref = spill(materialize(read(p, e.span), e.span));
    *back = [this, p, ref, &e] { write(p, builder_.load(ref), e.span); };
    return ref;
}

Entity FunctionLowering::special_address_of(const Expr& e, std::vector<Argument> a) {
    if (a.size() != 1 || !a[0].expr) fail(ErrorKind::Argument, e.span, "address_of takes one variable or element");
    if (a[0].entity.type().is(TypeKind::Array)) return builder_.address(a[0].entity.value());
    return builder_.address(reference_to(*a[0].expr, nullptr));
}

namespace {

const Expr& root(const Expr& e) {
    const bool inner = (e.kind == ExprKind::Attribute || e.kind == ExprKind::Subscript) && !e.children.empty();
    return inner ? root(e.child(0)) : e;
}

bool takes_reference(const ParameterInfo& p) { return p.type.is_exact() && p.type.exact.is(TypeKind::Ref); }

}  // namespace

// The variables that calls may change through `wp.ref` parameters.
void FunctionLowering::collect_references(const Expr& e, std::set<std::string>& names) {
    for (const auto& child : e.children) collect_references(*child, names);
    if (e.kind != ExprKind::Call) return;
    const Expr& callee = e.child(0);
    if (callee.kind != ExprKind::Name && callee.kind != ExprKind::Attribute) return;
    const Expr& first = root(callee);
    if (first.kind != ExprKind::Name || (assigned_.contains(first.text) && !names_.contains(first.text))) return;
    Entity entity;
    try {
        entity = expression(callee);
    } catch (const UserError&) {
        return;  // raised again, and located, when the call is reached
    }
    const auto* set = entity.as<std::shared_ptr<const OverloadSet>>();
    if (!set) return;
    for (const auto& function : (*set)->functions) {
        const auto& parameters = instances_.signature(*function);
        if (std::none_of(parameters.begin(), parameters.end(), takes_reference)) continue;
        for (size_t i = 1; i < e.children.size(); ++i) {
            const Expr& one = e.child(i).kind == ExprKind::Keyword ? e.child(i).child(0) : e.child(i);
            const Expr& name = root(one);
            if (name.kind == ExprKind::Name) names.insert(one.kind == ExprKind::Name ? name.text : "." + name.text);
        }
    }
}

void FunctionLowering::collect_references(const std::vector<StmtPtr>& statements, std::set<std::string>& names) {
    for (const auto& s : statements) {
        for (const auto& e : s->children) collect_references(*e, names);
        collect_references(s->body, names);
        collect_references(s->otherwise, names);
    }
}

}  // namespace weft::frontend
