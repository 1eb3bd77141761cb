// Rows of the scalar mathematical functions, and the derivative of each math op.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

using ir::Builder;
using ir::MathFn;
using ir::Opcode;
using ir::Type;
using ir::Value;
using Operands = std::span<Value* const>;

// Applies a function of scalars to every element of uniform values.
Value* by_element(Builder& b, Operands arguments, Type result,
                  const std::function<Value*(std::span<Value* const>)>& f) {
    if (!result.is_uniform()) return f(arguments);
    std::vector<Value*> parts;
    for (int i = 0; i < result.part_count(); ++i) {
        std::vector<Value*> scalars;
        for (Value* a : arguments) scalars.push_back(b.extract(a, i));
        parts.push_back(f(scalars));
    }
    return b.compose(result, parts);
}

Lowering elementwise(Value* (*f)(Builder&, Value*)) {
    return expand([f](const ExpandContext& c) {
        return by_element(c.builder, c.arguments, c.result, [&](Operands x) { return f(c.builder, x[0]); });
    });
}

Value* number(Builder& b, Value* like, double value) { return b.fill(like->type, value); }

Value* sign(Builder& b, Value* x) {
    const Type t = x->type;
    if (t.is_int() && !t.is_signed()) return b.constant(t, 1);
    return b.select(b.compare(Opcode::Lt, x, b.constant(t, 0.0)), b.constant(t, -1.0), b.constant(t, 1.0));
}

Value* absolute(Builder& b, Value* x) { return x->type.is_int() && !x->type.is_signed() ? x : b.unary(Opcode::Abs, x); }

Value* step(Builder& b, Value* x) {
    const Type t = x->type;
    return b.select(b.compare(Opcode::Lt, x, b.constant(t, 0.0)), b.constant(t, 1.0), b.constant(t, 0.0));
}

Value* nonzero(Builder& b, Value* x) {
    const Type t = x->type;
    return b.select(b.compare(Opcode::Ne, x, b.constant(t, 0.0)), b.constant(t, 1.0), b.constant(t, 0.0));
}

// The argument brought into [-1, 1]; at a bound the derivative is zero because ties go to the second operand.
Value* clamp_unit(Builder& b, Value* x) {
    return b.binary(Opcode::Min, b.binary(Opcode::Max, x, number(b, x, -1)), number(b, x, 1));
}

// A test of every element, joined by `join`.
Lowering test(Value* (*f)(Builder&, Value*), Opcode join) {
    return expand([f, join](const ExpandContext& c) {
        Builder& b = c.builder;
        Value* a = c.arguments[0];
        if (!a->type.is_uniform()) return f(b, a);
        Value* all = nullptr;
        for (int i = 0; i < a->type.part_count(); ++i) {
            Value* one = f(b, b.extract(a, i));
            all = all ? b.binary(join, all, one) : one;
        }
        return all;
    });
}

Value* infinity(Builder& b, Value* like) { return b.constant(like->type, std::numeric_limits<double>::infinity()); }

Value* copysign(Builder& b, Value* x, Value* y) {
    const int bits = ir::scalar_bits(x->type.element());
    const Type word = Type::scalar(bits == 16 ? ir::Scalar::U16 : bits == 32 ? ir::Scalar::U32 : ir::Scalar::U64);
    Value* top = b.constant_bits(word, uint64_t{1} << (bits - 1));
    Value* rest = b.unary(Opcode::Not, top);
    Value* magnitude = b.binary(Opcode::And, b.bitcast(word, x), rest);
    return b.bitcast(x->type, b.binary(Opcode::Or, magnitude, b.binary(Opcode::And, b.bitcast(word, y), top)));
}

Lowering reduce(Opcode code) {
    return expand([code](const ExpandContext& c) {
        Value* best = c.builder.extract(c.arguments[0], 0);
        for (int i = 1; i < c.arguments[0]->type.part_count(); ++i) {
            // In this order the first of equal elements takes the derivative.
            best = c.builder.binary(code, c.builder.extract(c.arguments[0], i), best);
        }
        return best;
    });
}

// ---- derivatives ----

// Where a derivative is infinite, reverse mode sees to it that an adjoint of zero stays zero (ad/rules.cpp).

// `value` where `test` is not zero, else zero.
Value* unless_zero(Builder& b, Value* test, Value* value) {
    Value* zero = b.zero(test->type);
    return b.select(b.compare(Opcode::Eq, test, zero), zero, value);
}

using Adjoints = std::vector<Value*>;
constexpr double kLn2 = std::numbers::ln2;
constexpr double kLn10 = std::numbers::ln10;

std::array<MathDerivative, ir::kMathFnCount> make_derivatives() {
    std::array<MathDerivative, ir::kMathFnCount> table;
    const auto set = [&](MathFn fn, auto one) {
        table.at(static_cast<size_t>(fn)) = [one](Builder& b, Operands x, Value* r, Value* g) -> Adjoints {
            return {one(b, x[0], r, g)};
        };
    };
    const auto flat = [](Builder& b, Value* x, Value*, Value*) { return b.zero(x->type); };
    using B = Builder;
    // Infinite at 0, as the limit is. The division does not wait for the adjoint, and can leave loops.
    set(MathFn::Sqrt, [](B& b, Value* x, Value* r, Value* g) { return b.mul(g, b.div(number(b, x, 0.5), r)); });
    set(MathFn::Cbrt, [](B& b, Value* x, Value* r, Value* g) { return b.div(g, b.mul(number(b, x, 3), b.mul(r, r))); });
    set(MathFn::Sin, [](B& b, Value* x, Value*, Value* g) { return b.mul(g, b.math(MathFn::Cos, x)); });
    set(MathFn::Cos, [](B& b, Value* x, Value*, Value* g) { return b.neg(b.mul(g, b.math(MathFn::Sin, x))); });
    set(MathFn::Tan, [](B& b, Value* x, Value* r, Value* g) { return b.mul(g, b.add(number(b, x, 1), b.mul(r, r))); });
    set(MathFn::Asin, [](B& b, Value* x, Value*, Value* g) {
        return b.div(g, b.math(MathFn::Sqrt, b.sub(number(b, x, 1), b.mul(x, x))));
    });
    set(MathFn::Acos, [](B& b, Value* x, Value*, Value* g) {
        return b.neg(b.div(g, b.math(MathFn::Sqrt, b.sub(number(b, x, 1), b.mul(x, x)))));
    });
    set(MathFn::Atan, [](B& b, Value* x, Value*, Value* g) { return b.div(g, b.add(number(b, x, 1), b.mul(x, x))); });
    set(MathFn::Sinh, [](B& b, Value* x, Value*, Value* g) { return b.mul(g, b.math(MathFn::Cosh, x)); });
    set(MathFn::Cosh, [](B& b, Value* x, Value*, Value* g) { return b.mul(g, b.math(MathFn::Sinh, x)); });
    set(MathFn::Tanh, [](B& b, Value* x, Value* r, Value* g) { return b.mul(g, b.sub(number(b, x, 1), b.mul(r, r))); });
    set(MathFn::Exp, [](B& b, Value*, Value* r, Value* g) { return b.mul(g, r); });
    set(MathFn::Log, [](B& b, Value* x, Value*, Value* g) { return b.div(g, x); });
    set(MathFn::Log2, [](B& b, Value* x, Value*, Value* g) { return b.div(g, b.mul(x, number(b, x, kLn2))); });
    set(MathFn::Log10, [](B& b, Value* x, Value*, Value* g) { return b.div(g, b.mul(x, number(b, x, kLn10))); });
    const auto bell = [](B& b, Value* x, double scale) {
        return b.mul(number(b, x, scale * std::numbers::inv_sqrtpi), b.math(MathFn::Exp, b.neg(b.mul(x, x))));
    };
    set(MathFn::Erf, [bell](B& b, Value* x, Value*, Value* g) { return b.mul(g, bell(b, x, 2)); });
    set(MathFn::Erfc, [bell](B& b, Value* x, Value*, Value* g) { return b.mul(g, bell(b, x, -2)); });
    for (const auto fn : {MathFn::Floor, MathFn::Ceil, MathFn::Trunc, MathFn::Round, MathFn::Rint}) set(fn, flat);

    // 0 at the origin, where the angle has no derivative.
    table.at(static_cast<size_t>(MathFn::Atan2)) = [](Builder& b, Operands o, Value*, Value* g) -> Adjoints {
        Value* square = b.add(b.mul(o[0], o[0]), b.mul(o[1], o[1]));
        Value* scale = unless_zero(b, square, b.div(g, square));
        return {b.mul(scale, o[1]), b.neg(b.mul(scale, o[0]))};
    };
    // d/dy is log(x) * x ** y; where the power is 0 for x = 0 it is 0, the limit, and not 0 * inf.
    table.at(static_cast<size_t>(MathFn::Pow)) = [](Builder& b, Operands o, Value* r, Value* g) -> Adjoints {
        Value* power = b.math(MathFn::Pow, o[0], b.sub(o[1], number(b, o[1], 1)));
        Value* dx = b.mul(g, b.mul(o[1], power));
        Value* dy = unless_zero(b, r, b.mul(g, b.mul(r, b.math(MathFn::Log, o[0]))));
        return {dx, dy};
    };
    for (size_t i = 0; i < table.size(); ++i) {
        WEFT_CHECK(table[i], "math." + std::string(ir::mnemonic(static_cast<MathFn>(i))) + " lacks a derivative");
    }
    return table;
}

}  // namespace

const MathDerivative& derivative(MathFn fn) {
    static const auto table = make_derivatives();
    return table.at(static_cast<size_t>(fn));
}

void math_rows(Rows& rows) {
    rows.group("Scalar Math");
    const std::vector<Domain> two = {{-2, 2}, {-2, 2}};
    for (const auto& [name, code, doc] :
         {std::tuple{"min", Opcode::Min, "The smaller of two, by element; or the smallest element."},
          std::tuple{"max", Opcode::Max, "The larger of two, by element; or the largest element."}}) {
        rows.add(name, "(a: Scalar, b: Scalar) -> Scalar", op(code), doc, two);
        rows.add(name, "(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Vector[Scalar, n]", op(code), "", two);
        rows.add(name, "(a: Vector[Scalar, n]) -> Scalar", reduce(code), "", {{-2, 2}});
    }
    // In this order NaN becomes `low`, and ties pass the derivative on at the lower bound only.
    rows.add("clamp", "(x: Scalar, low: Scalar, high: Scalar) -> Scalar", expand([](const ExpandContext& c) {
                 Value* raised = c.builder.binary(Opcode::Max, c.arguments[1], c.arguments[0]);
                 return c.builder.binary(Opcode::Min, raised, c.arguments[2]);
             }),
             "x brought into [low, high].", {{-3, 3}, {-1.5, -0.5}, {0.5, 1.5}});
    const auto both = [&](std::string_view name, Value* (*f)(Builder&, Value*), std::string_view doc,
                          const Domain& domain) {
        rows.add(name, "(x: Scalar) -> Scalar", elementwise(f), doc, {domain});
        rows.add(name, "(x: Vector[Scalar, n]) -> Vector[Scalar, n]", elementwise(f), "", {domain});
    };
    both("abs", absolute, "The absolute value, by element.", {-2, 2, {0}});
    both("sign", sign, "-1 where x < 0, else 1.", {-2, 2, {0}});
    rows.add("step", "(x: Scalar) -> Scalar", elementwise(step), "1 where x < 0, else 0.", {{-2, 2, {0}}});
    rows.add("nonzero", "(x: Scalar) -> Scalar", elementwise(nonzero), "0 where x is 0, else 1.", {{-2, 2, {0}}});
    rows.add("copysign", "(x: Float, y: Float) -> Float",
             expand([](const ExpandContext& c) { return copysign(c.builder, c.arguments[0], c.arguments[1]); }),
             "x with the sign of y.", two)
        .differentiable = false;

    const auto plain = [&](std::string_view name, MathFn fn, std::string_view doc, const Domain& domain) {
        rows.add(name, "(x: Float) -> Float", math(fn), doc, {domain});
    };
    plain("sin", MathFn::Sin, "The sine of x in radians.", {-4, 4});
    plain("cos", MathFn::Cos, "The cosine of x in radians.", {-4, 4});
    plain("tan", MathFn::Tan, "The tangent of x in radians.", {-1.4, 1.4});
    rows.add("asin", "(x: Float) -> Float", expand([](const ExpandContext& c) {
                 return c.builder.math(MathFn::Asin, clamp_unit(c.builder, c.arguments[0]));
             }),
             "The arcsine of x brought into [-1, 1], in radians.", {{-0.9, 0.9}});
    rows.add("acos", "(x: Float) -> Float", expand([](const ExpandContext& c) {
                 return c.builder.math(MathFn::Acos, clamp_unit(c.builder, c.arguments[0]));
             }),
             "The arccosine of x brought into [-1, 1], in radians.", {{-0.9, 0.9}});
    plain("sqrt", MathFn::Sqrt, "The square root.", {0.1, 4});
    plain("cbrt", MathFn::Cbrt, "The cube root.", {0.1, 4});
    plain("atan", MathFn::Atan, "The arctangent, in radians.", {-4, 4});
    rows.add("atan2", "(y: Float, x: Float) -> Float", math(MathFn::Atan2),
             "The angle of the point (x, y), in radians.", {{0.2, 2}, {0.2, 2}});
    plain("sinh", MathFn::Sinh, "The hyperbolic sine.", {-2, 2});
    plain("cosh", MathFn::Cosh, "The hyperbolic cosine.", {-2, 2});
    plain("tanh", MathFn::Tanh, "The hyperbolic tangent.", {-2, 2});
    rows.add("degrees", "(x: Float) -> Float", expand([](const ExpandContext& c) {
                 return c.builder.mul(c.arguments[0], c.builder.constant(c.result, 180.0 / std::numbers::pi));
             }),
             "Radians as degrees.", {{-4, 4}});
    rows.add("radians", "(x: Float) -> Float", expand([](const ExpandContext& c) {
                 return c.builder.mul(c.arguments[0], c.builder.constant(c.result, std::numbers::pi / 180.0));
             }),
             "Degrees as radians.", {{-180, 180}});
    plain("log", MathFn::Log, "The natural logarithm.", {0.1, 4});
    plain("log2", MathFn::Log2, "The logarithm to base 2.", {0.1, 4});
    plain("log10", MathFn::Log10, "The logarithm to base 10.", {0.1, 4});
    plain("exp", MathFn::Exp, "e ** x.", {-2, 2});
    rows.add("pow", "(x: Float, y: Float) -> Float", math(MathFn::Pow), "x ** y.", {{0.2, 2}, {-2, 2}});
    plain("erf", MathFn::Erf, "The error function.", {-2, 2});
    plain("erfc", MathFn::Erfc, "1 - erf(x).", {-2, 2});
    plain("round", MathFn::Round, "The nearest integer; halves go away from zero.",
          {-3, 3, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}});
    plain("rint", MathFn::Rint, "The nearest integer; halves go to the even one.",
          {-3, 3, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}});
    plain("trunc", MathFn::Trunc, "The integer next to x toward zero.", {-3, 3, {-2, -1, 0, 1, 2}});
    plain("floor", MathFn::Floor, "The largest integer not above x.", {-3, 3, {-2, -1, 0, 1, 2}});
    plain("ceil", MathFn::Ceil, "The smallest integer not below x.", {-3, 3, {-2, -1, 0, 1, 2}});
    rows.add("frac", "(x: Float) -> Float", expand([](const ExpandContext& c) {
                 return c.builder.sub(c.arguments[0], c.builder.math(MathFn::Trunc, c.arguments[0]));
             }),
             "x - trunc(x), with the sign of x.", {{-3, 3, {-2, -1, 0, 1, 2}}});

    const auto tests = [&](std::string_view name, Value* (*f)(Builder&, Value*), Opcode join, std::string_view doc) {
        for (const auto* type : {"Float", "Vector[Float, n]", "Quaternion[Float]", "Matrix[Float, n, m]"}) {
            rows.add(name, std::string("(a: ") + type + ") -> bool", test(f, join), doc).differentiable = false;
        }
    };
    tests(
        "isfinite", [](Builder& b, Value* x) { return b.compare(Opcode::Lt, b.unary(Opcode::Abs, x), infinity(b, x)); },
        Opcode::And, "Whether every element is neither infinite nor NaN.");
    tests(
        "isnan", [](Builder& b, Value* x) { return b.compare(Opcode::Ne, x, x); }, Opcode::Or,
        "Whether any element is NaN.");
    tests(
        "isinf", [](Builder& b, Value* x) { return b.compare(Opcode::Eq, b.unary(Opcode::Abs, x), infinity(b, x)); },
        Opcode::Or, "Whether any element is infinite.");
}

}  // namespace weft::builtins
