// What is printed as C++ for GPUs, and what it asks of a launch.
#include <gtest/gtest.h>

#include "codegen/backend.h"
#include "codegen/compile.h"
#include "codegen/cxx/shared_limits.h"
#include "ir/text.h"

namespace weft::codegen {
namespace {

constexpr const char* kTotal = R"(kernel @k(%x: array<f32, 1>, %total: array<f32, 1>) {
  %i = thread.index [0] : i32
  %r = at(%x, %i) : ref<f32>
  %v = load(%r) : f32
  %zero = const 0 : i32
  %t = at(%total, %zero) : ref<f32>
  %old = atomic.add(%t, %v) : f32
  return
}
)";

std::string text(const char* program, const Options& options, const char* kind = "maca") {
    return dump(*ir::parse(program), backend(kMacaBackend).open(), options, kind);
}

TEST(CxxText, OneThreadAnItemUnlessTheLaunchIsDense) {
    const std::string plain = text(kTotal, {});
    EXPECT_NE(plain.find("weft::for_items<1>(shape, begin, end, "), std::string::npos);
    EXPECT_NE(plain.find("weft::atomic_add("), std::string::npos);
    const std::string dense = text(kTotal, {.dense = true});
    EXPECT_NE(dense.find("weft::for_all_items<"), std::string::npos);
    EXPECT_NE(dense.find("sum.add("), std::string::npos);
    EXPECT_NE(dense.find("    sum.finish();\n"), std::string::npos);
}

TEST(CxxText, BoundsOfLaunchesAreSaid) {
    EXPECT_NE(text(kTotal, {}).find("__launch_bounds__(1024) weft_kernel_k(const weft::block<48> arguments"),
              std::string::npos);
    EXPECT_NE(text(kTotal, {.max_threads = 128, .min_blocks = 2}).find("__launch_bounds__(128, 2) weft_kernel_k("),
              std::string::npos);
}

// What C++ leaves open of numbers with a sign is not asked of a GPU's compiler.
TEST(CxxText, IntegersWrapOnGpus) {
    const char* program = R"(kernel @k(%a: i32, %b: u32, %o: array<i32, 1>, %p: array<u32, 1>) {
  %i = thread.index [0] : i32
  %s = add(%a, %i) : i32
  %u = add(%b, %b) : u32
  %r = at(%o, %i) : ref<i32>
  store(%r, %s)
  %q = at(%p, %i) : ref<u32>
  store(%q, %u)
  return
}
)";
    EXPECT_NE(text(program, {}, "cuda").find("weft::add(a, i)"), std::string::npos);
    EXPECT_NE(text(program, {}, "cuda").find("b + b"), std::string::npos);
    EXPECT_NE(dump(*ir::parse(program), backend("cxx-host").open(), {}, "cxx").find("a + i"), std::string::npos);
}

TEST(CxxText, WhatIsNotAskedForIsNotThere) {
    const std::string plain = text(kTotal, {});
    for (const char* part : {"weft_failure", "malloc", "weft_lower_bound", "wp::"}) {
        EXPECT_EQ(plain.find(part), std::string::npos) << part;
    }
    const std::string asserts = text(R"(kernel @k(%x: array<f32, 1>) {
  %i = thread.index [0] : i32
  %two = const 2 : i32
  %ok = lt(%i, %two) : bool
  assert(%ok) "too many"
  return
}
)",
                                     {});
    EXPECT_NE(asserts.find("weft::report(\"too many\", item.shape, item.linear);"), std::string::npos);
    EXPECT_NE(asserts.find("weft_failure = nullptr;"), std::string::npos);
}

TEST(CxxText, SharedVariablesAreCounted) {
    using cxx::with_shared_limit;
    EXPECT_EQ(with_shared_limit("int a = 1;", 8), "int a = 1;");
    EXPECT_NE(with_shared_limit("__shared__ vec_t<3, float> a[2], b;", 8).find("sizeof(a) + sizeof(b) <= 8"),
              std::string::npos);
    EXPECT_NE(with_shared_limit("__shared__ alignas(16) float a[N * (2 + M)];", 8).find("static_assert(sizeof(a) <= 8"),
              std::string::npos);
    // Those of a scope that has ended are not seen.
    const std::string scopes = with_shared_limit("{ __shared__ int a; }\n__shared__ int b;", 8);
    EXPECT_NE(scopes.find("static_assert(sizeof(b) <= 8"), std::string::npos);
    EXPECT_EQ(with_shared_limit("extern __shared__ float a[];", 8), "extern __shared__ float a[];");
}

}  // namespace
}  // namespace weft::codegen
