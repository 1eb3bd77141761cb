// What the builder folds and merges, and what it must leave alone.
#include "ir/builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/constant.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace weft::ir {
namespace {

struct Fixture : testing::Test {
    Module module;
    Function& function = module.add("k", FunctionKind::Kernel);
    Builder b{module, function};
    Value* x = b.parameter(f32(), "x");
    Value* i = b.parameter(i32(), "i");
};

using BuilderTest = Fixture;

TEST_F(BuilderTest, FoldsIntegersAsTheMachineWould) {
    const auto fold = [&](Opcode code, Type type, int64_t a, int64_t c) {
        return constant_integer(b.binary(code, b.constant(type, a), b.constant(type, c)));
    };
    EXPECT_EQ(fold(Opcode::Add, i32(), 2147483647, 1), -2147483648);
    EXPECT_EQ(fold(Opcode::Div, i32(), -7, 2), -3);
    EXPECT_EQ(fold(Opcode::FloorDiv, i32(), -7, 2), -4);
    EXPECT_EQ(fold(Opcode::Rem, i32(), -7, 2), -1);
    EXPECT_EQ(fold(Opcode::Div, i32(), 5, 0), 0);
    EXPECT_EQ(fold(Opcode::Rem, i32(), 5, 0), 0);
    EXPECT_EQ(fold(Opcode::Div, i32(), -2147483648LL, -1), -2147483648LL);
    EXPECT_EQ(fold(Opcode::Shl, i32(), 1, 33), 2);
    EXPECT_EQ(fold(Opcode::Shr, i32(), -8, 1), -4);
    EXPECT_EQ(fold(Opcode::Shr, Type::scalar(Scalar::U8), 200, 1), 100);
    EXPECT_EQ(fold(Opcode::Mul, Type::scalar(Scalar::I8), 100, 3), 44);
}

TEST_F(BuilderTest, FoldsFloatsInTheirOwnPrecision) {
    Value* sum = b.add(b.constant(f32(), 0.1), b.constant(f32(), 0.2));
    EXPECT_EQ(constant_number(sum), static_cast<double>(0.1F + 0.2F));
    const Type f16 = Type::scalar(Scalar::F16);
    EXPECT_EQ(constant_number(b.add(b.constant(f16, 2048.0), b.constant(f16, 1.0))), 2048.0);
    EXPECT_EQ(constant_number(b.constant(f16, 65519.0)), 65504.0);
    EXPECT_TRUE(std::isinf(*constant_number(b.constant(f16, 65520.0))));
    EXPECT_EQ(constant_number(b.constant(f16, 5.960464477539063e-08)), 5.960464477539063e-08);
    Value* nan = b.constant(f32(), std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(constant_number(b.binary(Opcode::Min, nan, b.constant(f32(), 1.0))), 1.0);
    EXPECT_EQ(constant_number(b.binary(Opcode::Max, b.constant(f32(), 1.0), nan)), 1.0);
}

TEST_F(BuilderTest, TheFirstPowerIsTheNumber) {
    EXPECT_EQ(b.math(MathFn::Pow, x, b.constant(f32(), 1.0)), x);
    Value* vector = b.splat(Type::vec(3, Scalar::F32), x);
    EXPECT_EQ(b.math(MathFn::Pow, vector, b.splat(vector->type, b.constant(f32(), 1.0))), vector);
    EXPECT_NE(b.math(MathFn::Pow, x, b.constant(f32(), 2.0)), x);
}

TEST_F(BuilderTest, CastsAsTheLanguageDoes) {
    const auto cast = [&](Type to, Value* from) { return constant_integer(b.cast(to, from)); };
    EXPECT_EQ(cast(i32(), b.constant(f32(), -2.9)), -2);
    EXPECT_EQ(cast(Type::scalar(Scalar::U8), b.constant(i32(), -1)), 255);
    EXPECT_EQ(cast(i32(), b.constant(f32(), 1e20)), -2147483648LL);
    EXPECT_EQ(cast(boolean(), b.constant(f32(), std::nan(""))), 1);
}

TEST_F(BuilderTest, ExactIdentitiesOnly) {
    EXPECT_EQ(b.mul(x, b.constant(f32(), 1.0)), x);
    EXPECT_EQ(b.sub(x, b.constant(f32(), 0.0)), x);
    EXPECT_NE(b.add(x, b.constant(f32(), 0.0)), x) << "-0 + 0 is +0";
    EXPECT_NE(constant_number(b.mul(x, b.constant(f32(), 0.0))), 0.0) << "inf * 0 is NaN";
    EXPECT_EQ(b.add(i, b.constant(i32(), 0)), i);
    EXPECT_EQ(constant_integer(b.mul(i, b.constant(i32(), 0))), 0);
    EXPECT_EQ(b.neg(b.neg(x)), x);
}

TEST_F(BuilderTest, AggregatesSeeThroughEachOther) {
    const Type vec3 = Type::vec(3, Scalar::F32);
    Value* v = b.parameter(vec3, "v");
    Value* parts[] = {x, b.constant(f32(), 2.0), x};
    Value* made = b.compose(vec3, parts);
    EXPECT_EQ(b.extract(made, 0), x);
    EXPECT_EQ(b.extract_at(made, b.constant(i32(), -1)), x);
    EXPECT_EQ(b.extract(b.insert(v, x, 1), 1), x);
    EXPECT_EQ(b.extract(b.insert(v, x, 1), 2), b.extract(v, 2));
    Value* same[] = {b.extract(v, 0), b.extract(v, 1), b.extract(v, 2)};
    EXPECT_EQ(b.compose(vec3, same), v);
    EXPECT_EQ(constant_number(b.extract(b.zero(vec3), 1)), 0.0);
}

TEST_F(BuilderTest, MergesEqualOpsOfEnclosingRegionsOnly) {
    Value* outer = b.add(x, x);
    Value* inner = nullptr;
    b.if_(
        b.boolean(true), {},
        [&] {
            EXPECT_EQ(b.add(x, x), outer);
            inner = b.mul(x, x);
        },
        [&] { EXPECT_NE(b.mul(x, x), inner); });
    EXPECT_NE(b.mul(x, x), inner);
    b.return_({});
    verify(module);
}

TEST_F(BuilderTest, LoadsAreNotMerged) {
    Value* array = b.parameter(Type::array(f32(), 1), "a");
    Value* indices[] = {i};
    Value* ref = b.at(array, indices);
    EXPECT_EQ(b.at(array, indices), ref);
    EXPECT_NE(b.load(ref), b.load(ref));
}

TEST(Layout, FollowsC) {
    const Type vec3 = Type::vec(3, Scalar::F32);
    const Type s = Type::structure("S", {{"a", Type::scalar(Scalar::I8)}, {"v", vec3}, {"d", f64()}, {"b", boolean()}});
    EXPECT_EQ(offset_of(s, 1), 4);
    EXPECT_EQ(offset_of(s, 2), 16);
    EXPECT_EQ(size_of(s), 32);
    EXPECT_EQ(align_of(s), 8);
    const Type packed = Type::structure("S", s.fields(), 0, true);
    EXPECT_EQ(offset_of(packed, 2), 13);
    EXPECT_EQ(size_of(packed), 22);
    const Type aligned = Type::structure("S", {{"x", f32()}}, 16);
    EXPECT_EQ(size_of(aligned), 16);
    EXPECT_EQ(size_of(Type::array(f32(), 3)), 56);
    EXPECT_EQ(size_of(Type::mat(3, 3, Scalar::F16)), 18);
}

}  // namespace
}  // namespace weft::ir
