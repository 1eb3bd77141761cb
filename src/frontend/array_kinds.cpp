// Elements, parts and sizes of arrays that are seen through indices or lie in buckets (builtins/array_kinds.h): each
// access becomes one of a plain array.
#include "builtins/array_kinds.h"

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "frontend/messages.h"

namespace weft::frontend {

using builtins::ArrayKind;
using ir::Opcode;

namespace {

ir::Value* as_int(ir::Builder& builder, ir::Value* index) {
    return index->type == ir::i32() ? index : builder.cast(ir::i32(), index);
}

}  // namespace

// An index, negative ones counted from the end.
ir::Value* FunctionLowering::counted_from_end(Value* index, Value* extent) {
    index = as_int(builder_, index);
    Value* negative = builder_.compare(Opcode::Lt, index, builder_.constant(ir::i32(), 0));
    return builder_.select(negative, builder_.add(index, extent), index);
}

ir::Value* FunctionLowering::array_extent(Value* array, int dimension) {
    const Type type = array->type;
    switch (builtins::array_kind(type)) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed: {
            Value* indices = builder_.extract(array, 1 + dimension);
            return branch(
                builder_.is_valid(indices), [&]() -> std::vector<Value*> { return {builder_.shape(indices, 0)}; },
                [&]() -> std::vector<Value*> { return {builder_.shape(builder_.extract(array, 0), dimension)}; })[0];
        }
        case ArrayKind::Fabric: {
            // Of two dimensions the second varies by element: its size is that of each.
            if (dimension > 0) return builder_.constant(ir::i32(), 0);
            Value* starts = builder_.extract(array, 0);
            Value* zero = builder_.constant(ir::i32(), 0);
            Value* count = builder_.shape(starts, 0);
            return branch(
                builder_.compare(Opcode::Gt, count, zero),
                [&]() -> std::vector<Value*> {
                    Value* last = builder_.sub(count, builder_.constant(ir::i32(), 1));
                    return {builder_.load(builder_.at(starts, {&last, 1}))};
                },
                [&]() -> std::vector<Value*> { return {zero}; })[0];
        }
        case ArrayKind::IndexedFabric:
            if (dimension > 0) return builder_.constant(ir::i32(), 0);
            return builder_.shape(builder_.extract(array, 1), 0);
    }
    return builder_.shape(array, dimension);
}

// The index into the data that an index stands for.
ir::Value* FunctionLowering::indexed(Value* indices, Value* index) {
    return branch(
        builder_.is_valid(indices),
        [&]() -> std::vector<Value*> { return {builder_.load(builder_.at(indices, {&index, 1}))}; },
        [&]() -> std::vector<Value*> { return {as_int(builder_, index)}; })[0];
}

// The address of an element of a bucket.
ir::Value* FunctionLowering::fabric_ref(Value* fabric, Value* index) {
    Value* starts = builder_.extract(fabric, 0);
    Value* one = builder_.constant(ir::i32(), 1);
    Value* zero = builder_.constant(ir::i32(), 0);
    index = counted_from_end(index, array_extent(fabric, 0));
    // The last bucket that does not start behind the element.
    const std::vector<Value*> found = builder_.while_(
        {&zero, 1},
        [&](std::span<Value* const> carried) {
            Value* next = builder_.add(carried[0], one);
            Value* start = builder_.load(builder_.at(starts, {&next, 1}));
            builder_.condition(builder_.compare(Opcode::Le, start, index));
        },
        [&](std::span<Value* const> carried) {
            Value* next = builder_.add(carried[0], one);
            builder_.yield({&next, 1});
        });
    Value* bucket = found[0];
    Value* data = builder_.load(builder_.member(builder_.at(builder_.extract(fabric, 1), {&bucket, 1}), 0));
    Value* inside = builder_.sub(index, builder_.load(builder_.at(starts, {&bucket, 1})));
    return builder_.at(data, {&inside, 1});
}

// All indices: the address of the element.
ir::Value* FunctionLowering::element_address(Value* array, std::span<Value* const> indices) {
    switch (builtins::array_kind(array->type)) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed: {
            std::vector<Value*> chosen;
            for (size_t i = 0; i < indices.size(); ++i) {
                chosen.push_back(indexed(builder_.extract(array, 1 + static_cast<int>(i)), indices[i]));
            }
            return builder_.at(builder_.extract(array, 0), chosen);
        }
        case ArrayKind::Fabric: {
            Value* element = fabric_ref(array, indices[0]);
            if (indices.size() == 1) return element;
            return builder_.at(builder_.load(builder_.member(element, 0)), indices.subspan(1));
        }
        case ArrayKind::IndexedFabric: {
            std::vector<Value*> chosen(indices.begin(), indices.end());
            chosen[0] = indexed(builder_.extract(array, 1), indices[0]);
            return element_address(builder_.extract(array, 0), chosen);
        }
    }
    return builder_.at(array, indices);
}

FunctionLowering::Place FunctionLowering::array_like_element(Value* array, std::span<const ExprPtr> indices,
                                                             const Expr& e) {
    const Type type = array->type;
    const int ndim = builtins::array_ndim(type);
    if (static_cast<int>(indices.size()) > ndim) {
        fail(ErrorKind::Argument, e.span, too_many_indices(type, ndim, indices.size()));
    }
    std::vector<Value*> values;
    for (const auto& one : indices) {
        if (one->kind == ExprKind::Slice) {
            fail(ErrorKind::Unsupported, one->span, builtins::user_name(type) + " cannot be sliced in kernels");
        }
        values.push_back(index(*one));
    }
    at(e.span);
    if (static_cast<int>(values.size()) == ndim) {
        Place p;
        p.ref = element_address(array, values);
        p.type = builtins::array_element(type);
        return p;
    }
    if (builtins::array_kind(type) != ArrayKind::Indexed) {
        Value* first = values[0];
        Value* fabric = array;
        if (builtins::array_kind(type) == ArrayKind::IndexedFabric) {
            first = indexed(builder_.extract(array, 1), first);
            fabric = builder_.extract(array, 0);
        }
        return entity_place(builder_.load(builder_.member(fabric_ref(fabric, first), 0)));
    }
    std::vector<Value*> chosen;
    for (size_t i = 0; i < values.size(); ++i) {
        chosen.push_back(indexed(builder_.extract(array, 1 + static_cast<int>(i)), values[i]));
    }
    const Type rest =
        builtins::array_type(ArrayKind::Indexed, builtins::array_element(type), ndim - static_cast<int>(values.size()));
    std::vector<Value*> parts = {builder_.view(builder_.extract(array, 0), chosen)};
    for (int i = static_cast<int>(values.size()); i < ndim; ++i) parts.push_back(builder_.extract(array, 1 + i));
    return entity_place(builder_.compose(rest, parts));
}

}  // namespace weft::frontend
