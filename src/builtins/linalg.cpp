// Rows of vector, matrix, quaternion and transform builtins that rearrange parts or work by element. What computes more
// is in the prelude; constructors, which take types and any number of arguments, are the front end's.
#include "builtins/rows.h"

namespace weft::builtins {
namespace {

using ir::Builder;
using ir::Opcode;
using ir::Type;
using ir::Value;

Value* slice(Builder& b, Value* from, int first, Type result) {
    std::vector<Value*> parts;
    for (int i = 0; i < result.part_count(); ++i) parts.push_back(b.extract(from, first + i));
    return b.compose(result, parts);
}

}  // namespace

void linalg_rows(Rows& rows) {
    rows.group("Vector Math");
    const std::vector<Domain> any = {{-2, 2}};
    rows.add("cw_mul", "(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Vector[Scalar, n]", op(Opcode::Mul),
             "a * b, by element.", any);
    rows.add("cw_mul", "(a: Matrix[Scalar, n, m], b: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", op(Opcode::Mul),
             "", any);
    rows.add("cw_div", "(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Vector[Scalar, n]", op(Opcode::Div),
             "a / b, by element.", {{-2, 2}, {0.25, 2}});
    rows.add("cw_div", "(a: Matrix[Scalar, n, m], b: Matrix[Scalar, n, m]) -> Matrix[Scalar, n, m]", op(Opcode::Div),
             "", {{-2, 2}, {0.25, 2}});
    rows.add("transpose", "(a: Matrix[Scalar, n, m]) -> Matrix[Scalar, m, n]", expand([](const ExpandContext& c) {
                 const Type from = c.arguments[0]->type;
                 std::vector<Value*> parts;
                 for (int j = 0; j < from.columns(); ++j) {
                     for (int i = 0; i < from.rows(); ++i) {
                         parts.push_back(c.builder.extract(c.arguments[0], i * from.columns() + j));
                     }
                 }
                 return c.builder.compose(c.result, parts);
             }),
             "The matrix with rows and columns exchanged.", any);
    rows.add("diag", "(vec: Vector[Scalar, n]) -> Matrix[Scalar, n, n]", expand([](const ExpandContext& c) {
                 const int n = c.result.rows();
                 std::vector<Value*> parts(static_cast<size_t>(n * n), c.builder.zero(c.result.element_type()));
                 for (int i = 0; i < n; ++i)
                     parts[static_cast<size_t>(i * n + i)] = c.builder.extract(c.arguments[0], i);
                 return c.builder.compose(c.result, parts);
             }),
             "The matrix with the vector on its diagonal and zeros elsewhere.", any);
    rows.add("get_diag", "(mat: Matrix[Scalar, n, n]) -> Vector[Scalar, n]", expand([](const ExpandContext& c) {
                 const int n = c.result.part_count();
                 std::vector<Value*> parts;
                 for (int i = 0; i < n; ++i) parts.push_back(c.builder.extract(c.arguments[0], i * n + i));
                 return c.builder.compose(c.result, parts);
             }),
             "The diagonal of a square matrix.", any);
    rows.add("vector", "(length: int32, dtype: Any) -> Any", special(),
             "A vector of the given elements, or of `length` zeros of type `dtype`.");
    rows.add("vec", "(length: int32, dtype: Any) -> Any", special(), "An older name of `vector`.");
    rows.add("mat", "(shape: Any, dtype: Any) -> Any", special(), "An older name of `matrix`.");
    rows.add("matrix", "(shape: Any, dtype: Any) -> Any", special(),
             "A matrix of the given elements, row by row, or of zeros.");
    rows.add("matrix_from_cols", "(a: Vector[Scalar, n]) -> Any", special(),
             "The matrix with the given vectors as its columns.");
    rows.add("matrix_from_rows", "(a: Vector[Scalar, n]) -> Any", special(),
             "The matrix with the given vectors as its rows.");
    rows.add("identity", "(n: int32, dtype: Any) -> Any", special(), "The n x n identity matrix.");

    rows.group("Quaternion Math");
    rows.add("quaternion", "(x: Float, y: Float, z: Float, w: Float) -> Quaternion[Float]", special(),
             "A quaternion of its components x, y, z, w; of an imaginary vector and a real part; or zero.");
    rows.add("quat_identity", "(dtype: Any) -> Any", special(), "The rotation by nothing: (0, 0, 0, 1).");
    rows.add("quat_inverse", "(quat: Quaternion[Float]) -> Quaternion[Float]", expand([](const ExpandContext& c) {
                 std::vector<Value*> parts;
                 for (int i = 0; i < 3; ++i) parts.push_back(c.builder.neg(c.builder.extract(c.arguments[0], i)));
                 parts.push_back(c.builder.extract(c.arguments[0], 3));
                 return c.builder.compose(c.result, parts);
             }),
             "The conjugate, which is the inverse of a rotation of length one.", any);

    rows.group("Transformations");
    rows.add("transformation", "(p: Vector[Float, 3], q: Quaternion[Float]) -> Transformation[Float]", special(),
             "A transform of a position and a rotation, or of its seven components.");
    rows.add("transform_identity", "(dtype: Any) -> Any", special(), "The transform that moves nothing.");
    rows.add("transform_get_translation", "(xform: Transformation[Float]) -> Vector[Float, 3]",
             expand([](const ExpandContext& c) { return slice(c.builder, c.arguments[0], 0, c.result); }),
             "The position of a transform.", any);
    rows.add("transform_get_rotation", "(xform: Transformation[Float]) -> Quaternion[Float]",
             expand([](const ExpandContext& c) { return slice(c.builder, c.arguments[0], 3, c.result); }),
             "The rotation of a transform.", any);
}

}  // namespace weft::builtins
