// The registry: every row reads, every prelude row lowers for float32, similar names are found.
#include "builtins/registry.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/lower.h"
#include "ir/text.h"

namespace weft::builtins {
namespace {

// Types that fit a signature, with float32 (or int32) elements and lengths of 3.
std::vector<ir::Type> fitting_types(const Row& row, int length) {
    Matches matches;
    matches.types = {{"Scalar", ir::f32()}, {"Float", ir::f32()}, {"Int", ir::i32()}};
    for (const char* name : {"n", "m", "p"}) matches.lengths[name] = length;
    std::vector<ir::Type> types;
    for (const auto& p : row.signature().parameters) types.push_back(substitute(p.type, matches));
    return types;
}

TEST(Registry, EveryRowLowers) {
    for (const auto& builtin : all()) {
        for (const Row* row : builtin.rows) {
            if (std::holds_alternative<LowerSpecial>(row->lowering)) continue;
            SCOPED_TRACE(row->name + row->signature().str());
            const auto types = fitting_types(*row, 3);
            EXPECT_FALSE(ir::print(*frontend::lower_call(frontend::BuiltinName{row->name}, types, {})).empty());
        }
    }
}

TEST(Registry, EveryBuiltinIsDocumentedAndGrouped) {
    for (const auto& builtin : all()) {
        EXPECT_FALSE(builtin.doc.empty()) << builtin.name;
        EXPECT_FALSE(builtin.group.empty()) << builtin.name;
    }
}

TEST(Registry, EveryMathOpHasADerivative) {
    for (int i = 0; i < ir::kMathFnCount; ++i) EXPECT_TRUE(derivative(static_cast<ir::MathFn>(i)));
}

TEST(Registry, VariablesOfASignatureAreOneType) {
    const auto signature = parse_signature("(a: Vector[Scalar, n], b: Vector[Scalar, n], t: Scalar = 1) -> Scalar");
    EXPECT_EQ(signature.str(), "(a: Vector[Scalar, n], b: Vector[Scalar, n], t: Scalar = 1) -> Scalar");
    Matches matches;
    EXPECT_TRUE(match(signature.parameters[0].type, ir::Type::vec(3, ir::Scalar::F32), matches));
    EXPECT_FALSE(match(signature.parameters[1].type, ir::Type::vec(2, ir::Scalar::F32), matches));
    EXPECT_FALSE(match(signature.parameters[2].type, ir::i32(), matches));
    EXPECT_EQ(substitute(signature.result, matches), ir::f32());
}

TEST(Registry, NamesOfTypesReadBack) {
    for (const char* name : {"float32", "vec3", "vec2d", "mat33", "mat22i", "quat", "transformd", "uint8"}) {
        EXPECT_EQ(user_name(type_named(name)), name);
    }
    EXPECT_FALSE(type_named("vec"));
}

TEST(Registry, SimilarNames) {
    const std::vector<std::string> names = {"length", "lerp", "normalize"};
    EXPECT_EQ(similar("lenght", names), std::vector<std::string>{"length"});
    EXPECT_TRUE(similar("zzz", names).empty());
}

}  // namespace
}  // namespace weft::builtins
