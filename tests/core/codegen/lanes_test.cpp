// Kernels whose items run side by side: the same as item by item, for every number of lanes, and every length of a row.
#include <fstream>
#include <numeric>

#include "codegen/run.h"
#include "codegen/symbols.h"

namespace weft {
namespace {

using testing::Arguments;
using testing::Config;
using testing::Kernel;

bool has_lanes(const std::string& text) {
    codegen::Options options;
    options.lanes = 8;
    const auto module = ir::parse(text);
    return codegen::dump(*module, codegen::backend("llvm-cpu").open(), options, "llvm").find(".lanes(") !=
           std::string::npos;
}

// Runs `text` (a kernel of an array of floats to read, one to write and a number) for several sizes, item by item and
// with lanes; strides are in floats.
void check(const std::string& text, int64_t dim1 = 0, int64_t stride = 1, float seed = 0.25F) {
    ASSERT_TRUE(has_lanes(text)) << text;
    const Kernel plain(text, {"llvm-cpu", 2, true, 1});
    for (const int lanes : {2, 4, 8, 16}) {
        const Kernel wide(text, {"llvm-cpu", 2, true, lanes});
        for (const int64_t n : {1, 3, 16, 17, 37, 64}) {
            const int64_t size = n * std::max<int64_t>(dim1, 1) * 3 * stride;
            std::vector<float> in(static_cast<size_t>(size));
            for (size_t i = 0; i < in.size(); ++i) in[i] = seed + static_cast<float>(i * 7 % 31);
            std::vector<float> want(in.size(), -1);
            std::vector<float> got(in.size(), -1);
            const auto run = [&](const Kernel& kernel, std::vector<float>& out) {
                const std::vector<int64_t> strides = {4 * stride};
                kernel.run(Arguments()
                               .array(in.data(), {n}, 4, strides)
                               .array(out.data(), {n}, 4, strides)
                               .value(static_cast<int64_t>(n)),
                           {n});
            };
            run(plain, want);
            run(wide, got);
            ASSERT_EQ(got, want) << lanes << " lanes, " << n << " items\n" << text;
        }
    }
}

std::string kernel(const std::string& body) {
    return "kernel @k(%a: array<f32, 1>, %o: array<f32, 1>, %n: i64) {\n  %i = thread.index [0] : i32\n"
           "  %one = const 1 : i32\n  %zero = const 0 : i32\n  %m = cast(%n) : i32\n"
           "  %ra = at(%a, %i) : ref<f32>\n  %ro = at(%o, %i) : ref<f32>\n  %x = load(%ra) : f32\n" +
           body + "  return\n}\n";
}

TEST(Lanes, LoadAndStore) {
    const std::string text = kernel("  %y = add(%x, %x) : f32\n  store(%ro, %y)\n");
    check(text);
    check(text, 0, 3);  // the arrays are not contiguous: item by item
}

TEST(Lanes, IndicesThatCountFromTheEnd) {
    check(kernel(R"(  %b = sub(%i, %one) : i32
  %rb = at(%a, %b) : ref<f32>
  %y = load(%rb) : f32
  %s = sub(%x, %y) : f32
  %ob = at(%o, %b) : ref<f32>
  store(%ob, %s)
)"));
}

// Around once, more than once, and below zero, where the remainder is negative and counts from the end.
TEST(Lanes, IndicesThatGoAround) {
    for (const std::string shift : {"%b = add(%i, %one) : i32", "%d = sub(%i, %one) : i32  %b = add(%d, %m) : i32",
                                    "%d = add(%m, %m) : i32  %b = add(%d, %i) : i32", "%b = sub(%i, %one) : i32",
                                    "%d = sub(%i, %m) : i32  %b = add(%d, %one) : i32"}) {
        std::string lines = "  " + shift;
        for (size_t at = 2; (at = lines.find("  ", at)) != std::string::npos; at += 3) lines.insert(at, "\n");
        check(kernel(lines + R"(
  %j = rem(%b, %m) : i32
  %rb = at(%a, %j) : ref<f32>
  %y = load(%rb) : f32
  store(%ro, %y)
)"));
        check(kernel(lines + R"(
  %j = rem(%b, %m) : i32
  %ob = at(%o, %j) : ref<f32>
  store(%ob, %x)
)"));
    }
}

TEST(Lanes, GatherAndScatter) {
    check(kernel(R"(  %three = const 3 : i32
  %t = mul(%i, %i) : i32
  %j = rem(%t, %m) : i32
  %rb = at(%a, %j) : ref<f32>
  %y = load(%rb) : f32
  %s = add(%x, %y) : f32
  %k = sub(%m, %one) : i32
  %l = sub(%k, %i) : i32
  %or = at(%o, %l) : ref<f32>
  store(%or, %s)
)"));
}

TEST(Lanes, ArmsUnderMasks) {
    check(kernel(R"(  %limit = const 12.5 : f32
  %c = lt(%x, %limit) : bool
  %odd = and(%i, %one) : i32
  %d = eq(%odd, %zero) : bool
  %y = if(%c) : f32 {
    %z = if(%d) : f32 {
      %q = mul(%x, %x) : f32
      store(%ro, %q)
      yield(%q)
    } {
      %q2 = math.sin(%x) : f32
      yield(%q2)
    }
    yield(%z)
  } {
    store(%ro, %x)
    yield(%x)
  }
  if(%d) {
    %last = load(%ro) : f32
    %w = add(%last, %y) : f32
    store(%ro, %w)
    yield
  } {
    store(%ro, %y)
    yield
  }
)"));
}

// Where items add to one place in a loop, groups of several vectors come first, then vectors, then items.
TEST(Lanes, GroupsOfTwoWidthsInARow) {
    const std::string text = kernel(R"(  for(%zero, %m, %one) {(%j: i32)
    %rj = at(%o, %j) : ref<f32>
    %old = atomic.add(%rj, %x) : f32
    yield
  }
)");
    const Kernel wide(text, {"llvm-cpu", 2, true, 0});
    for (const int64_t n : {1, 15, 16, 31, 64, 65, 81, 144, 200, 333}) {
        std::vector<float> in(static_cast<size_t>(n));
        std::iota(in.begin(), in.end(), 1.0F);
        std::vector<float> out(in.size(), 0);
        wide.run(Arguments().array(in.data(), {n}, 4).array(out.data(), {n}, 4).value(n), {n});
        const int64_t sum = n * (n + 1) / 2;
        const std::vector<float> want(in.size(), static_cast<float>(sum));  // all numbers are exact
        EXPECT_EQ(out, want) << n;
    }
}

TEST(Lanes, LoopsOfUnequalLength) {
    check(kernel(R"(  %s = for(%zero, %i, %one, %x) : f32 {(%j: i32, %t: f32)
    %rj = at(%a, %j) : ref<f32>
    %v = load(%rj) : f32
    %limit = const 30.0 : f32
    %big = gt(%v, %limit) : bool
    if(%big) {
      break(%t)
    } {
      yield
    }
    %u = add(%t, %v) : f32
    yield(%u)
  }
  %h = while(%s) : f32 {(%p: f32)
    %five = const 5.0 : f32
    %c = gt(%p, %five) : bool
    condition(%c)
  } {(%p2: f32)
    %half = const 0.5 : f32
    %q = mul(%p2, %half) : f32
    yield(%q)
  }
  store(%ro, %h)
)"));
}

// As adjoints do: a function whose derivative is a function of its own, and this one.
TEST(Lanes, CallsOfFunctionsAndTheirDerivatives) {
    const std::string functions =
        "func @f(%x: f32) -> (f32) adjoint @adj_f replay @rep_f {\n  %y = mul(%x, %x) : f32\n  return(%y)\n}\n"
        "func @rep_f(%x: f32) -> (f32) {\n  %y = mul(%x, %x) : f32\n  return(%y)\n}\n"
        "func @adj_f(%x: f32, %g: f32) -> (f32) {\n  %two = add(%x, %x) : f32\n  %y = mul(%two, %g) : f32\n"
        "  return(%y)\n}\n";
    check(functions + kernel("  %y = call(%x) \"f\" : f32\n  %r = call(%x) \"rep_f\" : f32\n"
                             "  %d = call(%y, %r) \"adj_f\" : f32\n  store(%ro, %d)\n"));
}

TEST(Lanes, EarlyReturns) {
    check(kernel(R"(  %limit = const 12.5 : f32
  %c = lt(%x, %limit) : bool
  if(%c) {
    return
  } {
    yield
  }
  store(%ro, %x)
)"));
}

TEST(Lanes, AtomicsInOrderOfLanes) {
    check(kernel(R"(  %two = const 2 : i32
  %h = div(%i, %two) : i32
  %r = at(%o, %h) : ref<f32>
  %0 = atomic.add(%r, %x) : f32
)"));
    // The old value is used.
    check(kernel(R"(  %r = at(%o, %zero) : ref<f32>
  %old = atomic.max(%r, %x) : f32
  %k = const 0.5 : f32
  %z = mul(%old, %k) : f32
  %far = add(%i, %m) : i32
  %rf = at(%o, %far) : ref<f32>
  %1 = atomic.add(%rf, %z) : f32
)"));
}

// Elements of several numbers, of all lanes in a row, and the coordinates of a second dimension.
TEST(Lanes, VectorsInRows) {
    const std::string text = R"(kernel @k(%a: array<vec<3, f32>, 2>, %o: array<vec<3, f32>, 2>, %b: array<bool, 2>) {
  %i = thread.index [0] : i32
  %j = thread.index [1] : i32
  %ra = at(%a, %i, %j) : ref<vec<3, f32>>
  %v = load(%ra) : vec<3, f32>
  %rb = at(%b, %i, %j) : ref<bool>
  %c = load(%rb) : bool
  %ro = at(%o, %i, %j) : ref<vec<3, f32>>
  if(%c) {
    %w = add(%v, %v) : vec<3, f32>
    store(%ro, %w)
    yield
  } {
    %p = member(%ro) [1] : ref<f32>
    %x = extract(%v) [0] : f32
    store(%p, %x)
    yield
  }
  return
}
)";
    ASSERT_TRUE(has_lanes(text));
    const Kernel plain(text, {"llvm-cpu", 2, true, 1});
    for (const int lanes : {2, 4, 8, 16}) {
        const Kernel wide(text, {"llvm-cpu", 2, true, lanes});
        for (const int64_t n : {1, 5, 16, 35}) {
            const int64_t rows = 3;
            std::vector<float> in(static_cast<size_t>(3 * rows * n));
            std::iota(in.begin(), in.end(), 1.0F);
            std::vector<uint8_t> flags(static_cast<size_t>(rows * n));
            for (size_t i = 0; i < flags.size(); ++i) flags[i] = static_cast<uint8_t>(i * 5 % 3);
            std::vector<float> want(in.size(), -1);
            std::vector<float> got(in.size(), -1);
            for (auto* out : {&want, &got}) {
                (out == &want ? plain : wide)
                    .run(Arguments()
                             .array(in.data(), {rows, n}, 12)
                             .array(out->data(), {rows, n}, 12)
                             .array(flags.data(), {rows, n}, 1),
                         {rows, n}, 1, rows * n);
            }
            ASSERT_EQ(got, want) << lanes << " lanes, rows of " << n;
        }
    }
}

// Elements of several numbers are loaded and stored as runs, whatever the factors of their number.
TEST(Lanes, GroupsOfNumbers) {
    for (const int count : {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}) {
        const std::string type = "vec<" + std::to_string(count) + ", f32>";
        const std::string text = "kernel @k(%a: array<" + type + ", 1>, %o: array<" + type + ", 1>) {\n" +
                                 "  %i = thread.index [0] : i32\n  %ra = at(%a, %i) : ref<" + type + ">\n" +
                                 "  %v = load(%ra) : " + type + "\n  %f = extract(%v) [0] : f32\n" +
                                 "  %w = insert(%v, %f) [" + std::to_string(count - 1) + "] : " + type + "\n" +
                                 "  %s = add(%w, %v) : " + type + "\n  %ro = at(%o, %i) : ref<" + type +
                                 ">\n  store(%ro, %s)\n  return\n}\n";
        ASSERT_TRUE(has_lanes(text));
        for (const int lanes : {2, 4, 8, 16}) {
            const Kernel wide(text, {"llvm-cpu", 2, true, lanes});
            const int64_t n = 37;
            std::vector<float> in(static_cast<size_t>(n * count));
            std::iota(in.begin(), in.end(), 1.0F);
            std::vector<float> want(in.size());
            for (size_t i = 0; i < in.size(); ++i) {
                const size_t part = i % static_cast<size_t>(count);
                want[i] = in[i] + (part + 1 == static_cast<size_t>(count) ? in[i - part] : in[i]);
            }
            std::vector<float> got(in.size(), -1);
            wide.run(Arguments().array(in.data(), {n}, int64_t{4} * count).array(got.data(), {n}, int64_t{4} * count),
                     {n});
            ASSERT_EQ(got, want) << count << " numbers in " << lanes << " lanes";
        }
    }
}

// Elements of several numbers at places that an array names: loaded by all lanes or some, and added up where lanes
// meet.
TEST(Lanes, ElementsAnywhere) {
    for (const int count : {1, 2, 3, 4, 5, 7, 9, 11, 16}) {
        const std::string type = "vec<" + std::to_string(count) + ", f32>";
        for (const bool some : {false, true}) {
            const std::string work = "  %ra = at(%a, %p) : ref<" + type + ">\n  %v = load(%ra) : " + type +
                                     "\n  %h = div(%p, %two) : i32\n  %ro = at(%o, %h) : ref<" + type +
                                     ">\n  %0 = atomic.sub(%ro, %v) : " + type + "\n";
            const std::string text = "kernel @k(%a: array<" + type + ", 1>, %o: array<" + type +
                                     ", 1>, %q: array<i32, 1>) {\n  %i = thread.index [0] : i32\n" +
                                     "  %two = const 2 : i32\n  %three = const 3 : i32\n  %zero = const 0 : i32\n" +
                                     "  %rq = at(%q, %i) : ref<i32>\n  %p = load(%rq) : i32\n" +
                                     "  %t = rem(%i, %three) : i32\n  %c = ne(%t, %zero) : bool\n" +
                                     (some ? "  if(%c) {\n" + work + "    yield\n  } {\n    yield\n  }\n" : work) +
                                     "  return\n}\n";
            ASSERT_TRUE(has_lanes(text));
            const size_t n = 100;
            const size_t size = 23;
            const auto width = static_cast<size_t>(count);
            std::vector<float> in(size * width);
            std::iota(in.begin(), in.end(), 1.0F);
            std::vector<int32_t> places(n);
            for (size_t i = 0; i < n; ++i) places[i] = static_cast<int32_t>(i * i % size);
            std::vector<float> want(in.size(), 1);
            for (size_t i = 0; i < n; ++i) {
                const auto place = static_cast<size_t>(places[i]);
                for (size_t k = 0; k < width && (!some || i % 3 != 0); ++k) {
                    want[place / 2 * width + k] -= in[place * width + k];
                }
            }
            for (const int lanes : {2, 4, 8, 16}) {
                const Kernel wide(text, {"llvm-cpu", 2, true, lanes});
                for (const uint32_t exclusive : {0U, uint32_t{codegen::kOneThread}}) {
                    std::vector<float> got(in.size(), 1);
                    const auto arguments = Arguments()
                                               .array(in.data(), {size}, int64_t{4} * count)
                                               .array(got.data(), {size}, int64_t{4} * count)
                                               .array(places);
                    codegen::LaunchShape shape;
                    shape.dims[0] = n;
                    shape.exclusive = exclusive;
                    wide.entry()(arguments.data(), &shape, 0, n);
                    ASSERT_EQ(got, want) << count << " numbers in " << lanes << " lanes, exclusive: " << exclusive;
                }
            }
        }
    }
}

// Stores past the caches, where arrays begin at a line and where they do not.
size_t count_of(const std::string& what, const std::string& text, int lanes = 16) {
    codegen::Options options;
    options.lanes = lanes;
    const auto module = ir::parse(text);
    const std::string llvm = codegen::dump(*module, codegen::backend("llvm-cpu").open(), options, "llvm");
    size_t count = 0;
    for (size_t at = llvm.find(what); at != std::string::npos; at = llvm.find(what, at + 1)) ++count;
    return count;
}

// Once for each row that is read under a mask; what is read without one the processor fetches by itself.
TEST(Lanes, RunsUnderMasksAreFetchedAhead) {
    const std::string fetch = "call void @llvm.prefetch";
    const auto masked = [](const std::string& loads) {
        return kernel("  %limit = const 12.5 : f32\n  %c = lt(%x, %limit) : bool\n  if(%c) {\n" + loads +
                      "    yield()\n  } {\n    yield()\n  }\n");
    };
    EXPECT_EQ(count_of(fetch, kernel("  store(%ro, %x)\n")), 0U);
    EXPECT_EQ(count_of(fetch, masked("    %z = load(%ro) : f32\n    store(%ra, %z)\n")), 1U);
    EXPECT_EQ(count_of(fetch, masked("    %next = add(%i, %one) : i32\n    %rb = at(%o, %next) : ref<f32>\n"
                                     "    %z = load(%rb) : f32\n    %w = load(%ro) : f32\n"
                                     "    %y = add(%w, %z) : f32\n    store(%ro, %y)\n")),
              1U);
    EXPECT_EQ(count_of(fetch, masked("    %w = load(%ra) : f32\n    %z = load(%ro) : f32\n"
                                     "    %y = add(%w, %z) : f32\n    store(%ro, %y)\n")),
              2U);
}

// Where gathers are quick, which LLVM knows of the processor and Linux of its microcode, a number at a time is quicker
// than rows; fewer lanes than the machine has take rows everywhere.
TEST(Lanes, ElementsAnywhereAreGatheredWhereThatIsFast) {
    const std::string text = R"(kernel @k(%a: array<vec<3, f32>, 1>, %o: array<vec<3, f32>, 1>, %q: array<i32, 1>) {
  %i = thread.index [0] : i32
  %rq = at(%q, %i) : ref<i32>
  %p = load(%rq) : i32
  %ra = at(%a, %p) : ref<vec<3, f32>>
  %v = load(%ra) : vec<3, f32>
  %ro = at(%o, %i) : ref<vec<3, f32>>
  store(%ro, %v)
  return
}
)";
    EXPECT_EQ(count_of("call <8 x float> @llvm.masked.gather", text, 8), 0U);
#if defined(__x86_64__)
    // Of other makers' processors LLVM may say either.
    if (!__builtin_cpu_is("intel") || !__builtin_cpu_supports("avx512vl")) return;
    std::ifstream file("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling");
    std::string state;
    std::getline(file, state);
    EXPECT_EQ(count_of("call <16 x float> @llvm.masked.gather", text), state.starts_with("Mitigation") ? 0U : 3U);
#endif
}

// Members of elements in a row come in runs and go in runs, with a mask or without; so do one number's neighbours,
// which stay as they are.
TEST(Lanes, MembersAreRuns) {
    for (const bool some : {false, true}) {
        const std::string work = R"(  %ma = member(%ra) [1] : ref<f32>
  %x = load(%ma) : f32
  %mo = member(%ro) [2] : ref<f32>
  store(%mo, %x)
  %mp = member(%ro) [0] : ref<f32>
  store(%mp, %x)
)";
        const std::string text = R"(kernel @k(%a: array<vec<3, f32>, 1>, %o: array<vec<3, f32>, 1>) {
  %i = thread.index [0] : i32
  %three = const 3 : i32
  %zero = const 0 : i32
  %t = rem(%i, %three) : i32
  %c = ne(%t, %zero) : bool
  %ra = at(%a, %i) : ref<vec<3, f32>>
  %ro = at(%o, %i) : ref<vec<3, f32>>
)" + (some ? "  if(%c) {\n" + work + "    yield\n  } {\n    yield\n  }\n" : work) +
                                 "  return\n}\n";
        ASSERT_TRUE(has_lanes(text));
        EXPECT_EQ(count_of("call <16 x float> @llvm.masked.gather", text), 0U);
        EXPECT_EQ(count_of("call void @llvm.masked.scatter", text), 0U);
        EXPECT_EQ(count_of("call void @llvm.masked.store", text), 6U);
        for (const int lanes : {2, 4, 8, 16}) {
            const Kernel wide(text, {"llvm-cpu", 2, true, lanes});
            for (const size_t n : {1, 16, 37}) {
                std::vector<float> in(3 * n);
                std::iota(in.begin(), in.end(), 1.0F);
                std::vector<float> want(in.size(), -1);
                for (size_t i = 0; i < n; ++i) {
                    if (!some || i % 3 != 0) want[3 * i] = want[3 * i + 2] = in[3 * i + 1];
                }
                std::vector<float> got(in.size(), -1);
                const auto count = static_cast<int64_t>(n);
                wide.run(Arguments().array(in.data(), {count}, 12).array(got.data(), {count}, 12), {count});
                ASSERT_EQ(got, want) << lanes << " lanes, " << n << " items";
            }
        }
    }
}

TEST(Lanes, StoresPastTheCaches) {
    const std::string text = R"(kernel @k(%a: array<vec<3, f32>, 1>, %o: array<vec<3, f32>, 1>) {
  %i = thread.index [0] : i32
  %ra = at(%a, %i) : ref<vec<3, f32>>
  %v = load(%ra) : vec<3, f32>
  %w = add(%v, %v) : vec<3, f32>
  %ro = at(%o, %i) : ref<vec<3, f32>>
  store(%ro, %w)
  return
}
)";
    codegen::Options options;
    options.lanes = 16;
    const auto dumped = codegen::dump(*ir::parse(text), codegen::backend("llvm-cpu").open(), options, "llvm");
    EXPECT_NE(dumped.find("!nontemporal"), std::string::npos);
    const Kernel wide(text, {"llvm-cpu", 2, true, 16});
    constexpr int64_t kItems = 100;
    std::vector<float> in(3 * kItems);
    std::iota(in.begin(), in.end(), 1.0F);
    for (const size_t shift : {0, 1, 3, 16}) {
        struct alignas(64) Lines {
            float numbers[3 * kItems + 64] = {};
        };
        const auto out = std::make_unique<Lines>();
        codegen::LaunchShape shape;
        shape.dims[0] = kItems;
        shape.streams = 1;
        float* begin = out->numbers + 16 + shift;
        wide.entry()(Arguments().array(in.data(), {kItems}, 12).array(begin, {kItems}, 12).data(), &shape, 0, kItems);
        for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(begin[i], 2 * in[i]) << shift;
        EXPECT_EQ(begin[-1], 0);
        EXPECT_EQ(begin[in.size()], 0);
    }
}

}  // namespace
}  // namespace weft
