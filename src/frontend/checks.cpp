// What is checked while a kernel runs: expectations, which print where they fail.
#include <limits>

#include "builtins/array_kinds.h"
#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;
using ir::TypeKind;

void FunctionLowering::check(Value* condition, const std::string& message, const Span& span,
                             std::span<Value* const> numbers) {
    // What the source line holds is no format.
    std::string where;
    for (const char c : render("", source_.location(span), {}))
        where += c == '%' ? std::string("%%") : std::string(1, c);
    at(span);
    builder_.assertion(condition, message + where, numbers);
}

// In range, or negative and counted from the end.
void FunctionLowering::check_index(Value* array, Value* index, size_t dimension, const Span& span) {
    if (!instances_.options().checks) return;
    Value* i = builder_.cast(ir::i64(), index);
    const int ndim = array->type.ndim();
    std::vector<Value*> numbers = {i};
    std::string shape;
    for (int d = 0; d < ndim; ++d) {
        numbers.push_back(builder_.cast(ir::i64(), builder_.shape(array, d)));
        shape += (d > 0 ? ", %lld" : "%lld");
    }
    Value* size = numbers[1 + dimension];
    Value* inside = builder_.binary(Opcode::And, builder_.compare(Opcode::Ge, i, builder_.neg(size)),
                                    builder_.compare(Opcode::Lt, i, size));
    check(inside,
          "index %lld is out of bounds for dimension " + std::to_string(dimension) + " of an array of shape (" + shape +
              (ndim == 1 ? ",)" : ")"),
          span, numbers);
}

// Launches refuse extents that int32 cannot hold; their product is looked at here, in every mode.
ir::Value* FunctionLowering::element_count(Value* array, const Span& span) {
    const int ndim = builtins::array_ndim(array->type);
    if (ndim == 1) return array_extent(array, 0);
    Value* count = builder_.cast(ir::i64(), array_extent(array, 0));
    for (int d = 1; d < ndim; ++d) count = builder_.mul(count, builder_.cast(ir::i64(), array_extent(array, d)));
    Value* most = builder_.constant(ir::i64(), int64_t{std::numeric_limits<int32_t>::max()});
    check(builder_.compare(Opcode::Le, count, most), "the array has %lld elements, which int32 cannot hold", span,
          {&count, 1});
    return builder_.cast(ir::i32(), count);
}

void FunctionLowering::check_part(Value* index, int length, const Span& span) {
    if (!instances_.options().checks) return;
    Value* i = builder_.cast(ir::i64(), index);
    const auto number = [&](int n) { return builder_.constant(ir::i64(), n); };
    Value* inside = builder_.binary(Opcode::And, builder_.compare(Opcode::Ge, i, number(-length)),
                                    builder_.compare(Opcode::Lt, i, number(length)));
    check(inside, "index %lld is out of bounds: there are " + std::to_string(length) + " elements", span, {&i, 1});
}

void FunctionLowering::check_finite(Value* stored, const Span& span) {
    const Type type = stored->type;
    if (!instances_.options().verify_fp || !type.has_float_elements()) return;
    Value* fine = builder_.boolean(true);
    for (int k = 0; k < (type.is_scalar() ? 1 : type.part_count()); ++k) {
        Value* v = type.is_scalar() ? stored : builder_.extract(stored, k);
        Value* zero = builder_.sub(v, v);  // NaN for NaN and infinities
        fine = builder_.binary(Opcode::And, fine, builder_.compare(Opcode::Eq, zero, zero));
    }
    check(fine, "a value that is not finite is stored", span);
}

// Whether two values of one type are equal, part by part.
ir::Value* FunctionLowering::equal(Value* a, Value* b, const Span& span) {
    if (a->type.is_scalar()) return builder_.compare(Opcode::Eq, a, b);
    if (a->type.is(TypeKind::Array) || !a->type.is_aggregate())
        fail(ErrorKind::Type, span, "values of type " + user_name(a->type) + " cannot be compared");
    Value* all = builder_.boolean(true);
    for (int i = 0; i < a->type.part_count(); ++i) {
        all = builder_.binary(Opcode::And, all, equal(builder_.extract(a, i), builder_.extract(b, i), span));
    }
    return all;
}

// expect_eq, expect_neq, expect_near: print the two values where they are not as expected.
Entity FunctionLowering::special_expect(const Expr& e, std::vector<Argument> a) {
    const std::string& name = e.child(0).text;
    const bool near = name == "expect_near";
    std::optional<Argument> tolerance = take(a, "tolerance");
    if (near && !tolerance && a.size() == 3) {
        tolerance = a.back();
        a.pop_back();
    }
    for (auto& one : a) one.name.clear();
    if (a.size() != 2 || (tolerance && !near))
        fail(ErrorKind::Argument, e.span, name + " takes two values" + (near ? " and a tolerance" : ""));
    Value* x = materialize(a[0].entity, a[0].span);
    Value* y = materialize(a[1].entity, a[1].span);
    if (x->type != y->type) {
        fail(ErrorKind::Type, e.span,
             name + " needs two values of one type, found " + user_name(x->type) + " and " + user_name(y->type));
    }
    at(e.span);
    Value* fine = nullptr;
    if (near) {
        const Type type = x->type;
        if (!type.has_float_elements())
            fail(ErrorKind::Type, e.span, "expect_near needs floats, found " + user_name(type));
        Value* limit = tolerance ? convert(tolerance->entity, type.element_type(), tolerance->span)
                                 : builder_.constant(type.element_type(), 1e-6);
        Value* distance = builder_.unary(Opcode::Abs, builder_.sub(x, y));
        fine = builder_.boolean(true);
        for (int i = 0; i < (type.is_scalar() ? 1 : type.part_count()); ++i) {
            Value* one = type.is_scalar() ? distance : builder_.extract(distance, i);
            fine = builder_.binary(Opcode::And, fine, builder_.compare(Opcode::Le, one, limit));
        }
    } else {
        fine = equal(x, y, e.span);
        if (name == "expect_neq") fine = builder_.logical_not(fine);
    }
    const Location where = source_.location(e.span);
    const std::string head = "Error: " + (where.file ? where.file->path : std::string("?")) + ":" +
                             std::to_string(where.line) + ": " + name + " failed: " + source_.text(e.span);
    branch(
        fine, []() -> std::vector<Value*> { return {}; },
        [&]() -> std::vector<Value*> {
            special_print(e, {{"", StringValue{head}, e.span, nullptr}});
            for (const Argument& one : a) {
                const Type type = one.entity.type();
                if (type.is_scalar() || type.is_uniform()) special_print(e, {{"", one.entity, one.span, nullptr}});
            }
            return {};
        });
    return Unknown{};
}

}  // namespace weft::frontend
