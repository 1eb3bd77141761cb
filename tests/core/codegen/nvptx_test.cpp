// PTX of kernels: what it says, and that NVIDIA's assembler takes it. That it computes the right numbers is seen where
// a GPU is (tests that run on every device).
#include "ad/reverse.h"
#include "base/error.h"
#include "codegen/ptxas.h"

namespace weft {
namespace {

using testing::assemble;
using testing::ptx_of;

std::string of_text(const std::string& text, const codegen::Options& options = {}) {
    return ptx_of(*ir::parse(text), options);
}

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

constexpr const char* kSaxpy = R"(kernel @saxpy(%x: array<f32, 1>, %y: array<f32, 1>, %a: f32) {
  %i = thread.index [0] : i32
  %rx = at(%x, %i) : ref<f32>
  %vx = load(%rx) : f32
  %ry = at(%y, %i) : ref<f32>
  %vy = load(%ry) : f32
  %m = mul(%vx, %a) : f32
  %s = add(%m, %vy) : f32
  store(%ry, %s)
  return
}
)";

TEST(Nvptx, ReadsGlobalMemoryAndKeepsNothingInLocal) {
    const std::string ptx = of_text(kSaxpy);
    EXPECT_NE(ptx.find(".visible .entry weft_kernel_saxpy("), std::string::npos) << ptx;
    EXPECT_EQ(count(ptx, "ld.global.f32"), 2U) << ptx;
    EXPECT_EQ(count(ptx, "st.global.f32"), 1U) << ptx;
    EXPECT_EQ(ptx.find(".local"), std::string::npos) << ptx;
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

TEST(Nvptx, TakesFourItemsAThreadWhereArraysAreDense) {
    const std::string ptx = of_text(kSaxpy, {.dense = true});
    EXPECT_EQ(count(ptx, "ld.global.v4.f32"), 2U) << ptx;
    EXPECT_EQ(count(ptx, "st.global.v4.f32"), 1U) << ptx;
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

TEST(Nvptx, StridesOfDenseArraysAreConstants) {
    const std::string ptx = of_text(R"(kernel @k(%x: array<f32, 1>, %y: array<f32, 1>, %n: i32) {
  %i = thread.index [0] : i32
  %0 = const 0 : f32
  %1 = const 0 : i32
  %2 = const 1 : i32
  %s = for(%1, %n, %2, %0) : f32 {(%j: i32, %q: f32)
    %3 = at(%x, %j) : ref<f32>
    %4 = load(%3) : f32
    %5 = add(%q, %4) : f32
    yield(%5)
  }
  %o = at(%y, %i) : ref<f32>
  store(%o, %s)
  return
}
)",
                                    {.dense = true});
    EXPECT_EQ(count(ptx, "mul.lo.s64"), 0U) << ptx;
    EXPECT_EQ(count(ptx, "st.global"), 1U) << "a loop is enough for a thread";
    EXPECT_EQ(count(ptx, "ld.global.v4.f32"), 1U) << "four turns read together";
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

// Writes to y[(i - 1 + n) % n, j] and reads x[i, j] before and after.
constexpr const char* kAround = R"(kernel @k(%x: array<f32, 2>, %y: array<f32, 2>) {
  %i = thread.index [0] : i32
  %j = thread.index [1] : i32
  %one = const 1 : i32
  %n = shape(%y) [0] : i32
  %0 = sub(%i, %one) : i32
  %1 = add(%0, %n) : i32
  %r = rem(%1, %n) : i32
  %2 = at(%x, %i, %j) : ref<f32>
  %3 = load(%2) : f32
  %4 = at(%y, %r, %j) : ref<f32>
  %sum = add(%3, %3) : f32
  store(%4, %sum)
  %5 = load(%2) : f32
  %6 = at(%y, %j, %r) : ref<f32>
  store(%6, %5)
  return
}
)";

TEST(Nvptx, NarrowLaunchesFindPlacesIn32BitsAndReadOnce) {
    const std::string dense = of_text(kAround, {.dense = true});
    EXPECT_EQ(count(dense, "ld.global.f32"), 2U) << "the write may have changed it: " << dense;
    const std::string narrow = of_text(kAround, {.dense = true, .narrow = true});
    EXPECT_EQ(count(narrow, "ld.global.f32"), 1U) << narrow;
    EXPECT_LT(count(narrow, ".s64"), count(dense, ".s64"));
    // The remainder is an index that needs no look at its sign.
    EXPECT_LT(count(narrow, "selp"), count(dense, "selp")) << narrow;
    EXPECT_EQ(assemble(narrow, "sm_75"), "");
}

std::string sum_of(const std::string& type) {
    return "kernel @k(%x: array<" + type + ", 1>, %at: array<i32, 1>, %o: array<" + type + R"(, 1>) {
  %i = thread.index [0] : i32
  %r = at(%x, %i) : ref<)" +
           type + R"(>
  %v = load(%r) : )" +
           type + R"(
  %p = at(%at, %i) : ref<i32>
  %k = load(%p) : i32
  %to = at(%o, %k) : ref<)" +
           type + R"(>
  %old = atomic.add(%to, %v) : )" +
           type + R"(
  %w = load(%r) : )" +
           type + R"(
  %next = at(%o, %i) : ref<)" +
           type + R"(>
  %older = atomic.add(%next, %w) : )" +
           type + R"(
  return
}
)";
}

TEST(Nvptx, AddsSeveralNumbersAtOnce) {
    struct Case {
        const char* type;
        size_t singles, pairs, fours;  // of one sum
    };
    for (const Case& c : {Case{"vec<2, f32>", 0, 1, 0},
                          {"vec<3, f32>", 1, 1, 0},
                          {"vec<4, f32>", 0, 0, 1},
                          {"mat<3, 3, f32>", 1, 4, 0},
                          {"vec<6, f32>", 0, 3, 0},
                          {"vec<3, f64>", 0, 0, 0}}) {
        const std::string text = sum_of(c.type);
        const std::string ptx = of_text(text, {.dense = true, .narrow = true, .architecture = "sm_90"});
        EXPECT_EQ(count(ptx, "red.global.add.f32 "), 2 * c.singles) << c.type << ptx;
        EXPECT_EQ(count(ptx, "red.global.add.v2.f32"), 2 * c.pairs) << c.type << ptx;
        EXPECT_EQ(count(ptx, "red.global.add.v4.f32"), 2 * c.fours) << c.type << ptx;
        EXPECT_EQ(assemble(ptx, "sm_90"), "") << ptx;
        // Machines before have no such instruction, and other launches no such promise.
        for (const auto& [narrow, machine] : {std::pair(true, "sm_80"), {false, "sm_90"}}) {
            EXPECT_EQ(count(of_text(text, {.dense = true, .narrow = narrow, .architecture = machine}), "red.global"),
                      0U);
        }
    }
    // What is added is not read again: nothing written lies there.
    const std::string ptx = of_text(sum_of("vec<4, f32>"), {.dense = true, .narrow = true, .architecture = "sm_90"});
    EXPECT_EQ(count(ptx, "ld.global.v4.f32"), 1U) << ptx;
}

TEST(Nvptx, SumsInThreadsAndWarpsBeforeItAddsToOneAddress) {
    const auto text = [] {
        return std::string(R"(kernel @k(%x: array<T, 1>, %o: array<T, 1>) {
  %i = thread.index [0] : i32
  %r = at(%x, %i) : ref<T>
  %v = load(%r) : T
  %zero = const 0 : i32
  %to = at(%o, %zero) : ref<T>
  %old = atomic.add(%to, %v) : T
  return
}
)");
    };
    for (const std::string type : {"f32", "f64", "i32", "u64"}) {
        std::string source = text();
        for (size_t at = 0; (at = source.find('T', at)) != std::string::npos;) source.replace(at, 1, type);
        const std::string ptx = of_text(source, {.dense = true});
        EXPECT_GE(count(ptx, "shfl.sync.down"), 5U) << ptx;
        EXPECT_EQ(count(ptx, "atom.") + count(ptx, "red."), 1U) << ptx;
        EXPECT_EQ(assemble(ptx, "sm_75"), "") << ptx;
    }
}

constexpr const char* kQuotients = R"(kernel @k(%x: array<f32, 1>, %y: array<f32, 1>, %n: i32) {
  %i = thread.index [0] : i32
  %0 = const 0 : f32
  %1 = const 0 : i32
  %2 = const 1 : i32
  %s = for(%1, %n, %2, %0) : f32 {(%j: i32, %q: f32)
    %3 = at(%x, %j) : ref<f32>
    %4 = load(%3) : f32
    %5 = div(%q, %4) : f32
    %6 = add(%5, %4) : f32
    yield(%6)
  }
  %r = at(%y, %i) : ref<f32>
  store(%r, %s)
  return
}
)";

// NVIDIA's assembler makes a branch of each division, across which it moves no load.
TEST(Nvptx, FourTurnsOfALoopAskForTheirMemoryBeforeTheyDivide) {
    const std::string ptx = of_text(kQuotients);
    EXPECT_EQ(count(ptx, "div.rn.f32"), 5U) << "four, and the turns that are left: " << ptx;
    const std::string loop = ptx.substr(ptx.find("div.rn.f32"));  // behind the first division
    const size_t left = loop.find("ld.global.f32");
    ASSERT_NE(left, std::string::npos) << ptx;
    EXPECT_EQ(count(loop.substr(0, left), "div.rn.f32"), 4U) << "no load between the divisions of four turns: " << ptx;
    EXPECT_NE(of_text(kQuotients, {.dense = true}).find("ld.global.v4.f32"), std::string::npos);
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

TEST(Nvptx, LoadsStayBehindWritesBeforeThem) {
    std::string text = kQuotients;
    text.replace(text.find("    yield(%6)"), 0, "    %w = at(%y, %j) : ref<f32>\n    store(%w, %6)\n");
    const std::string ptx = of_text(text);
    ASSERT_EQ(count(ptx, "div.rn.f32"), 5U) << ptx;
    size_t at = ptx.find("ld.global.f32");
    for (int turn = 0; turn < 3; ++turn) {
        const size_t stored = ptx.find("st.global.f32", at);
        at = ptx.find("ld.global.f32", at + 1);
        EXPECT_LT(stored, at) << "turn " << turn << " may have written what the next one reads: " << ptx;
    }
}

TEST(Nvptx, KeepsLaunchBounds) {
    const std::string ptx = of_text(kSaxpy, {.max_threads = 128, .min_blocks = 2, .max_registers = 40});
    EXPECT_NE(ptx.find(".maxntid 128"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find(".minnctapersm 2"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find(".maxnreg 40"), std::string::npos) << ptx;
}

TEST(Nvptx, FusesOnlyWhenAsked) {
    EXPECT_EQ(of_text(kSaxpy).find("fma.rn"), std::string::npos);
    EXPECT_NE(of_text(kSaxpy, {.contract = true}).find("fma.rn.f32"), std::string::npos);
}

TEST(Nvptx, NamesTheArchitecture) {
    const auto target = [](const std::string& wanted) {
        const std::string ptx = of_text(kSaxpy, {.architecture = wanted});
        const size_t at = ptx.find(".target ");
        return ptx.substr(at, ptx.find('\n', at) - at);
    };
    EXPECT_EQ(target(""), ".target sm_75");
    EXPECT_EQ(target("sm_86"), ".target sm_86");
    EXPECT_EQ(target("sm_90"), ".target sm_90");
    EXPECT_EQ(target("sm_120"), ".target sm_90") << "newer machines take the newest PTX that LLVM writes";
    EXPECT_EQ(target("sm_90a"), ".target sm_90a");
    EXPECT_EQ(assemble(of_text(kSaxpy, {.architecture = "sm_90a"}), "sm_90a"), "");
    EXPECT_THROW(target("sm_86a"), UserError);
    EXPECT_THROW(target("sm_100f"), UserError);
}

// One kernel for each thing that CPUs and GPUs do differently.
class NvptxFeature : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(NvptxFeature, Assembles) {
    const std::string ptx = of_text(GetParam().second);
    for (const char* architecture : {"sm_75", "sm_90"}) EXPECT_EQ(assemble(ptx, architecture), "") << ptx;
}

INSTANTIATE_TEST_SUITE_P(
    All, NvptxFeature,
    ::testing::Values(
        std::pair{"coordinates", R"(kernel @k(%o: array<i32, 3>) {
  %i = thread.index [0] : i32
  %j = thread.index [1] : i32
  %k = thread.index [2] : i32
  %r = at(%o, %i, %j, %k) : ref<i32>
  %n = launch.dim [1] : i32
  store(%r, %n)
  return
}
)"},
        std::pair{"atomics", R"(kernel @k(%f: array<f32, 1>, %d: array<f64, 1>, %h: array<f16, 1>, %i: array<i64, 1>) {
  %t = thread.index [0] : i32
  %rf = at(%f, %t) : ref<f32>
  %vf = cast(%t) : f32
  %a = atomic.add(%rf, %vf) : f32
  %b = atomic.sub(%rf, %vf) : f32
  %c = atomic.min(%rf, %vf) : f32
  %rd = at(%d, %t) : ref<f64>
  %vd = cast(%t) : f64
  %e = atomic.add(%rd, %vd) : f64
  %g = atomic.max(%rd, %vd) : f64
  %rh = at(%h, %t) : ref<f16>
  %vh = cast(%t) : f16
  %j = atomic.add(%rh, %vh) : f16
  %ri = at(%i, %t) : ref<i64>
  %vi = cast(%t) : i64
  %k = atomic.exchange(%ri, %vi) : i64
  return
}
)"},
        std::pair{"conversions", R"(kernel @k(%f: array<f64, 1>, %o: array<u64, 1>, %h: array<bf16, 1>) {
  %t = thread.index [0] : i32
  %rf = at(%f, %t) : ref<f64>
  %v = load(%rf) : f64
  %u = cast(%v) : u64
  %ro = at(%o, %t) : ref<u64>
  store(%ro, %u)
  %rh = at(%h, %t) : ref<bf16>
  %b = cast(%v) : bf16
  store(%rh, %b)
  return
}
)"},
        std::pair{"print and assert", R"(kernel @k(%f: array<f32, 1>) {
  %t = thread.index [0] : i32
  %rf = at(%f, %t) : ref<f32>
  %v = load(%rf) : f32
  print(%t, %v) "%d is %f\x0a"
  %zero = const 0 : f32
  %positive = gt(%v, %zero) : bool
  %wide = cast(%t) : i64
  assert(%positive, %wide) "item %lld is not positive"
  store(%rf, %zero)
  return
}
)"}),
    [](const auto& feature) {
        std::string name = feature.param.first;
        for (char& c : name) c = c == ' ' ? '_' : c;
        return name;
    });

TEST(Nvptx, BindsEveryFunctionOfMaths) {
#define MATH(Name, name, operands, kind)                                                                       \
    for (const std::string type : {"f32", "f64", "f16"}) {                                                     \
        const std::string second = (operands) == 2 ? ", %x" : "";                                              \
        const std::string ptx = of_text("kernel @k(%a: array<" + type +                                        \
                                        ", 1>) {\n  %i = thread.index [0] : i32\n"                             \
                                        "  %r = at(%a, %i) : ref<" +                                           \
                                        type + ">\n  %x = load(%r) : " + type + "\n  %y = math." #name "(%x" + \
                                        second + ") : " + type + "\n  store(%r, %y)\n  return\n}\n");          \
        EXPECT_EQ(ptx.find(".extern .func"), std::string::npos) << #name << " of " << type << " is not bound"; \
        if (type != "f16") {                                                                                   \
            EXPECT_EQ(assemble(ptx, "sm_75"), "") << #name;                                                    \
        }                                                                                                      \
    }
#include "ir/math.def"
#undef MATH
}

TEST(Nvptx, RefusesAtomicsOnWhatMayLieAnywhere) {
    try {
        of_text(R"(kernel @k(%a: array<struct P<packed a: u8, b: f32>, 1>, %v: f32) {
  %i = thread.index [0] : i32
  %r = at(%a, %i) : ref<struct P<packed a: u8, b: f32>>
  %m = member(%r) [1] : ref<f32>
  %o = atomic.add(%m, %v) : f32
  return
}
)");
        ADD_FAILURE() << "compiled";
    } catch (const UserError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
        EXPECT_NE(std::string(error.what()).find("packed struct"), std::string::npos);
    }
}

// They return void: PTX has no empty struct.
TEST(Nvptx, FunctionsWithoutResultsAssembleWhereTheyAreNotInlined) {
    const std::string ptx = of_text(R"(func @store_at(%a: array<i32, 1>, %n: i32) {
  %0 = at(%a, %n) : ref<i32>
  store(%0, %n)
  return
}
kernel @k(%x: array<i32, 1>, %n: i32) {
  call(%x, %n) "store_at"
  call(%x, %n) "store_at"
  return
}
)",
                                    {.optimize = 0});
    EXPECT_NE(ptx.find("call.uni"), std::string::npos) << ptx;
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

constexpr const char* kOfArgument = R"(func @change(%a: array<i32, 1>, %n: i32) -> (i32) {
  %0 = const 0 : i32
  %1 = at(%a, %0) : ref<i32>
  %2 = atomic.xor(%1, %n) : i32
  return(%2)
}
)";

// NVIDIA's GPUs have no atomics on variables of a thread: they would change something else.
TEST(Nvptx, AtomicsOnArraysMadeInTheKernelArePlain) {
    const std::string ptx = of_text(std::string(kOfArgument) + R"(kernel @k(%x: array<i32, 1>, %n: i32) {
  %la = local_array [4] : array<i32, 1>
  %i = thread.index [0] : i32
  %o = call(%la, %n) "change" : i32
  %0 = at(%la, %n) : ref<i32>
  %1 = load(%0) : i32
  %2 = at(%x, %i) : ref<i32>
  %3 = add(%1, %o) : i32
  store(%2, %3)
  return
}
)");
    EXPECT_EQ(count(ptx, "atom."), 0U) << ptx;
    EXPECT_NE(ptx.find("xor.b32"), std::string::npos) << ptx;
}

TEST(Nvptx, AtomicsOnArraysOfTheLaunchStay) {
    const std::string ptx = of_text(std::string(kOfArgument) + R"(kernel @k(%x: array<i32, 1>, %n: i32) {
  %o = call(%x, %n) "change" : i32
  return
}
)");
    EXPECT_EQ(count(ptx, "atom.") + count(ptx, "red."), 1U) << ptx;
    EXPECT_EQ(ptx.find("isspacep"), std::string::npos) << ptx;
}

TEST(Nvptx, AtomicsOnArraysThatMayBeEitherAskWhenTheyRun) {
    const std::string ptx = of_text(std::string(kOfArgument) + R"(kernel @k(%x: array<i32, 1>, %n: i32) {
  %la = local_array [4] : array<i32, 1>
  %0 = const 3 : i32
  %c = gt(%n, %0) : bool
  %a = if(%c) : array<i32, 1> {
    yield(%la)
  } {
    yield(%x)
  }
  %o = call(%a, %n) "change" : i32
  %1 = at(%la, %n) : ref<i32>
  %2 = load(%1) : i32
  %3 = at(%x, %n) : ref<i32>
  store(%3, %2)
  return
}
)");
    EXPECT_NE(ptx.find("isspacep.local"), std::string::npos) << ptx;
    EXPECT_EQ(count(ptx, "atom.") + count(ptx, "red."), 1U) << ptx;
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

// Adjoints of loops keep values on stacks, which lie in the device's heap.
TEST(Nvptx, AdjointsWithStacksAssemble) {
    auto module = ir::parse(R"(kernel @k(%a: array<f32, 1>, %o: array<f32, 1>, %n: i32) {
  %zero = const 0 : i32
  %one = const 1 : i32
  %t = thread.index [0] : i32
  %ra = at(%a, %t) : ref<f32>
  %x = load(%ra) : f32
  %p = for(%zero, %n, %one, %x) : f32 {(%i: i32, %v: f32)
    %s = math.sin(%v) : f32
    %w = mul(%s, %v) : f32
    yield(%w)
  }
  %ro = at(%o, %t) : ref<f32>
  store(%ro, %p)
  return
}
)");
    ad::add_adjoint(*module, "k");
    const std::string ptx = ptx_of(*module);
    EXPECT_NE(ptx.find("weft_stack_grow"), std::string::npos);
    EXPECT_EQ(assemble(ptx, "sm_75"), "");
}

}  // namespace
}  // namespace weft
