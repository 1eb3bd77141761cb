// Exits of a loop that come behind an effect inside it stay: found by comparing random control flow with Python.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

TEST(DeadCode, KeepsAContinueBehindAnEffect) {
    const auto module = ir::parse(R"(kernel @k(%x: array<i32, 1>, %b: i32, %n: i32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = for(%0, %n, %1, %b) : i32 {(%i: i32, %3: i32)
    %4 = lt(%i, %3) : bool
    if(%4) {
      %5 = at(%x, %0) : ref<i32>
      store(%5, %3)
      yield
    } {
      yield
    }
    %6 = lt(%3, %i) : bool
    if(%6) {
      continue(%3)
    } {
      yield
    }
    yield(%1)
  }
  return
}
)");
    const std::string before = ir::print(*module);
    dead_code(*module);
    EXPECT_EQ(ir::print(*module), before);
}

}  // namespace
}  // namespace weft::opt
