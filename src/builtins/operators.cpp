// Rows of the operators: what + - * / // % ** & | ^ << >> ~ and unary - mean for each mix of operand types.
// Products of matrices, quaternions and transforms are in prelude/linalg.py and prelude/quaternion.py.
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

using ir::Opcode;
using ir::Value;

// Elementwise, the scalar operand standing for every element.
Lowering scaled(Opcode code) {
    return expand([code](const ExpandContext& c) {
        Value* a = c.builder.splat(c.result, c.arguments[0]);
        Value* b = c.builder.splat(c.result, c.arguments[1]);
        return c.builder.binary(code, a, b);
    });
}

}  // namespace

void operator_rows(Rows& rows) {
    rows.group("Operators");
    const std::vector<Domain> any = {{-2, 2}, {-2, 2}};
    const std::vector<Domain> divisor = {{-2, 2}, {0.25, 2}};

    const auto elementwise = [&](std::string_view name, Opcode code, std::string_view doc) {
        rows.add(name, "(a: Scalar, b: Scalar) -> Scalar", op(code), doc, any);
        rows.add(name, "(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Vector[Scalar, n]", op(code), "", any);
        rows.add(name, "(a: Quaternion[Float], b: Quaternion[Float]) -> Quaternion[Float]", op(code), "", any);
        rows.add(name, "(a: Matrix[Scalar, n, m], b: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", op(code), "", any);
        rows.add(name, "(a: Transformation[Float], b: Transformation[Float]) -> Transformation[Float]", op(code), "",
                 any);
    };
    elementwise("add", Opcode::Add, "a + b, by element.");
    elementwise("sub", Opcode::Sub, "a - b, by element.");

    rows.add(
        "mul", "(a: Scalar, b: Scalar) -> Scalar", op(Opcode::Mul),
        "a * b: the product of numbers, of a number and every element, of matrices, of rotations or of transforms.",
        any);
    rows.add("mul", "(a: Vector[Scalar, n], b: Scalar) -> Vector[Scalar, n]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Scalar, b: Vector[Scalar, n]) -> Vector[Scalar, n]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Quaternion[Float], b: Float) -> Quaternion[Float]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Float, b: Quaternion[Float]) -> Quaternion[Float]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Scalar, b: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Matrix[Scalar, n, m], b: Scalar) -> Matrix[Scalar, n, m]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Float, b: Transformation[Float]) -> Transformation[Float]", scaled(Opcode::Mul), "", any);
    rows.add("mul", "(a: Transformation[Float], b: Float) -> Transformation[Float]", scaled(Opcode::Mul), "", any);

    rows.add("div", "(a: Scalar, b: Scalar) -> Scalar", op(Opcode::Div), "a / b, by element; integers truncate.",
             divisor);
    rows.add("div", "(a: Vector[Scalar, n], b: Scalar) -> Vector[Scalar, n]", scaled(Opcode::Div), "", divisor);
    rows.add("div", "(a: Scalar, b: Vector[Scalar, n]) -> Vector[Scalar, n]", scaled(Opcode::Div), "", divisor);
    rows.add("div", "(a: Matrix[Scalar, n, m], b: Scalar) -> Matrix[Scalar, n, m]", scaled(Opcode::Div), "", divisor);
    rows.add("div", "(a: Scalar, b: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", scaled(Opcode::Div), "", divisor);
    rows.add("div", "(a: Quaternion[Float], b: Float) -> Quaternion[Float]", scaled(Opcode::Div), "", divisor);
    rows.add("div", "(a: Float, b: Quaternion[Float]) -> Quaternion[Float]", scaled(Opcode::Div), "", divisor);

    rows.add("floordiv", "(a: Scalar, b: Scalar) -> Scalar", op(Opcode::FloorDiv), "a // b, rounded down.", divisor);
    rows.add("mod", "(a: Scalar, b: Scalar) -> Scalar", op(Opcode::Rem), "a % b, with the sign of a.", divisor);
    rows.add("mod", "(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Vector[Scalar, n]", op(Opcode::Rem), "", divisor);

    const auto unary = [&](std::string_view name, const Lowering& lowering, std::string_view doc) {
        rows.add(name, "(x: Scalar) -> Scalar", lowering, doc, {{-2, 2}});
        rows.add(name, "(x: Vector[Scalar, n]) -> Vector[Scalar, n]", lowering, "", {{-2, 2}});
        rows.add(name, "(x: Quaternion[Float]) -> Quaternion[Float]", lowering, "", {{-2, 2}});
        rows.add(name, "(x: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", lowering, "", {{-2, 2}});
    };
    unary("neg", op(Opcode::Neg), "-x, by element.");
    unary("pos", expand([](const ExpandContext& c) { return c.arguments[0]; }), "+x.");
    rows.add("unot", "(a: Any) -> bool", special(), "not a: true for false and zero.");

    const auto bits = [&](std::string_view name, Opcode code, std::string_view doc) {
        rows.add(name, "(a: Int, b: Int) -> Int", op(code), doc);
        rows.add(name, "(a: Vector[Int, n], b: Vector[Int, n]) -> Vector[Int, n]", op(code));
        rows.add(name, "(a: Matrix[Int, n, m], b: Matrix[Int, n, m]) -> Matrix[Int, n, m]", op(code));
    };
    bits("bit_and", Opcode::And, "a & b, by element.");
    bits("bit_or", Opcode::Or, "a | b, by element.");
    bits("bit_xor", Opcode::Xor, "a ^ b, by element.");
    bits("lshift", Opcode::Shl, "a << b; the count is taken modulo the width.");
    bits("rshift", Opcode::Shr, "a >> b, keeping the sign of signed numbers; the count is taken modulo the width.");
    rows.add("invert", "(a: Int) -> Int", op(Opcode::Not), "~a, by element.");
    rows.add("invert", "(a: Vector[Int, n]) -> Vector[Int, n]", op(Opcode::Not));
    rows.add("invert", "(a: Matrix[Int, n, m]) -> Matrix[Int, n, m]", op(Opcode::Not));
}

}  // namespace weft::builtins
