// What code for the CPU is like on each kind of processor: its vectors, and what of memory it may update at once.
#include <array>
#include <cstring>
#include <thread>

#include "codegen/run.h"
#include "codegen/texts.h"

namespace weft::codegen {
namespace {

std::string assembly(const std::string& text, const Options& options) {
    return dump(*ir::parse(text), backend("llvm-cpu").open(), options, "asm");
}

using testing::kMultiplyAdd;

#if defined(__aarch64__)

TEST(Processors, LanesAreVectorsOfNeon) {
    const std::string apart = assembly(kMultiplyAdd, {});
    EXPECT_NE(apart.find("fmul\tv"), std::string::npos) << apart;
    EXPECT_NE(apart.find("fadd\tv"), std::string::npos) << apart;
    EXPECT_NE(apart.find("ldp\tq"), std::string::npos) << apart;
    EXPECT_NE(apart.find("stp\tq"), std::string::npos) << apart;
    const std::string fused = assembly(kMultiplyAdd, {.contract = true});
    EXPECT_NE(fused.find("fmla\tv"), std::string::npos) << fused;
    EXPECT_EQ(assembly(kMultiplyAdd, {.lanes = 1}).find(".4s"), std::string::npos);
}

// LLVM has given the zero register to the answer of exclusive stores: those that failed were not tried again.
TEST(Processors, ExclusiveStoresAreTriedAgain) {
    for (const char* number : {"f32", "f64", "i32", "i64"}) {
        std::string text = R"(kernel @k(%a: array<T, 1>, %v: T) {
  %z = const 0 : i32
  %r = at(%a, %z) : ref<T>
  %o = atomic.add(%r, %v) : T
  return
}
)";
        for (size_t at = 0; (at = text.find("T", at)) != std::string::npos;) text.replace(at, 1, number);
        const std::string made = assembly(text, {.lanes = 1});
        EXPECT_TRUE(made.find("xr\tw") != std::string::npos || made.find("cas") != std::string::npos ||
                    made.find("ldadd") != std::string::npos)
            << made;
        EXPECT_EQ(made.find("xr\twzr"), std::string::npos) << made;
    }
}

#else

TEST(Processors, LanesAreVectorsOfAvx) {
    const char* const registers = __builtin_cpu_supports("avx512vl") != 0 ? "%zmm" : "%ymm";
    const bool has_lanes = __builtin_cpu_supports("avx2") != 0;  // else items run one by one
    EXPECT_EQ(assembly(kMultiplyAdd, {}).find(registers) != std::string::npos, has_lanes);
    EXPECT_EQ(assembly(kMultiplyAdd, {.lanes = 1}).find(registers), std::string::npos);
}

#endif

// Where a processor's atomics take no such address, threads wait for each other.
TEST(Processors, ThreadsUpdateMembersOfPackedStructs) {
    for (const char* name : {"llvm-cpu", "cxx-host"}) {
        const testing::Kernel kernel(
            R"(kernel @k(%o: array<struct P<packed b: u8, d: vec<2, f64>, n: i32>, 1>, %v: vec<2, f64>, %n: i32) {
  %z = const 0 : i32
  %r = at(%o, %z) : ref<struct P<packed b: u8, d: vec<2, f64>, n: i32>>
  %d = member(%r) [1] : ref<vec<2, f64>>
  %i = member(%r) [2] : ref<i32>
  %old_d = atomic.add(%d, %v) : vec<2, f64>
  %old_i = atomic.add(%i, %n) : i32
  return
}
)",
            {.backend = name, .for_gpus = false});
        constexpr int64_t kItems = 20000;
        constexpr int kThreads = 4;
        alignas(64) std::array<std::byte, 1 + 16 + 4> whole{};
        const auto arguments = testing::Arguments()
                                   .array(whole.data(), {1}, static_cast<int64_t>(whole.size()))
                                   .value(std::array<double, 2>{3, 3})
                                   .value(int32_t{3});
        std::vector<std::thread> threads;
        for (int64_t t = 0; t < kThreads; ++t) {
            threads.emplace_back(
                [&, t] { kernel.run(arguments, {kItems}, t * kItems / kThreads, (t + 1) * kItems / kThreads); });
        }
        for (auto& thread : threads) thread.join();
        std::array<double, 2> sums{};
        int32_t count = 0;
        std::memcpy(sums.data(), whole.data() + 1, sizeof sums);
        std::memcpy(&count, whole.data() + 17, sizeof count);
        EXPECT_EQ(sums, (std::array<double, 2>{3.0 * kItems, 3.0 * kItems})) << name;
        EXPECT_EQ(count, 3 * kItems) << name;
    }
}

}  // namespace
}  // namespace weft::codegen
