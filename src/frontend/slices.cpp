// Indices and slices: which parts of vectors and matrices they choose, and the views they make of arrays.
#include <algorithm>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;
using ir::TypeKind;

ir::Value* FunctionLowering::wrapped_index(const Expr& e, int length) {
    Value* v = index(e);
    if (const auto known = ir::constant_integer(v)) {
        const int64_t part = *known < 0 ? *known + length : *known;
        if (part < 0 || part >= length) {
            fail(ErrorKind::Value, e.span,
                 "index " + std::to_string(*known) + " is out of range: there are " + std::to_string(length) +
                     " elements");
        }
        return builder_.constant(ir::i32(), part);
    }
    check_part(v, length, e.span);
    v = builder_.cast(ir::i32(), v);
    Value* negative = builder_.compare(Opcode::Lt, v, builder_.constant(ir::i32(), 0));
    return builder_.select(negative, builder_.add(v, builder_.constant(ir::i32(), length)), v);
}

// Elements of a slice with bounds known at compile time: first, step and count, as Python clamps them.
FunctionLowering::Range FunctionLowering::known_range(const Expr& e, int length) {
    const auto bound = [&](size_t i) -> std::optional<int64_t> {
        if (e.child(i).kind == ExprKind::Missing || e.child(i).kind == ExprKind::None) return std::nullopt;
        const auto known = ir::constant_integer(index(e.child(i)));
        if (!known)
            fail(ErrorKind::Value, e.child(i).span,
                 "the bounds of this slice must be known when the kernel is compiled");
        return known;
    };
    const int64_t step = bound(2).value_or(1);
    if (step == 0) fail(ErrorKind::Value, e.span, "Slice step cannot be zero");
    const int64_t lowest = step > 0 ? 0 : -1;
    const int64_t highest = step > 0 ? length : length - 1;
    const auto clamped = [&](int64_t i) { return std::clamp(i < 0 ? i + length : i, lowest, highest); };
    const auto first = bound(0);
    const auto last = bound(1);
    const int64_t start = first ? clamped(*first) : (step > 0 ? 0 : length - 1);
    const int64_t stop = last ? clamped(*last) : (step > 0 ? length : -1);
    const int64_t count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    if (count <= 0) fail(ErrorKind::Value, e.span, "this slice is empty");
    return {static_cast<int>(start), static_cast<int>(step), static_cast<int>(count)};
}

FunctionLowering::Step FunctionLowering::part_step(Type type, std::span<const ExprPtr> indices, const Expr& e) {
    const Type element = type.element_type();
    const auto vec = [&](int n) { return Type::vec(n, type.element()); };
    const auto constant = [&](int n) { return builder_.constant(ir::i32(), n); };
    if (!type.is(TypeKind::Mat)) {
        if (indices.size() != 1) {
            fail(ErrorKind::Argument, e.span,
                 user_name(type) + " takes one index, found " + std::to_string(indices.size()));
        }
        if (indices[0]->kind == ExprKind::Slice) {
            const Range r = known_range(*indices[0], type.part_count());
            return {constant(r.first), r.step, r.count, vec(r.count), {}};
        }
        return {wrapped_index(*indices[0], type.part_count()), 1, 0, element, {}};
    }
    const int rows = type.rows();
    const int columns = type.columns();
    if (indices.size() > 2) {
        fail(ErrorKind::Argument, e.span,
             user_name(type) + " takes one or two indices, found " + std::to_string(indices.size()));
    }
    const bool row_slice = indices[0]->kind == ExprKind::Slice;
    const bool column_slice = indices.size() == 2 && indices[1]->kind == ExprKind::Slice;
    if (row_slice && (indices.size() == 1 || column_slice)) {
        const Range r = known_range(*indices[0], rows);
        const Range c = column_slice ? known_range(*indices[1], columns) : Range{0, 1, columns};
        Step step{constant(0), 1, r.count * c.count, Type::mat(r.count, c.count, type.element()), {}};
        for (int i = 0; i < r.count; ++i) {
            for (int j = 0; j < c.count; ++j) {
                step.parts.push_back(constant((r.first + i * r.step) * columns + c.first + j * c.step));
            }
        }
        return step;
    }
    if (row_slice) {
        const Range r = known_range(*indices[0], rows);
        Value* base = builder_.add(constant(r.first * columns), wrapped_index(*indices[1], columns));
        return {base, r.step * columns, r.count, vec(r.count), {}};
    }
    Value* row = builder_.mul(wrapped_index(*indices[0], rows), constant(columns));
    if (indices.size() == 1) return {row, 1, columns, vec(columns), {}};
    if (column_slice) {
        const Range c = known_range(*indices[1], columns);
        return {builder_.add(row, constant(c.first)), c.step, c.count, vec(c.count), {}};
    }
    return {builder_.add(row, wrapped_index(*indices[1], columns)), 1, 0, element, {}};
}

// What `step` chooses among the parts that `last` has chosen.
FunctionLowering::Step FunctionLowering::chosen_among(const Step& last, const Step& step) {
    const auto original = [&](Value* part) -> Value* {
        if (const auto known = ir::constant_integer(part)) return flat_index(last, static_cast<int>(*known));
        if (last.parts.empty()) {
            return builder_.add(last.base, builder_.mul(part, builder_.constant(ir::i32(), last.stride)));
        }
        Value* found = last.parts[0];
        for (size_t i = 1; i < last.parts.size(); ++i) {
            Value* here = builder_.compare(Opcode::Eq, part, builder_.constant(ir::i32(), static_cast<int>(i)));
            found = builder_.select(here, last.parts[i], found);
        }
        return found;
    };
    Step out{nullptr, 1, step.count, step.type, {}};
    if (last.parts.empty() && step.parts.empty()) {
        out.base = original(step.base);
        out.stride = last.stride * step.stride;
        return out;
    }
    for (int k = 0; k < std::max(1, step.count); ++k) out.parts.push_back(original(flat_index(step, k)));
    out.base = out.parts[0];
    return out;
}

// ---- slices of arrays ----

// `*a[0:3]` among arguments: as many elements as the bounds say, which must be known.
bool FunctionLowering::starred_slice(const Expr& e, std::vector<Argument>& out) {
    if (e.kind != ExprKind::Subscript || e.children.size() != 2 || e.child(1).kind != ExprKind::Slice) return false;
    const Place p = place(e.child(0));
    if (!p.type.is(TypeKind::Array)) return false;
    Value* array = materialize(read(p, e.span), e.span);
    const Expr& slice = e.child(1);
    const auto bound = [&](size_t i, const char* what) -> std::optional<int64_t> {
        if (slice.child(i).kind == ExprKind::Missing) return std::nullopt;
        const auto known = ir::constant_integer(index(slice.child(i)));
        if (!known)
            fail(ErrorKind::Value, slice.child(i).span,
                 "Slice component must be a compile-time constant behind `*`: the number of arguments depends on it");
        if (*known < 0)
            fail(ErrorKind::Value, slice.child(i).span,
                 std::string(what) +
                     " cannot be negative for arrays behind `*`: their length is not known when the kernel is " +
                     "compiled");
        return known;
    };
    const int64_t first = bound(0, "start").value_or(0);
    const auto last = bound(1, "end");
    const int64_t step = bound(2, "step").value_or(1);
    if (!last)
        fail(ErrorKind::Value, slice.span,
             "a slice of an array behind `*` requires explicit upper bound: its length is not known when the kernel is "
             "compiled");
    if (step == 0) fail(ErrorKind::Value, slice.span, "Slice step cannot be zero");
    for (int64_t i = first; i < *last; i += step) {
        Value* one = builder_.constant(ir::i32(), i);
        const bool whole = array->type.ndim() == 1;
        out.push_back({"", whole ? builder_.load(builder_.at(array, {&one, 1})) : builder_.view(array, {&one, 1}),
                       e.span, nullptr});
    }
    return true;
}

ir::Value* FunctionLowering::array_slice(Value* array, std::span<const ExprPtr> indices, const Expr& e) {
    const auto ndim = static_cast<size_t>(array->type.ndim());
    std::vector<Value*> values;
    bool ranges[8] = {};
    const auto number = [&](int n) { return builder_.constant(ir::i32(), n); };
    const auto at_least = [&](Value* a, Value* b) { return builder_.binary(Opcode::Max, a, b); };
    const auto at_most = [&](Value* a, Value* b) { return builder_.binary(Opcode::Min, a, b); };
    for (size_t d = 0; d < ndim; ++d) {
        Value* length = builder_.shape(array, static_cast<int>(d));
        if (d < indices.size() && indices[d]->kind != ExprKind::Slice) {
            values.push_back(index(*indices[d]));
            if (!nullable_.contains(array)) check_index(array, values.back(), d, indices[d]->span);
            continue;
        }
        ranges[d] = true;
        if (d >= indices.size()) {
            values.insert(values.end(), {number(0), length, number(1)});
            continue;
        }
        const Expr& slice = *indices[d];
        const auto bound = [&](size_t i) -> Value* {
            const Expr& one = slice.child(i);
            if (one.kind == ExprKind::Missing || one.kind == ExprKind::None) return nullptr;
            return builder_.cast(ir::i32(), index(one));
        };
        Value* first = bound(0);
        Value* last = bound(1);
        Value* step = bound(2);
        at(e.span);
        if (!step) step = number(1);
        if (ir::constant_integer(step) == 0) fail(ErrorKind::Value, slice.span, "Slice step cannot be zero");
        // In every mode: what such a slice would hold is nobody's intention.
        if (!ir::constant_integer(step)) {
            check(builder_.compare(Opcode::Ne, step, number(0)), "slice step cannot be zero", slice.span, {});
        }
        Value* up = builder_.compare(Opcode::Gt, step, number(0));
        Value* top = builder_.sub(length, number(1));
        const auto clamped = [&](Value* i) {
            Value* counted = builder_.select(builder_.compare(Opcode::Lt, i, number(0)), builder_.add(i, length), i);
            Value* rising = at_most(at_least(counted, number(0)), length);
            return builder_.select(up, rising, at_most(at_least(counted, number(-1)), top));
        };
        first = first ? clamped(first) : builder_.select(up, number(0), top);
        last = last ? clamped(last) : builder_.select(up, length, number(-1));
        Value* stride = builder_.select(up, step, builder_.neg(step));
        Value* distance = builder_.select(up, builder_.sub(last, first), builder_.sub(first, last));
        Value* count = builder_.div(builder_.add(distance, builder_.sub(stride, number(1))), stride);
        values.insert(values.end(), {first, at_least(count, number(0)), step});
    }
    at(e.span);
    return builder_.slice(array, {ranges, ndim}, values);
}

}  // namespace weft::frontend
