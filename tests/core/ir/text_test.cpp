// The text form of the IR: exact round trips, and errors that say where.
#include "ir/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"

namespace weft::ir {
namespace {

void expect_round_trip(const std::string& text) {
    const auto module = parse(text);
    verify(*module);
    EXPECT_EQ(print(*module), text);
}

TEST(Text, StraightCode) {
    expect_round_trip(R"(kernel @lengths(%points: array<vec<3, f32>, 1>, %lengths: array<f32, 1>) {
  %tid = thread.index [0] : i32
  %0 = at(%points, %tid) : ref<vec<3, f32>>
  %p = load(%0) : vec<3, f32>
  %1 = call(%p) "length" : f32
  %2 = at(%lengths, %tid) : ref<f32>
  store(%2, %1)
  return
}
func @length(%v: vec<3, f32>) -> (f32) adjoint @length.grad replay @length.again {
  %0 = mul(%v, %v) : vec<3, f32>
  %1 = extract(%0) [0] : f32
  %2 = math.sqrt(%1) : f32
  return(%2)
}
func @length.again(%v: vec<3, f32>) -> (f32) {
  %0 = extract(%v) [0] : f32
  return(%0)
}
func @length.grad(%v: vec<3, f32>, %g: f32) -> (vec<3, f32>) {
  %0 = splat(%g) : vec<3, f32>
  return(%0)
}
)");
}

TEST(Text, LocationsInFull) {
    const auto file = std::make_shared<SourceFile>(SourceFile{"a.py", "text", 1});
    const auto other = std::make_shared<SourceFile>(SourceFile{"b.py", "", 1});
    auto module = parse("kernel @k(%x: i32) {\n  %0 = neg(%x) : i32\n  %1 = neg(%0) : i32\n  return\n}\n");
    Function& kernel = *module->functions[0];
    kernel.location = {file, 3, 1, 9, 2};
    kernel.body.ops[0]->location = {other, 4, 5, 4, 7};
    kernel.body.ops[1]->location = {file, 5, 0, 6, 1};
    SourceFiles files;
    const std::string text = print(*module, {.files = &files});
    EXPECT_EQ(files.size(), 2U);
    const auto again = parse(text, files);
    const Function& read = *again->functions[0];
    EXPECT_EQ(read.location.file->path, "a.py");
    EXPECT_EQ(read.location.end_line, 9);
    EXPECT_EQ(read.body.ops[0]->location.file, other);
    EXPECT_EQ(read.body.ops[1]->location.end_column, 1);
    SourceFiles collected;
    EXPECT_EQ(print(*again, {.files = &collected}), text);
    EXPECT_THROW(parse(text), UserError);  // its files are missing
}

TEST(Text, Constants) {
    expect_round_trip(R"(kernel @k() {
  %0 = const 0.1 : f32
  %1 = const 0.1 : f64
  %2 = const -0 : f32
  %3 = const #7fc00000 : f32
  %4 = const #ff800000 : f32
  %5 = const 65504 : f16
  %6 = const -128 : i8
  %7 = const 255 : u8
  %8 = const 18446744073709551615 : u64
  %9 = const -9223372036854775808 : i64
  %10 = const true : bool
  %11 = const 1e-45 : f32
  %12 = const 3.015625 : bf16
  %13 = zero : mat<2, 3, f64>
  print(%0) "a \"quoted\" \\ %f\x0a"
  return
}
)");
}

TEST(Text, StructuredControl) {
    expect_round_trip(R"(kernel @k(%x: array<f32, 2>, %n: i32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 1 : f32
  %s, %t = for(%0, %n, %1, %2, %0) : f32, i32 {(%i: i32, %3: f32, %4: i32)
    %5 = lt(%i, %0) : bool
    %6 = if(%5) : f32 {
      continue(%2, %i)
    } {
      yield(%3)
    }
    yield(%6, %4)
  }
  %7 = while(%s) : f32 {(%8: f32)
    %9 = lt(%8, %2) : bool
    condition(%9)
  } {(%10: f32)
    break(%10)
  }
  %11 = at(%x, %0, %t) : ref<f32>
  %12 = atomic.add(%11, %7) : f32
  return
}
)");
}

TEST(Text, TypesOfEveryKind) {
    for (const char* text :
         {"bool", "bf16", "vec<27, f64>", "mat<3, 2, i8>", "quat<f32>", "transform<f16>", "array<vec<2, u16>, 4>",
          "tuple<>", "tuple<i32, vec<3, f32>>", "struct P<x: vec<3, f32>, a: array<i32, 1>>",
          "struct Q<align 16 packed x: f32>", "stack<struct P<m: f64>>", "ref<quat<f64>>"}) {
        EXPECT_EQ(parse_type(text).str(), text);
    }
}

TEST(Text, RepeatedAndHiddenNames) {
    const auto module = parse(R"(kernel @k(%x: f32) {
  %x.1 = neg(%x) : f32
  %x.2 = neg(%x.1) : f32
  return
}
)");
    EXPECT_NE(print(*module).find("%x.2 = neg(%x.1)"), std::string::npos);
    EXPECT_NE(print(*module, {.names = false, .locations = false}).find("%2 = neg(%1)"), std::string::npos);
}

TEST(Text, ErrorsNameTheLine) {
    const auto line_of = [](const char* text) {
        try {
            parse(text);
        } catch (const UserError& error) {
            return error.location().line;
        }
        return 0;
    };
    EXPECT_EQ(line_of("kernel @k() {\n  %0 = frobnicate : f32\n}"), 2);
    EXPECT_EQ(line_of("kernel @k() {\n  %0 = neg(%1) : f32\n}"), 2);
    EXPECT_EQ(line_of("kernel @k() {\n  return\n  return\n}"), 3);
    EXPECT_EQ(line_of("kernel @k(%a: vec<0, f32>) {"), 1);
    EXPECT_EQ(line_of("kernel @k() {\n"), 2);
}

TEST(Verify, FindsMalformedModules) {
    const auto rejected = [](const char* text) {
        const auto module = parse(text);
        EXPECT_THROW(verify(*module), InternalError) << text;
    };
    rejected("kernel @k(%a: f32, %b: f64) {\n %0 = add(%a, %b) : f32\n return\n}");
    rejected("kernel @k(%a: bool) {\n %0 = add(%a, %a) : bool\n return\n}");
    rejected("kernel @k(%a: f32) {\n return(%a)\n}");
    rejected("kernel @k(%c: bool) {\n if(%c) {\n %0 = const 1 : i32\n yield(%0)\n } {\n yield\n }\n return\n}");
    rejected("kernel @k() {\n break\n}");
    rejected("kernel @k(%a: array<f32, 2>, %i: i32) {\n %0 = at(%a, %i) : ref<f32>\n return\n}");
    rejected("kernel @k(%v: vec<3, f32>) {\n %0 = extract(%v) [3] : f32\n return\n}");
    rejected("kernel @k(%v: f32) {\n %0 = call(%v) \"nowhere\" : f32\n return\n}");
}

TEST(Verify, ValuesDoNotLeaveTheirRegion) {
    const auto module = parse(R"(kernel @k(%c: bool) {
  if(%c) {
    %0 = const 1 : i32
    yield
  } {
    yield
  }
  %1 = neg(%0) : i32
  return
}
)");
    EXPECT_THROW(verify(*module), InternalError);
}

}  // namespace
}  // namespace weft::ir
