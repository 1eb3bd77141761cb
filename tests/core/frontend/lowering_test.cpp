// What the kernel language becomes: carried values, merges, unrolling, references, instances. By IR text, in excerpts.
#include <gtest/gtest.h>

#include "frontend/kernels.h"

namespace weft::frontend::testing {
namespace {

using ::testing::Test;

int count(const std::string& text, const std::string& piece) {
    int n = 0;
    for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + piece.size())) ++n;
    return n;
}

void expect_in(const std::string& text, const std::string& piece) {
    EXPECT_NE(text.find(piece), std::string::npos) << "no `" << piece << "` in\n" << text;
}

TEST(Lowering, ElementsAreAddressesAndBuiltinsAreCalls) {
    EXPECT_EQ(lowered(R"(
def k(a: Array[float32, 1], n: int):
    i = tid()
    if i < n:
        a[i] = sqrt(a[i]) + 1.0
)"),
              R"(kernel @k(%a: array<f32, 1>, %n: i32) {
  %i = thread.index [0] : i32
  %0 = lt(%i, %n) : bool
  if(%0) {
    %1 = at(%a, %i) : ref<f32>
    %2 = load(%1) : f32
    %3 = math.sqrt(%2) : f32
    %4 = const 1 : f32
    %5 = add(%3, %4) : f32
    store(%1, %5)
    yield
  } {
    yield
  }
  return
}
)");
}

TEST(Lowering, ALiteralMayBeCarriedByARunTimeLoop) {
    const auto text = lowered(
        "def k(n: int, o: Array[int32, 1]):\n    s = 0\n    for j in range(n):\n        s += j\n    o[0] = s\n");
    expect_in(text, "%s = for(");
    expect_in(text, "(%j: i32, %s.1: i32)");
}

TEST(Lowering, ConstantRangesAreUnrolledUnlessTheyBreak) {
    EXPECT_EQ(count(lowered("def k(o: Array[int32, 1]):\n    for j in range(4):\n        o[j] = j\n"), "store("), 4);
    EXPECT_EQ(count(lowered("def k(o: Array[int32, 1]):\n    for j in range(17):\n        o[j] = j\n"), "store("), 1);
    EXPECT_EQ(
        count(lowered("def k(o: Array[int32, 1]):\n    for j in range(4):\n        if o[j] == 0:\n            break\n"),
              "for("),
        1);
}

TEST(Lowering, ANameSetOnOnePathIsZeroOnTheOther) {
    const auto text = lowered("def k(n: int, o: Array[int32, 1]):\n    if n > 0:\n        x = 5\n    o[0] = x\n");
    expect_in(text, "yield(%0)");
    expect_in(text, "const 0 : i32");
}

TEST(Lowering, ArraysAreNotCarried) {
    const auto text = lowered(
        "def k(n: int, o: Array[int32, 1]):\n    j = int(0)\n    while j < n:\n        o[j] = 1\n        j += 1\n");
    expect_in(text, "= while(%0) : i32 {");
}

TEST(Lowering, TheLoopVariableSurvives) {
    const auto text =
        lowered("def k(n: int, o: Array[int32, 1]):\n    for j in range(n):\n        o[j] = j\n    o[0] = j\n");
    expect_in(text, "%j = for(");
    expect_in(text, "store(%");
}

TEST(Lowering, SwapsAreSimultaneous) {
    const auto text =
        lowered("def k(x: int, y: int, o: Array[int32, 1]):\n    x, y = y, x\n    o[0] = x\n    o[1] = y\n");
    EXPECT_LT(text.find("%y)"), text.find("%x)"));
}

TEST(Lowering, ChainsOfPartsWriteMemory) {
    const auto text = lowered(
        "def k(p: Array[vec3, 1], m: Array[mat22, 1]):\n    p[0].x += 1.0\n    p[0][1] = 2.0\n    m[0][1, 0] = 3.0\n");
    expect_in(text, "atomic.add");
    expect_in(text, "member(%");
    EXPECT_EQ(count(text, "load("), 0);
    expect_in(text, "[2] : ref<f32>");
}

TEST(Lowering, SubtractionFromAnElementIsAtomicOthersReadAndWrite) {
    expect_in(lowered("def k(a: Array[float32, 1]):\n    a[0] -= 1.0\n"), "atomic.sub");
    expect_in(lowered("def k(a: Array[float32, 1]):\n    a[0] *= 2.0\n"), "store(");
}

TEST(Lowering, CheapOperandsOfAndAreComputedOthersAreNot) {
    EXPECT_EQ(count(lowered("def k(a: Array[int32, 1], n: int):\n    if n > 0 and n < 9:\n        a[0] = 1\n"), "if("),
              1);
    EXPECT_EQ(
        count(lowered("def k(a: Array[int32, 1], n: int):\n    if n > 0 and a[n] < 9:\n        a[0] = 1\n"), "if("), 2);
}

TEST(Lowering, AKnownConditionDropsTheOtherBranchUnseen) {
    const auto text =
        lowered("def k(a: Array[int32, 1]):\n    if C:\n        a[0] = 1\n    else:\n        a[0] = nowhere\n",
                {{"C", BoolNumber{true}}});
    EXPECT_EQ(count(text, "if("), 0);
}

TEST(Lowering, TypedConstructorsSeeTheWholeLiteral) {
    expect_in(lowered("def k(a: Array[float64, 1]):\n    a[0] = float64(0.1)\n"), "const 0.1 : f64");
    expect_in(lowered("def k(a: Array[int64, 1]):\n    a[0] = int64(9223372036854775807)\n"),
              "const 9223372036854775807 : i64");
}

TEST(Lowering, FunctionsAreLoweredOncePerTypes) {
    const auto text = lowered(R"(
def twice(x: Any):
    return x + x

def k(a: Array[float32, 1], n: Array[int32, 1]):
    a[0] = twice(a[0]) + twice(a[1])
    n[0] = twice(n[0])
)");
    EXPECT_EQ(count(text, "func @"), 2);
    expect_in(text, "\"twice.1\"");
}

TEST(Lowering, OverloadsAreChosenByExactType) {
    const auto text = lowered(R"(
def f(x: float):
    return 1

def f(x: int):
    return 2

def k(o: Array[int32, 1]):
    o[0] = f(o[1])
)");
    expect_in(text, "const 2 : i32");
    EXPECT_EQ(count(text, "func @"), 1);
}

TEST(Lowering, AGradientOfTheUserIsTheFunctionsAdjoint) {
    const auto text = lowered(R"(
def f(x: float, a: Array[float32, 1]):
    return x * a[0]

def adj_f(x: float, a: Array[float32, 1], g: float):
    adjoint[x] += a[0] * g
    adjoint[a][0] += x * g

def k(o: Array[float32, 1], a: Array[float32, 1]):
    o[0] = f(o[1], a)
)");
    expect_in(text, "adjoint @adj_f");
    expect_in(text, "func @adj_f(%x: f32, %a: array<f32, 1>, %adj_a: array<f32, 1>, %g: f32) -> (f32)");
    expect_in(text, "is_valid(%adj_a)");
}

TEST(Lowering, LengthHasADerivativeOfItsOwn) {
    const auto text = lowered("def k(p: Array[vec3, 1], o: Array[float32, 1]):\n    o[0] = length(p[0])\n");
    expect_in(text, "func @length(%a: vec<3, f32>) -> (f32) adjoint @adj_length");
}

TEST(Lowering, ARandomStateAdvancesInLoops) {
    const auto text = lowered(
        "def k(o: Array[float32, 1], n: int):\n    s = rand_init(n)\n    for j in range(n):\n        o[j] = "
        "randf(s)\n");
    expect_in(text, ": u32 {(%j: i32, %s.2: u32)");
}

TEST(Lowering, EarlyReturnsAndBreaksLeaveTheirRegions) {
    const auto text = lowered(R"(
def find(n: int) -> int:
    for j in range(n):
        if j * j > n:
            return j
        if j == 7:
            continue
        if j == 9:
            break
    return -1

def k(o: Array[int32, 1]):
    o[0] = find(o[1])
)");
    expect_in(text, "return(%j)");
    expect_in(text, "continue");
    expect_in(text, "break");
}

TEST(Lowering, AnEndlessLoopNeedsNoReturnBehindIt) {
    expect_in(lowered(R"(
def f(n: int) -> int:
    while True:
        n += 1
        if n > 9:
            return n

def k(o: Array[int32, 1]):
    o[0] = f(o[1])
)"),
              "unreachable");
}

TEST(Lowering, ASingleCallIsAKernelToo) {
    const ir::Type arguments[] = {ir::Type::vec(3, ir::Scalar::F32), ir::Type::vec(3, ir::Scalar::F32)};
    const auto module = lower_call(BuiltinName{"dot"}, arguments, {});
    EXPECT_EQ(module->functions.back()->parameters().size(), 3U);
}

// ---- refusals: what was written, what was expected, where ----

TEST(Refusals, UnknownNamesSuggestOthers) {
    const auto text = refused("def k(a: Array[float32, 1]):\n    a[0] = lenght(3.0)\n");
    expect_in(text, "Referencing undefined symbol: lenght");
    expect_in(text, "    a[0] = lenght(3.0)\n           ^^^^^^");
    expect_in(text, "did you mean `length`?");
}

TEST(Refusals, NothingIsConverted) {
    expect_in(refused("def k(a: Array[float32, 1]):\n    a[0] = 3\n"), "cannot hold int32");
    expect_in(refused("def k(a: Array[float32, 1]):\n    a[0] = a[1] + 1\n"),
              "`+` has no meaning for float32 and int32");
    expect_in(refused("def k(a: Array[float64, 1]):\n    a[0] = a[1] * 2.0\n"), "float64 and float32");
}

TEST(Refusals, InFunctionsSayWhoCalled) {
    const auto text =
        refused("def f(x: float):\n    return x + 1\n\ndef k(a: Array[float32, 1]):\n    a[0] = f(a[1])\n");
    expect_in(text, "line 2");
    expect_in(text, "called from File \"test.py\", line 5");
}

TEST(Refusals, CandidatesAreListed) {
    expect_in(refused("def k(a: Array[float32, 1]):\n    a[0] = dot(a[0], 1)\n"),
              "dot(a: Vector[Scalar, n], b: Vector[Scalar, n]) -> Scalar");
}

TEST(Refusals, OneSentenceEach) {
    const std::pair<const char*, const char*> cases[] = {
        {"    x = 1\n    x = 2.0\n", "a name keeps its type"},
        {"    o[0] = 4294967296\n", "does not fit int32"},
        {"    o[0] = o[0] // 0\n", "division by zero"},
        {"    o[0] = vec3(1.0)[3] > 1.0\n", "out of range"},
        {"    for j in range(3):\n        pass\n    else:\n        pass\n", "`else` of a loop"},
        {"    for j in range(0, o[0], 0):\n        pass\n", "step"},
        {"    o[0] = y\n    y = 1\n", "before anything is assigned"},
        {"    if o is None:\n        pass\n", "`is` is not supported"},
        {"    x = [1, 2]\n", "kernels cannot contain"},
        {"    return 1\n", "Warp kernels cannot return values"},
        {"    break\n", "outside a loop"},
        {"    o[0.5] = 1\n", "an index needs an integer"},
        {"    o[0, 1] = 1\n", "1 dimension, found 2 indices"},
        {"    o[0] = where(1.0, 1, 2)\n", "needs a bool or an integer"},
        {"    s = rand_init(1)\n    x = randf(s) if o[0] > 1 else 0.5\n", "cannot be changed"},
    };
    for (const auto& [body, message] : cases) {
        expect_in(refused(std::string("def k(o: Array[int32, 1]):\n") + body), message);
    }
}

TEST(Refusals, RecursionIsLocated) {
    expect_in(refused("def f(x: float):\n    return f(x)\n\ndef k(a: Array[float32, 1]):\n    a[0] = f(1.0)\n"),
              "recursion");
}

TEST(Refusals, APathWithoutReturn) {
    expect_in(
        refused("def f(n: int):\n    if n > 0:\n        return 5\n\ndef k(o: Array[int32, 1]):\n    o[0] = f(1)\n"),
        "ends without `return`");
}

TEST(Lowering, SlicesOfArraysAreClampedViews) {
    const std::string text = lowered(R"(
def k(a: Array[float32, 2], n: int):
    b = a[1:, n]
    b[0] = 1.0
)");
    expect_in(text, "slice(%a, ");
    expect_in(text, "[1, 0] : array<f32, 1>");
}

TEST(Lowering, ArraysOfTheItemKnowTheirShape) {
    const std::string text = lowered(R"(
def k(o: Array[int32, 1]):
    a = zeros(shape=(2, 3), dtype=int)
    a[1, 2] = 5
    o[0] = a[1, 2] + a.shape[1]
)");
    expect_in(text, "local_array [2, 3] : array<i32, 2>");
    EXPECT_EQ(count(text, "shape("), 0);
    EXPECT_EQ(count(text, "atomic"), 0);
}

TEST(Lowering, LoopsOverTuplesAndVectorsAreUnrolled) {
    const std::string text = lowered(R"(
def k(v: vec3, o: Array[float32, 1]):
    for x in v:
        o[0] = x
    for i in (1, 2):
        o[i] = 0.0
)");
    EXPECT_EQ(count(text, "for("), 0);
    EXPECT_EQ(count(text, "store("), 5);
}

}  // namespace
}  // namespace weft::frontend::testing
