// Slices, arrays of the item, references and checks on every backend: small programs with known answers.
#include "codegen/run.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "opt/opt.h"
#include "runtime/cpu/host_symbols.h"

namespace weft {
namespace {

using testing::Arguments;
using testing::Kernel;
using Integers = std::vector<int64_t>;

class LocalMemory : public testing::EveryBackend {};
INSTANTIATE_TEST_SUITE_P(All, LocalMemory, ::testing::ValuesIn(testing::every_backend()), testing::config_name);

TEST_P(LocalMemory, SlicesAreViewsWithSteps) {
    const Kernel kernel(R"(kernel @k(%n: array<i64, 1>, %o: array<i64, 1>) {
  %zero = const 0 : i64
  %one = const 1 : i64
  %three = const 3 : i64
  %five = const 5 : i64
  %back = const -2 : i64
  %s = slice(%n, %five, %three, %back) [1] : array<i64, 1>
  %a = at(%s, %one) : ref<i64>
  %x = load(%a) : i64
  %b = at(%o, %zero) : ref<i64>
  store(%b, %x)
  %size = shape(%s) [0] : i32
  %wide = cast(%size) : i64
  %c = at(%o, %one) : ref<i64>
  store(%c, %wide)
  %d = at(%s, %back) : ref<i64>
  store(%d, %five)
  return
}
)",
                        GetParam());
    Integers in = {10, 11, 12, 13, 14, 15};
    Integers out(2, -1);
    kernel.run(Arguments().array(in).array(out), {1});
    EXPECT_EQ(out, (Integers{13, 3}));
    EXPECT_EQ(in[3], 5);
}

TEST_P(LocalMemory, ArraysOfTheItemAreZeroEachTimeTheyAreMade) {
    const Kernel kernel(R"(kernel @k(%n: array<i64, 1>, %o: array<i64, 1>) {
  %i = thread.index [0] : i32
  %rn = at(%n, %i) : ref<i64>
  %x = load(%rn) : i64
  %zero = const 0 : i64
  %one = const 1 : i64
  %two = const 2 : i64
  %sum = for(%zero, %two, %one, %zero) : i64 {(%j: i64, %s: i64)
    %a = local_array [2, 3] : array<i64, 2>
    %r = at(%a, %one, %two) : ref<i64>
    %old = load(%r) : i64
    %new = add(%old, %x) : i64
    call(%r, %new) "keep"
    %again = load(%r) : i64
    %t = add(%s, %again) : i64
    yield(%t)
  }
  %ro = at(%o, %i) : ref<i64>
  store(%ro, %sum)
  return
}
func @keep(%r: ref<i64>, %v: i64) {
  store(%r, %v)
  return
}
)",
                        GetParam());
    Integers in = {7, -2, 0};
    Integers out(3, -1);
    kernel.run(Arguments().array(in).array(out), {3});
    EXPECT_EQ(out, (Integers{14, -4, 0}));
}

TEST_P(LocalMemory, AnArrayAtAnAddressIsTheSameMemory) {
    const Kernel kernel(R"(kernel @k(%o: array<i64, 1>) {
  %one = const 1 : i64
  %three = const 3 : i64
  %p = address(%o) : u64
  %a = array_at(%p, %three) : array<i64, 1>
  %r = at(%a, %one) : ref<i64>
  store(%r, %three)
  %bytes = stride(%a) [0] : i32
  %wide = cast(%bytes) : i64
  %q = at(%o, %three) : ref<i64>
  store(%q, %wide)
  return
}
)",
                        GetParam());
    Integers out(4, -1);
    kernel.run(Arguments().array(out), {1});
    EXPECT_EQ(out, (Integers{-1, 3, -1, 8}));
}

TEST_P(LocalMemory, AFailedAssertEndsItsFunctionAndIsFormatted) {
    const Kernel kernel(R"(kernel @k(%n: array<i64, 1>, %o: array<i64, 1>) {
  %i = thread.index [0] : i32
  %rn = at(%n, %i) : ref<i64>
  %x = load(%rn) : i64
  %y = call(%x) "checked" : i64
  %ro = at(%o, %i) : ref<i64>
  store(%ro, %y)
  return
}
func @checked(%x: i64) -> (i64) {
  %zero = const 0 : i64
  %ok = gt(%x, %zero) : bool
  assert(%ok, %x, %zero) "found %lld, not above %lld"
  return(%x)
}
)",
                        GetParam());
    testing::take_failure();
    Integers in = {3, -4};
    Integers out(2, -1);
    kernel.run(Arguments().array(in).array(out), {2});
    EXPECT_EQ(out, (Integers{3, 0}));
    const auto failure = testing::take_failure();
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(*failure, "in thread (1): found -4, not above 0");
}

TEST(LocalMemory, StoresToAnArrayThatNobodyReadsAreDead) {
    const auto module = ir::parse(R"(kernel @k(%o: array<f32, 1>) {
  %a = local_array [4] : array<f32, 1>
  %b = local_array [4] : array<f32, 1>
  %zero = const 0 : i32
  %x = const 2 : f32
  %ra = at(%a, %zero) : ref<f32>
  %rb = at(%b, %zero) : ref<f32>
  store(%ra, %x)
  store(%rb, %x)
  %y = load(%rb) : f32
  %ro = at(%o, %zero) : ref<f32>
  store(%ro, %y)
  return
}
)");
    ir::verify(*module);
    EXPECT_TRUE(opt::has_effects(*module, *module->functions[0]));
    opt::dead_code(*module);
    ir::verify(*module);
    const std::string text = ir::print(*module);
    EXPECT_EQ(text.find("%a ="), std::string::npos) << text;
    EXPECT_NE(text.find("store(%rb"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft
