// Control flow, memory, aggregates, calls, stacks, atomics and launches: small programs with known answers.
#include <cmath>
#include <numeric>
#include <thread>

#include "codegen/run.h"
#include "runtime/cpu/host_symbols.h"

namespace weft {
namespace {

using testing::Arguments;
using testing::Kernel;
using Integers = std::vector<int64_t>;

class Programs : public testing::EveryBackend {};
INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(testing::every_backend()), testing::config_name);

// `body` reads %x, the item's input, and stores to %ro; %zero and %one are there.
Integers run_integers(const testing::Config& config, const std::string& body, Integers in,
                      const std::string& more = "") {
    const std::string head = R"(kernel @k(%n: array<i64, 1>, %o: array<i64, 1>) {
  %i = thread.index [0] : i32
  %rn = at(%n, %i) : ref<i64>
  %x = load(%rn) : i64
  %ro = at(%o, %i) : ref<i64>
  %zero = const 0 : i64
  %one = const 1 : i64
)";
    const Kernel kernel(head + body + "}\n" + more, config);
    Integers out(in.size(), -99);
    kernel.run(Arguments().array(in).array(out), {static_cast<int64_t>(in.size())});
    return out;
}

TEST_P(Programs, NestedLoopsWithBreakAndContinue) {
    // For j below x: skip odd j, stop at j = 8; add the numbers below j.
    const auto out = run_integers(GetParam(), R"(
  %two = const 2 : i64
  %eight = const 8 : i64
  %sum = for(%zero, %x, %one, %zero) : i64 {(%j: i64, %s: i64)
    %odd = rem(%j, %two) : i64
    %is = ne(%odd, %zero) : bool
    if(%is) {
      continue(%s)
    } {
      yield
    }
    %stop = eq(%j, %eight) : bool
    if(%stop) {
      %minus = neg(%s) : i64
      break(%minus)
    } {
      yield
    }
    %inner = for(%zero, %j, %one, %s) : i64 {(%k: i64, %t: i64)
      %u = add(%t, %k) : i64
      yield(%u)
    }
    yield(%inner)
  }
  store(%ro, %sum)
  return
)",
                                  {0, 1, 3, 5, 8, 9, 20});
    const auto want = [](int64_t x) {
        int64_t s = 0;
        for (int64_t j = 0; j < x; j += 2) {
            if (j == 8) return -s;
            s += j * (j - 1) / 2;
        }
        return s;
    };
    EXPECT_EQ(out, (Integers{want(0), want(1), want(3), want(5), want(8), want(9), want(20)}));
    EXPECT_EQ(out.back(), -(0 + 1 + 6 + 15));
}

TEST_P(Programs, ReturnFromLoopsAndUnreachable) {
    const auto out = run_integers(GetParam(), R"(
  %five = const 5 : i64
  for(%zero, %x, %one) {(%j: i64)
    %hit = gt(%j, %five) : bool
    if(%hit) {
      store(%ro, %j)
      return
    } {
      yield
    }
    yield
  }
  %none = eq(%x, %zero) : bool
  if(%none) {
    store(%ro, %one)
    return
  } {
    store(%ro, %zero)
    return
  }
  unreachable
)",
                                  {0, 3, 6, 7, 100});
    EXPECT_EQ(out, (Integers{1, 0, 0, 6, 6}));
}

TEST_P(Programs, LoopsThatNeverComeToTheirEnd) {
    // The body leaves by break or return only.
    const auto out = run_integers(GetParam(), R"(
  %three = const 3 : i64
  %r = for(%zero, %x, %one, %one) : i64 {(%j: i64, %c: i64)
    %big = gt(%x, %three) : bool
    if(%big) {
      break(%x)
    } {
      %m = neg(%x) : i64
      store(%ro, %m)
      return
    }
    unreachable
  }
  store(%ro, %r)
  return
)",
                                  {0, 2, 9});
    EXPECT_EQ(out, (Integers{1, -2, 9}));
}

TEST_P(Programs, StepsOfEverySign) {
    for (const std::string type : {"i8", "i32", "i64"}) {
        const std::string text = "kernel @k(%begin: " + type + ", %end: " + type + ", %step: " + type +
                                 R"(, %o: array<i64, 1>) {
  %c0 = const 0 : i32
  %zero = const 0 : i64
  %one = const 1 : i64
  %n, %last = for(%begin, %end, %step, %zero, %zero) : i64, i64 {(%j: )" +
                                 type + R"(, %c: i64, %l: i64)
    %more = add(%c, %one) : i64
    %w = cast(%j) : i64
    yield(%more, %w)
  }
  %r0 = at(%o, %c0) : ref<i64>
  store(%r0, %n)
  %c1 = const 1 : i32
  %r1 = at(%o, %c1) : ref<i64>
  store(%r1, %last)
  return
}
)";
        const Kernel kernel(text, GetParam());
        const auto run = [&](int64_t begin, int64_t end, int64_t step) {
            Integers out(2);
            kernel.run(Arguments().value(begin).value(end).value(step).array(out), {1});
            return out;
        };
        EXPECT_EQ(run(0, 10, 3), (Integers{4, 9}));
        EXPECT_EQ(run(10, 0, -3), (Integers{4, 1}));
        EXPECT_EQ(run(0, 10, -1), (Integers{0, 0}));
        EXPECT_EQ(run(0, 10, 0), (Integers{0, 0}));
        EXPECT_EQ(run(5, 5, 1), (Integers{0, 0}));
        // The index must not wrap past the type's end.
        const int bits = type == "i8" ? 8 : type == "i32" ? 32 : 64;
        const auto top = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
        EXPECT_EQ(run(top - 5, top, 4), (Integers{2, top - 1}));
        EXPECT_EQ(run(-top, -top - 1, -1), (Integers{1, -top}));
        EXPECT_EQ(run(-top - 1, top, top), (Integers{3, top - 1}));
        EXPECT_EQ(run(top, -top - 1, -top - 1), (Integers{2, -1}));
    }
}

TEST_P(Programs, ConstantSteps) {
    for (const int step : {-5, -1, 1, 2, 7}) {
        const auto out = run_integers(GetParam(), "  %step = const " + std::to_string(step) + R"( : i64
  %seven = const 7 : i64
  %sum = for(%x, %seven, %step, %zero) : i64 {(%j: i64, %s: i64)
    %h = mul(%s, %seven) : i64
    %t = add(%h, %j) : i64
    yield(%t)
  }
  store(%ro, %sum)
  return
)",
                                      {0, 3, 7, 12, 20});
        Integers want;
        for (const int64_t x : {0, 3, 7, 12, 20}) {
            int64_t s = 0;
            for (int64_t j = x; step > 0 ? j < 7 : j > 7; j += step) s = s * 7 + j;
            want.push_back(s);
        }
        EXPECT_EQ(out, want) << step;
    }
}

TEST_P(Programs, WhileWithBreakAndSwap) {
    const auto out = run_integers(GetParam(), R"(
  %thirteen = const 13 : i64
  %a, %b = while(%zero, %one) : i64, i64 {(%p: i64, %q: i64)
    %s = add(%p, %q) : i64
    %go = lt(%s, %x) : bool
    condition(%go)
  } {(%p2: i64, %q2: i64)
    %t = add(%p2, %q2) : i64
    %is = eq(%t, %thirteen) : bool
    if(%is) {
      break(%thirteen, %thirteen)
    } {
      yield
    }
    yield(%q2, %t)
  }
  %hundred = const 100 : i64
  %m = mul(%a, %hundred) : i64
  %r = add(%m, %b) : i64
  store(%ro, %r)
  return
)",
                                  {0, 1, 2, 3, 10, 50});
    EXPECT_EQ(out, (Integers{1, 1, 101, 102, 508, 1313}));
}

TEST_P(Programs, CarriedValuesRotate) {
    const auto out = run_integers(GetParam(), R"(
  %two = const 2 : i64
  %a, %b, %c = for(%zero, %x, %one, %zero, %one, %two) : i64, i64, i64 {(%j: i64, %p: i64, %q: i64, %r: i64)
    yield(%q, %r, %p)
  }
  %ten = const 10 : i64
  %a1 = mul(%a, %ten) : i64
  %a2 = add(%a1, %b) : i64
  %a3 = mul(%a2, %ten) : i64
  %a4 = add(%a3, %c) : i64
  store(%ro, %a4)
  return
)",
                                  {0, 1, 2, 3});
    EXPECT_EQ(out, (Integers{12, 120, 201, 12}));
}

TEST_P(Programs, CallsWithManyResults) {
    const auto out = run_integers(GetParam(), R"(
  %q, %r, %t = call(%x, %one) "divide.both" : i64, i64, i64
  %s = add(%q, %r) : i64
  %u = add(%s, %t) : i64
  store(%ro, %u)
  return
)",
                                  {7, 20, -5}, R"(func @divide.both(%a: i64, %b: i64) -> (i64, i64, i64) {
  %three = const 3 : i64
  %less = lt(%a, %b) : bool
  if(%less) {
    return(%a, %a, %a)
  } {
    yield
  }
  %q = div(%a, %three) : i64
  %r = rem(%a, %three) : i64
  %i = thread.index [0] : i32
  %w = cast(%i) : i64
  return(%q, %r, %w)
}
)");
    EXPECT_EQ(out, (Integers{2 + 1 + 0, 6 + 2 + 1, -15}));
}

TEST_P(Programs, LargeResultsOfFunctionsThatStayFunctions) {
    // Called twice and too long to be copied: the vector comes back through memory.
    std::string function =
        "func @f(%m: vec<8, f64>, %x: f64) -> (vec<8, f64>, bool) {\n  %v0 = splat(%x) : vec<8, f64>\n";
    constexpr int kSteps = 1010;
    for (int i = 0; i < kSteps; ++i) {
        function += "  %v" + std::to_string(i + 1) + " = " + (i % 2 == 0 ? "add(%v" : "min(%v") + std::to_string(i) +
                    ", %m) : vec<8, f64>\n";
    }
    function += "  %b = const true : bool\n  return(%v" + std::to_string(kSteps) + ", %b)\n}\n";
    const auto out = run_integers(GetParam(), R"(
  %w = cast(%x) : f64
  %m = splat(%w) : vec<8, f64>
  %a, %p = call(%m, %w) "f" : vec<8, f64>, bool
  %b, %q = call(%a, %w) "f" : vec<8, f64>, bool
  %c = and(%p, %q) : bool
  %e = extract(%b) [7] : f64
  %n = cast(%e) : i64
  %r = select(%c, %n, %zero) : i64
  store(%ro, %r)
  return
)",
                                  {5, -3}, function);
    // Adding m, then taking the smaller of that and m, again and again.
    const auto f = [](double m, double x) {
        double v = x;
        for (int i = 0; i < kSteps; ++i) v = i % 2 == 0 ? v + m : std::min(v, m);
        return v;
    };
    EXPECT_EQ(out, (Integers{static_cast<int64_t>(f(f(5, 5), 5)), static_cast<int64_t>(f(f(-3, -3), -3))}));
}

TEST_P(Programs, DeepStacks) {
    const auto out = run_integers(GetParam(), R"(
  %s = stack.new : stack<tuple<i64, f32>>
  %half = const 0.5 : f32
  for(%zero, %x, %one) {(%j: i64)
    %p = compose(%j, %half) : tuple<i64, f32>
    stack.push(%s, %p)
    yield
  }
  %sum = for(%zero, %x, %one, %zero) : i64 {(%j2: i64, %t: i64)
    %v = stack.pop(%s) : tuple<i64, f32>
    %n = extract(%v) [0] : i64
    %d = sub(%x, %one) : i64
    %e = sub(%d, %j2) : i64
    %same = eq(%n, %e) : bool
    %c = cast(%same) : i64
    %u = add(%t, %c) : i64
    yield(%u)
  }
  store(%ro, %sum)
  return
)",
                                  {100000, 3, 0, 1000000, 5});
    EXPECT_EQ(out, (Integers{100000, 3, 0, 1000000, 5}));
}

TEST_P(Programs, StackInsideALoopStartsEmpty) {
    const auto out = run_integers(GetParam(), R"(
  %sum = for(%zero, %x, %one, %zero) : i64 {(%j: i64, %t: i64)
    %s = stack.new : stack<i64>
    stack.push(%s, %j)
    stack.push(%s, %one)
    %v = stack.pop(%s) : i64
    %u = add(%t, %v) : i64
    yield(%u)
  }
  store(%ro, %sum)
  return
)",
                                  {5, 1000});
    EXPECT_EQ(out, (Integers{5, 1000}));
}

TEST_P(Programs, AggregatesAndDynamicParts) {
    const std::string type = "struct Particle<x: vec<3, f32>, alive: bool, id: i32, m: mat<2, 2, f64>>";
    const Kernel kernel("kernel @k(%p: array<" + type + R"(, 1>, %k: i32) {
  %i = thread.index [0] : i32
  %r = at(%p, %i) : ref<)" + type +
                            R"(>
  %v = load(%r) : )" + type +
                            R"(
  %x = extract(%v) [0] : vec<3, f32>
  %a = extract_at(%x, %k) : f32
  %two = const 2 : f32
  %b = mul(%a, %two) : f32
  %y = insert_at(%x, %b, %k) : vec<3, f32>
  %z = add(%y, %y) : vec<3, f32>
  %w = insert(%v, %z) [0] : )" +
                            type + R"(
  %alive = extract(%w) [1] : bool
  %dead = not(%alive) : bool
  %w2 = insert(%w, %dead) [1] : )" +
                            type + R"(
  store(%r, %w2)
  %rm = member(%r) [3] : ref<mat<2, 2, f64>>
  %minus = const -1 : i32
  %last = member_at(%rm, %minus) : ref<f64>
  %old = load(%last) : f64
  %twice = add(%old, %old) : f64
  store(%last, %twice)
  return
}
)",
                        GetParam());
    struct Particle {
        float x[3];
        bool alive;
        int32_t id;
        double m[4];
    };
    std::vector<Particle> particles(4, Particle{{1, 2, 3}, true, 7, {1, 2, 3, 4}});
    kernel.run(Arguments().array(particles).value(int32_t{-1}), {4}, 0, 2);
    kernel.run(Arguments().array(particles).value(int32_t{1}), {4}, 2, 4);
    EXPECT_EQ(particles[1].x[2], 12);
    EXPECT_EQ(particles[1].x[1], 4);
    EXPECT_EQ(particles[3].x[1], 8);
    EXPECT_EQ(particles[3].x[2], 6);
    EXPECT_FALSE(particles[0].alive);
    EXPECT_EQ(particles[0].id, 7);
    EXPECT_EQ(particles[2].m[3], 8);
    EXPECT_EQ(particles[2].m[2], 3);
}

TEST_P(Programs, PackedStructsAndBytesAsBools) {
    const std::string type = "struct P<packed b: bool, d: f64, s: i16>";
    const Kernel kernel("kernel @k(%p: array<" + type + R"(, 1>, %o: array<f64, 1>) {
  %i = thread.index [0] : i32
  %r = at(%p, %i) : ref<)" + type +
                            R"(>
  %rb = member(%r) [0] : ref<bool>
  %b = load(%rb) : bool
  %rd = member(%r) [1] : ref<f64>
  %d = load(%rd) : f64
  %n = neg(%d) : f64
  %v = select(%b, %d, %n) : f64
  %ro = at(%o, %i) : ref<f64>
  store(%ro, %v)
  %true = const true : bool
  store(%rb, %true)
  return
}
)",
                        GetParam());
    std::vector<unsigned char> bytes(33);
    for (size_t i = 0; i < 3; ++i) {
        bytes[11 * i] = static_cast<unsigned char>(2 * i);  // any byte but 0 is true
        const double d = static_cast<double>(i) + 0.5;
        std::memcpy(bytes.data() + 11 * i + 1, &d, 8);
    }
    std::vector<double> out(3);
    kernel.run(Arguments().array(bytes.data(), {3}, 11).array(out), {3});
    EXPECT_EQ(out, (std::vector<double>{-0.5, 1.5, 2.5}));
    EXPECT_EQ(bytes[0], 1);
    EXPECT_EQ(bytes[22], 1);
}

TEST_P(Programs, NegativeIndicesStridesAndViews) {
    const Kernel kernel(R"(kernel @k(%a: array<i32, 3>, %o: array<i32, 1>, %k: i64) {
  %i = thread.index [0] : i32
  %minus = const -1 : i32
  %v = view(%a, %minus) : array<i32, 2>
  %n = neg(%i) : i32
  %h = add(%n, %minus) : i32
  %r = at(%v, %h, %k) : ref<i32>
  %x = load(%r) : i32
  %s = shape(%v) [0] : i32
  %t = shape(%a) [0] : i32
  %hundred = const 100 : i32
  %s100 = mul(%s, %hundred) : i32
  %st = add(%s100, %t) : i32
  %thousand = const 1000 : i32
  %y = mul(%x, %thousand) : i32
  %z = add(%y, %st) : i32
  %valid = is_valid(%v) : bool
  %w = select(%valid, %z, %n) : i32
  %ro = at(%o, %i) : ref<i32>
  store(%ro, %w)
  return
}
)",
                        GetParam());
    std::vector<int32_t> a(24);
    std::iota(a.begin(), a.end(), 0);
    std::vector<int32_t> out(3);
    kernel.run(Arguments().array(a.data(), {2, 3, 4}, 4).array(out).value(int64_t{-2}), {3});
    EXPECT_EQ(out, (std::vector<int32_t>{22302, 18302, 14302}));
    // Transposed: shape (4, 3, 2).
    kernel.run(Arguments().array(a.data(), {4, 3, 2}, 4, {4, 16, 48}).array(out).value(int64_t{1}), {3});
    EXPECT_EQ(out, (std::vector<int32_t>{23304, 19304, 15304}));
}

// An index that overflows, brought back by a remainder, is negative and wraps.
TEST_P(Programs, HashedIndices) {
    const Kernel kernel(R"(kernel @k(%o: array<i32, 1>) {
  %i = thread.index [0] : i32
  %p = const 73856093 : i32
  %n = const 17 : i32
  %h = mul(%i, %p) : i32
  %m = rem(%h, %n) : i32
  %r = at(%o, %m) : ref<i32>
  %one = const 1 : i32
  %old = atomic.add(%r, %one) : i32
  return
}
)",
                        GetParam());
    std::vector<int32_t> out(17);
    kernel.run(Arguments().array(out), {1000});
    std::vector<int32_t> want(17);
    for (uint32_t i = 0; i < 1000; ++i) {
        const int32_t m = static_cast<int32_t>(i * 73856093U) % 17;
        ++want[static_cast<size_t>(m < 0 ? m + 17 : m)];
    }
    EXPECT_EQ(out, want);
}

// The kernel counts its items in the first element and writes each one's coordinates behind it, in order.
std::string coordinates_kernel(int used) {
    std::string text = "kernel @k(%o: array<i64, 1>) {\n  %c = const 100 : i64\n  %s0 = const 0 : i64\n";
    for (int d = 0; d < used; ++d) {
        const std::string n = std::to_string(d);
        text += "  %t" + n + " = thread.index [" + n + "] : i32\n  %w" + n + " = cast(%t" + n + ") : i64\n  %m" + n +
                " = mul(%s" + n + ", %c) : i64\n  %s" + std::to_string(d + 1) + " = add(%m" + n + ", %w" + n +
                ") : i64\n";
    }
    return text + R"(  %zero = const 0 : i32
  %rc = at(%o, %zero) : ref<i64>
  %one = const 1 : i64
  %place = atomic.add(%rc, %one) : i64
  %next = add(%place, %one) : i64
  %r = at(%o, %next) : ref<i64>
  store(%r, %s)" +
           std::to_string(used) + ")\n  return\n}\n";
}

TEST_P(Programs, LaunchesOfAnyShapeInAnySplit) {
    const std::vector<Integers> shapes = {{7},       {1},          {3, 5},       {2, 3, 4}, {1, 1, 6},
                                          {3, 1, 2}, {2, 2, 3, 2}, {4, 1, 1, 1}, {5, 1}};
    for (int used = 1; used <= 4; ++used) {
        const Kernel kernel(coordinates_kernel(used), GetParam());
        for (const Integers& dims : shapes) {
            const int64_t total = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
            Integers want;
            for (int64_t i = 0; i < total; ++i) {
                Integers at(8);
                int64_t rest = i;
                for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) at[d] = rest % dims[d];
                int64_t code = 0;
                for (size_t d = 0; d < static_cast<size_t>(used); ++d) code = code * 100 + at[d];
                want.push_back(code);
            }
            for (int64_t begin = 0; begin <= total; ++begin) {
                for (int64_t end = begin; end <= total; ++end) {
                    Integers out(static_cast<size_t>(total) + 1, -1);
                    out[0] = 0;
                    kernel.run(Arguments().array(out), dims, begin, end);
                    ASSERT_EQ(out[0], end - begin);
                    const Integers got(out.begin() + 1, out.begin() + 1 + (end - begin));
                    ASSERT_EQ(got, Integers(want.begin() + begin, want.begin() + end)) << used << " of " << dims.size();
                }
            }
        }
    }
}

template <typename T>
T combined(const std::string& kind, T a, T b) {
    if (kind == "add") return static_cast<T>(a + b);
    if (kind == "sub") return static_cast<T>(a - b);
    if (kind == "min") return std::min(a, b);
    if (kind == "max") return std::max(a, b);
    if constexpr (std::is_integral_v<T>) {
        if (kind == "and") return static_cast<T>(a & b);
        if (kind == "or") return static_cast<T>(a | b);
        if (kind == "xor") return static_cast<T>(a ^ b);
    }
    return b;
}

template <typename T>
void check_atomics(const testing::Config& config, const std::string& scalar) {
    std::vector<std::string> kinds = {"add", "sub", "min", "max", "exchange"};
    if (std::is_integral_v<T>) kinds.insert(kinds.end(), {"and", "or", "xor"});
    const std::string type = "vec<2, " + scalar + ">";
    for (const std::string& kind : kinds) {
        const Kernel kernel("kernel @k(%o: array<" + type + ", 1>, %in: array<" + type + R"(, 1>) {
  %i = thread.index [0] : i32
  %z = const 0 : i32
  %ri = at(%in, %i) : ref<)" + type +
                                R"(>
  %v = load(%ri) : )" + type + R"(
  %r = at(%o, %z) : ref<)" + type +
                                R"(>
  %old = atomic.)" + kind +
                                "(%r, %v) : " + type + "\n  return\n}\n",
                            config);
        constexpr int64_t kItems = 2000;
        std::vector<T> in(2 * kItems);
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(1 + i % 7);
        std::vector<T> out = {static_cast<T>(5), static_cast<T>(5)};
        const auto size = static_cast<int64_t>(2 * sizeof(T));
        const auto arguments = Arguments().array(out.data(), {1}, size).array(in.data(), {kItems}, size);
        // A GPU has threads of its own.
        if (!kernel.is_for_host()) kernel.run(arguments, {kItems});
        std::vector<std::thread> threads;
        for (int64_t t = 0; kernel.is_for_host() && t < 4; ++t) {
            threads.emplace_back([&, t] { kernel.run(arguments, {kItems}, t * kItems / 4, (t + 1) * kItems / 4); });
        }
        for (auto& thread : threads) thread.join();
        for (size_t part = 0; part < 2; ++part) {
            T want = 5;
            for (size_t i = part; i < in.size(); i += 2) want = combined(kind, want, in[i]);
            if (kind == "exchange") {
                EXPECT_TRUE(out[part] >= 1 && out[part] <= 7);
            } else {
                EXPECT_EQ(out[part], want) << kind << " of " << type;
            }
        }
    }
}

TEST_P(Programs, AtomicsFromSeveralThreads) {
    check_atomics<int32_t>(GetParam(), "i32");
    check_atomics<uint64_t>(GetParam(), "u64");
    check_atomics<int8_t>(GetParam(), "i8");
    check_atomics<float>(GetParam(), "f32");
    check_atomics<double>(GetParam(), "f64");
}

TEST_P(Programs, AtomicsOfHalvesAndNan) {
    const Kernel kernel(R"(kernel @k(%h: array<f16, 1>, %f: array<f32, 1>, %o: array<f32, 1>) {
  %i = const 0 : i32
  %rh = at(%h, %i) : ref<f16>
  %one = const 1.5 : f16
  %old = atomic.add(%rh, %one) : f16
  %rf = at(%f, %i) : ref<f32>
  %two = const 2 : f32
  %of = atomic.max(%rf, %two) : f32
  %ro = at(%o, %i) : ref<f32>
  store(%ro, %of)
  return
}
)",
                        GetParam());
    std::vector<uint16_t> half = {0x3c00};
    std::vector<float> f = {std::nanf("")};
    std::vector<float> o = {0};
    kernel.run(Arguments().array(half).array(f).array(o), {1});
    EXPECT_EQ(half[0], 0x4100);
    EXPECT_EQ(f[0], 2);
    EXPECT_TRUE(std::isnan(o[0]));
}

TEST_P(Programs, AssertsReportTheirItem) {
    const Kernel kernel(R"(kernel @k(%n: i32) {
  %i = thread.index [0] : i32
  %ok = lt(%i, %n) : bool
  assert(%ok) "i stays below n"
  return
}
)",
                        GetParam());
    testing::take_failure();
    kernel.run(Arguments().value(int32_t{10}), {10});
    EXPECT_FALSE(testing::take_failure());
    kernel.run(Arguments().value(int32_t{6}), {10});
    const auto failure = testing::take_failure();
    ASSERT_TRUE(failure);
    EXPECT_EQ(*failure, "in thread (6): i stays below n");
    EXPECT_FALSE(testing::take_failure());
}

TEST_P(Programs, Prints) {
    const Kernel kernel(R"(kernel @k(%h: f16) {
  %i = thread.index [0] : i32
  %c = const -3 : i8
  %u = const 200 : u8
  %b = const true : bool
  %l = const -5000000000 : i64
  %f = const 0.5 : f32
  print(%i, %c, %u, %b, %l, %f, %h) "%d %d %u %d %ld %g %g 100%%\x0a"
  return
}
)",
                        GetParam());
    ::testing::internal::CaptureStdout();
    kernel.run(Arguments().value(uint16_t{0x3e00}), {2});
    std::fflush(stdout);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(),
              "0 -3 200 1 -5000000000 0.5 1.5 100%\n1 -3 200 1 -5000000000 0.5 1.5 100%\n");
}

TEST_P(Programs, SelectsZerosSplatsAndCasts) {
    const Kernel kernel(R"(kernel @k(%o: array<vec<3, f64>, 1>, %c: bool) {
  %i = thread.index [0] : i32
  %x = const 2.75 : f32
  %v = splat(%x) : vec<3, f32>
  %z = zero : vec<3, f32>
  %s = select(%c, %v, %z) : vec<3, f32>
  %n = cast(%s) : vec<3, i32>
  %d = cast(%n) : vec<3, f64>
  %r = at(%o, %i) : ref<vec<3, f64>>
  store(%r, %d)
  %dim = launch.dim [0] : i32
  %w = cast(%dim) : f64
  %part = member(%r) [2] : ref<f64>
  store(%part, %w)
  return
}
)",
                        GetParam());
    std::vector<double> out(6, -1);
    kernel.run(Arguments().array(out.data(), {2}, 24).value(uint64_t{1}), {2});
    EXPECT_EQ(out, (std::vector<double>{2, 2, 2, 2, 2, 2}));
    kernel.run(Arguments().array(out.data(), {2}, 24).value(uint64_t{0}), {1});
    EXPECT_EQ(out, (std::vector<double>{0, 0, 1, 2, 2, 2}));
}

TEST_P(Programs, CallsTheDeviceLibrary) {
    for (const std::string type : {"f32", "f16", "i8", "u64"}) {
        const Kernel kernel("kernel @k(%a: array<" + type + ", 1>, %v: array<" + type + R"(, 1>, %o: array<i32, 1>) {
  %i = thread.index [0] : i32
  %rv = at(%v, %i) : ref<)" + type +
                                R"(>
  %x = load(%rv) : )" + type + R"(
  %zero = const 0 : i32
  %n = shape(%a) [0] : i32
  %p = native(%a, %zero, %n, %x) "weft_lower_bound_)" +
                                type + R"(" : i32
  %r = at(%o, %i) : ref<i32>
  store(%r, %p)
  return
}
)",
                            GetParam());
        std::vector<int32_t> out(4);
        std::vector<float> floats = {-2, -1, 0.5F, 3};
        std::vector<float> sought_floats = {-3, -1, 1, 9};
        std::vector<uint16_t> halves = {0xc000, 0xbc00, 0x3800, 0x4200};
        std::vector<uint16_t> sought_halves = {0xc200, 0xbc00, 0x3c00, 0x4880};
        std::vector<int8_t> bytes = {-2, -1, 0, 3};
        std::vector<int8_t> sought_bytes = {-3, -1, 1, 9};
        std::vector<uint64_t> words = {1, 2, 4, ~uint64_t{0} - 5};
        std::vector<uint64_t> sought_words = {0, 2, 5, ~uint64_t{0}};
        Arguments arguments;
        if (type == "f32") arguments.array(floats).array(sought_floats);
        if (type == "f16") arguments.array(halves).array(sought_halves);
        if (type == "i8") arguments.array(bytes).array(sought_bytes);
        if (type == "u64") arguments.array(words).array(sought_words);
        kernel.run(arguments.array(out), {4});
        EXPECT_EQ(out, (std::vector<int32_t>{0, 1, 3, 3})) << type;  // above all elements: the last one
    }
}

// Names that mean something in C or C++ must not matter.
TEST_P(Programs, NamesOfEveryKind) {
    const Kernel kernel(R"(kernel @main(%int: array<i64, 1>, %weft: i64, %item: i64) {
  %class = const 3 : i64
  %sin = add(%class, %weft) : i64
  %end = call(%sin, %item) "sin" : i64
  %begin = const 0 : i32
  %new = at(%int, %begin) : ref<i64>
  store(%new, %end)
  return
}
func @sin(%x: i64, %sin: i64) -> (i64) {
  %return = mul(%x, %sin) : i64
  return(%return)
}
)",
                        GetParam());
    Integers out(1);
    kernel.run(Arguments().array(out).value(int64_t{4}).value(int64_t{6}), {1});
    EXPECT_EQ(out[0], 42);
}

}  // namespace
}  // namespace weft
