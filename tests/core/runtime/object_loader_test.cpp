// The object loader: what a compiler makes is loaded; what is damaged in any way is refused and never crashes.
#include "runtime/cpu/object_loader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/compile.h"
#include "codegen/symbols.h"
#include "ir/text.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/cpu/image_loader.h"

namespace weft::runtime {
namespace {

// Code with constants, a call of the maths library, text and a call of the host.
const std::string& object() {
    static const std::string bytes = [] {
        const auto module = ir::parse(R"(kernel @k(%o: array<f64, 1>) {
  %i = thread.index [0] : i32
  %r = at(%o, %i) : ref<f64>
  %x = load(%r) : f64
  %s = math.sin(%x) : f64
  %c = const 1.2345 : f64
  %m = mul(%s, %c) : f64
  store(%r, %m)
  %ok = eq(%m, %m) : bool
  assert(%ok) "no nan"
  return
}
)");
        return codegen::compile(*module, codegen::backend("llvm-cpu").open(), {}, nullptr).bytes;
    }();
    return bytes;
}

TEST(ObjectLoader, LoadsAndRuns) {
    const LoadedObject loaded(object(), host_symbol);
    const auto entry = reinterpret_cast<codegen::KernelEntry>(loaded.find("weft_kernel_k"));
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(loaded.find("nothing"), nullptr);
    double values[3] = {0.5, 1, 2};
    struct {
        double* data;
        int64_t shape, stride;
    } arguments = {values, 3, 8};
    codegen::LaunchShape shape;
    shape.dims[0] = 3;
    entry(&arguments, &shape, 0, 3);
    EXPECT_EQ(values[1], std::sin(1.0) * 1.2345);
}

TEST(ObjectLoader, RefusesUnknownFunctions) {
    EXPECT_THROW(LoadedObject(object(), [](std::string_view) -> void* { return nullptr; }), InternalError);
}

TEST(ObjectLoader, RefusesEveryTruncation) {
    for (size_t n = 0; n < object().size(); ++n) {
        EXPECT_THROW(LoadedObject(object().substr(0, n), host_symbol), InternalError) << n;
    }
}

TEST(ObjectLoader, SurvivesGarbage) {
    std::mt19937 random(1);
    int refused = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string bytes = object();
        const int changes = 1 + static_cast<int>(random() % 8);
        for (int i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        try {
            const LoadedObject loaded(bytes, host_symbol);
        } catch (const InternalError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 1000);
    for (int round = 0; round < 2000; ++round) {
        std::string bytes(random() % 4096, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        if (bytes.size() > 64 && round % 2 == 0) bytes.replace(0, 64, object().substr(0, 64));
        try {
            const LoadedObject loaded(bytes, host_symbol);  // may be an object with nothing in it
            EXPECT_EQ(loaded.find("weft_kernel_k"), nullptr);
        } catch (const InternalError&) {
        }
    }
}

// Fields of the section headers, set to values that overflow sums.
TEST(ObjectLoader, RefusesHugeNumbers) {
    uint64_t table = 0;
    std::memcpy(&table, object().data() + 40, 8);
    for (size_t at = table; at + 8 <= object().size(); at += 4) {
        for (const uint64_t value : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{1} << 40, uint64_t{0xfffffff0}}) {
            std::string bytes = object();
            std::memcpy(bytes.data() + at, &value, 8);
            try {
                const LoadedObject loaded(bytes, host_symbol);
            } catch (const InternalError&) {
            }
        }
    }
}

// The two lists that must agree: what generated code may call, and what there is.
TEST(HostSymbols, AreAllThere) {
    std::vector<std::string> names(codegen::compiler_symbols().begin(), codegen::compiler_symbols().end());
#define SYMBOL(name, result, parameters) names.emplace_back(#name);
#include "codegen/host_symbols.def"
#undef SYMBOL
#define MATH(Name, name, operands, kind)                            \
    names.push_back(codegen::math_symbol(ir::MathFn::Name, false)); \
    names.push_back(codegen::math_symbol(ir::MathFn::Name, true));
#include "ir/math.def"
#undef MATH
    for (const std::string& name : names) {
        EXPECT_TRUE(codegen::is_host_symbol(name)) << name;
        EXPECT_NE(host_symbol(name), nullptr) << name;
    }
    EXPECT_FALSE(codegen::is_host_symbol("system"));
    EXPECT_EQ(host_symbol("system"), nullptr);
}

TEST(ImageLoader, RefusesGarbageLibraries) {
    EXPECT_THROW(load_image({codegen::ImageFormat::SharedLibrary, "no library"}), InternalError);
    EXPECT_THROW(load_image({codegen::ImageFormat::Object, ""}), InternalError);
    EXPECT_THROW(load_image({static_cast<codegen::ImageFormat>(77), ""}), InternalError);
}

}  // namespace
}  // namespace weft::runtime
