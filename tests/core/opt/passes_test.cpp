// Each pass as IR text in and IR text out.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

std::string after(const char* text, void (*pass)(ir::Module&)) {
    const auto module = ir::parse(text);
    ir::verify(*module);
    pass(*module);
    ir::verify(*module);
    return ir::print(*module);
}

void dead_code_of(ir::Module& module) { dead_code(module); }
void single_exit_of(ir::Module& module) {
    for (const auto& f : module.functions) single_exit(module, *f);
}

TEST(DeadCode, KeepsEffectsAndWhatTheyNeed) {
    EXPECT_EQ(after(R"(kernel @k(%a: array<f32, 1>, %x: f32) {
  %0 = const 0 : i32
  %1 = const 7 : i32
  %2 = at(%a, %0) : ref<f32>
  %3 = load(%2) : f32
  %4 = neg(%x) : f32
  %5 = at(%a, %1) : ref<f32>
  store(%5, %4)
  return
}
)",
                    dead_code_of),
              R"(kernel @k(%a: array<f32, 1>, %x: f32) {
  %0 = const 7 : i32
  %1 = neg(%x) : f32
  %2 = at(%a, %0) : ref<f32>
  store(%2, %1)
  return
}
)");
}

TEST(DeadCode, DropsUnreadYieldsAndCarriedValues) {
    EXPECT_EQ(after(R"(func @f(%c: bool, %n: i32, %x: f32) -> (f32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %a, %b = for(%0, %n, %1, %x, %x) : f32, f32 {(%i: i32, %p: f32, %q: f32)
    %2 = add(%p, %x) : f32
    %3 = mul(%q, %x) : f32
    yield(%2, %3)
  }
  %4, %5 = if(%c) : f32, f32 {
    yield(%a, %x)
  } {
    yield(%x, %b)
  }
  return(%4)
}
)",
                    dead_code_of),
              R"(func @f(%c: bool, %n: i32, %x: f32) -> (f32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %a = for(%0, %n, %1, %x) : f32 {(%i: i32, %p: f32)
    %2 = add(%p, %x) : f32
    yield(%2)
  }
  %3 = if(%c) : f32 {
    yield(%a)
  } {
    yield(%x)
  }
  return(%3)
}
)");
}

TEST(DeadCode, CarriedValuesThatOnlyFeedThemselvesGo) {
    EXPECT_EQ(after(R"(func @f(%n: i32, %x: f32) -> (f32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %a = for(%0, %n, %1, %x) : f32 {(%i: i32, %p: f32)
    %2 = add(%p, %x) : f32
    yield(%2)
  }
  return(%x)
}
)",
                    dead_code_of),
              R"(func @f(%n: i32, %x: f32) -> (f32) {
  return(%x)
}
)");
}

TEST(DeadCode, AStackWhosePopsAreUnusedGoes) {
    EXPECT_EQ(after(R"(func @f(%x: f32) -> (f32) {
  %0 = stack.new : stack<f32>
  %1 = stack.new : stack<f32>
  stack.push(%0, %x)
  stack.push(%1, %x)
  %2 = stack.pop(%0) : f32
  %3 = stack.pop(%1) : f32
  return(%3)
}
)",
                    dead_code_of),
              R"(func @f(%x: f32) -> (f32) {
  %0 = stack.new : stack<f32>
  stack.push(%0, %x)
  %1 = stack.pop(%0) : f32
  return(%1)
}
)");
}

TEST(SingleExit, AContinueSkipsTheRestOfTheTurn) {
    EXPECT_EQ(after(R"(func @f(%n: i32) -> (i32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %s = for(%0, %n, %1, %0) : i32 {(%i: i32, %t: i32)
    %2 = lt(%i, %t) : bool
    if(%2) {
      continue(%t)
    } {
      yield
    }
    %3 = add(%t, %i) : i32
    yield(%3)
  }
  return(%s)
}
)",
                    single_exit_of),
              R"(func @f(%n: i32) -> (i32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %s = for(%0, %n, %1, %0) : i32 {(%i: i32, %t: i32)
    %2 = lt(%i, %t) : bool
    %3, %4 = if(%2) : i32, i32 {
      yield(%1, %t)
    } {
      yield(%0, %0)
    }
    %5 = eq(%3, %0) : bool
    %6, %7, %8 = if(%5) : i32, i32, i32 {
      %9 = add(%t, %i) : i32
      yield(%0, %9, %0)
    } {
      yield(%3, %0, %4)
    }
    %10 = eq(%6, %0) : bool
    %11 = select(%10, %7, %8) : i32
    yield(%11)
  }
  return(%s)
}
)");
}

TEST(SingleExit, NoEarlyExitIsLeftAnywhere) {
    const auto module = ir::parse(R"(kernel @k(%a: array<f32, 1>, %n: i32) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 5 : i32
  %x = for(%0, %n, %1, %0) : i32 {(%i: i32, %t: i32)
    %y = while(%t) : i32 {(%3: i32)
      %4 = lt(%3, %2) : bool
      condition(%4)
    } {(%5: i32)
      %6 = eq(%5, %i) : bool
      if(%6) {
        return
      } {
        %7 = lt(%5, %i) : bool
        if(%7) {
          break(%5)
        } {
          continue(%1)
        }
        unreachable
      }
      yield(%5)
    }
    yield(%y)
  }
  return
}
)");
    ir::verify(*module);
    single_exit_of(*module);
    ir::verify(*module);
    int returns = 0;
    ir::walk(module->functions[0]->body, [&](const ir::Op& op) {
        EXPECT_NE(op.code, ir::Opcode::Break);
        EXPECT_NE(op.code, ir::Opcode::Continue);
        returns += op.code == ir::Opcode::Return ? 1 : 0;
    });
    EXPECT_EQ(returns, 1);
}

TEST(UnchangedValues, WhatEveryTurnHandsOnIsNotCarried) {
    EXPECT_EQ(after(R"(kernel @k(%a: array<f32, 1>, %n: i32, %c: bool) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : f32
  %b, %s = for(%0, %n, %1, %a, %2) : array<f32, 1>, f32 {(%i: i32, %3: array<f32, 1>, %4: f32)
    %5, %6 = if(%c) : array<f32, 1>, f32 {
      %7 = mul(%4, %4) : f32
      yield(%3, %7)
    } {
      yield(%3, %4)
    }
    yield(%5, %6)
  }
  %8 = at(%b, %0) : ref<f32>
  store(%8, %s)
  return
}
)",
                    unchanged_values),
              R"(kernel @k(%a: array<f32, 1>, %n: i32, %c: bool) {
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : f32
  %s = for(%0, %n, %1, %2) : f32 {(%i: i32, %3: f32)
    %4 = if(%c) : f32 {
      %5 = mul(%3, %3) : f32
      yield(%5)
    } {
      yield(%3)
    }
    yield(%4)
  }
  %6 = at(%a, %0) : ref<f32>
  store(%6, %s)
  return
}
)");
}

TEST(KeepReachable, DropsWhatTheEntryDoesNotCall) {
    const auto module = ir::parse(R"(func @a() {
  return
}
func @b() {
  call "a"
  return
}
kernel @k() {
  call "b"
  return
}
kernel @other() {
  return
}
)");
    keep_reachable(*module, "k");
    EXPECT_TRUE(module->find("a") && module->find("b") && module->find("k"));
    EXPECT_FALSE(module->find("other"));
}

}  // namespace
}  // namespace weft::opt
