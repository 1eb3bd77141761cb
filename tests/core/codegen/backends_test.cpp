// The table of backends, what they print for people, and what options change.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/build_id.h"
#include "codegen/compile.h"
#include "codegen/texts.h"
#include "ir/text.h"
#include "runtime/cpu/image_loader.h"

namespace weft::codegen {
namespace {

std::unique_ptr<ir::Module> multiply_add() { return ir::parse(testing::kMultiplyAdd); }

// An earlier build's code must not be found: the id in memory and in the file are one.
TEST(BuildId, OfALoadedLibraryIsThatOfItsFile) {
    EXPECT_EQ(own_build_id(), build_id(library_path()));
    EXPECT_GE(own_build_id().size(), 16U);
    EXPECT_NE(own_build_id(), build_id(reinterpret_cast<const void*>(&dlopen)));
}

TEST(Backends, KeysAreKnownWithoutACompilerAndDiffer) {
    ASSERT_GE(backends().size(), 2U);
    EXPECT_EQ(backends().front().name, "llvm-cpu");
    EXPECT_NE(backends()[0].name, backends()[1].name);
    EXPECT_EQ(backends()[0].target_key(), backends()[0].target_key());
    EXPECT_THROW(backend("gpu of the future"), UserError);
}

TEST(Backends, OptionsHaveKeysOfTheirOwn) {
    EXPECT_NE(Options{}.key(), (Options{.contract = true}).key());
    EXPECT_NE(Options{}.key(), (Options{.fast_math = true}).key());
    EXPECT_NE(Options{}.key(), (Options{.optimize = 0}).key());
    EXPECT_NE(Options{}.key(), (Options{.line_info = true}).key());
}

TEST(Backends, EntrySymbolsAndParameterOffsets) {
    EXPECT_EQ(entry_symbol("length"), "weft_kernel_length");
    EXPECT_EQ(entry_symbol("f.adjoint"), "weft_kernel_f_2eadjoint");
    const auto module = ir::parse("kernel @k(%a: i8, %b: array<f32, 2>, %c: bool, %d: vec<3, f32>) {\n  return\n}\n");
    EXPECT_EQ(parameter_offsets(*module->functions[0]), (std::vector<int64_t>{0, 8, 48, 56, 72}));
}

TEST(Backends, DumpWhatTheyMake) {
    const auto module = multiply_add();
    for (const BackendInfo& info : backends()) {
        Backend& opened = info.open();
        for (const std::string& kind : opened.dump_kinds())
            EXPECT_NE(dump(*module, opened, {}, kind).find("weft_kernel_k"), std::string::npos);
        EXPECT_THROW(dump(*module, opened, {}, "music"), InternalError);
        EXPECT_NE(dump(*module, opened, {}, "ir").find("kernel @k"), std::string::npos);
    }
    EXPECT_NE(dump(*module, backend("cxx-host").open(), {}, "cxx").find("x * gain"), std::string::npos);
}

TEST(Backends, SayWhatIsMissing) {
    const char* before = std::getenv("WEFT_CXX");
    const std::string kept = before != nullptr ? before : "";
    setenv("WEFT_CXX", "/nowhere/c++", 1);
    try {
        backend("cxx-host").open();
        ADD_FAILURE() << "opened without a compiler";
    } catch (const UserError& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
    }
    if (before != nullptr) {
        setenv("WEFT_CXX", kept.c_str(), 1);
    } else {
        unsetenv("WEFT_CXX");
    }
}

TEST(Backends, ContractOnlyWhenAsked) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma") == 0) GTEST_SKIP() << "the machine has no fused instructions";
#endif
    Backend& llvm = backend("llvm-cpu").open();
    EXPECT_EQ(dump(*multiply_add(), llvm, {}, "asm").find("fmadd"), std::string::npos);
    EXPECT_NE(dump(*multiply_add(), llvm, {.contract = true}, "asm").find("fmadd"), std::string::npos);
}

// Kept as figures of the report; bounds would fail on a busy machine.
TEST(Backends, CompileTimeOfATinyKernel) {
    const auto module = multiply_add();
    Backend& llvm = backend("llvm-cpu").open();
    for (int round = 0; round < 3; ++round) {
        std::vector<StageTime> times;
        const Image image = compile(*module, llvm, {}, &times);
        const auto start = std::chrono::steady_clock::now();
        const auto loaded = runtime::load_image(image);
        times.push_back(
            {"load", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()});
        for (const StageTime& time : times) {
            RecordProperty(time.stage + std::to_string(round), std::to_string(time.milliseconds));
            EXPECT_LT(time.milliseconds, 2000);
        }
    }
}

}  // namespace
}  // namespace weft::codegen
