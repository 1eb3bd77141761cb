// Which compiler is used for MACA, what it is told, and what of it is in keys of the cache.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/compile.h"
#include "ir/text.h"

namespace weft::codegen {
namespace {

// A folder of programs, and an environment in which there are no others.
class MacaCompiler : public testing::Test {
  protected:
    static constexpr std::array<const char*, 5> kVariables = {"WEFT_MXCC", "MACA_PATH", "MACA_CLANG_PATH", "CUCC_PATH",
                                                              "PATH"};

    MacaCompiler() {
        root_ = (std::filesystem::temp_directory_path() / "weft-maca-XXXXXX").string();
        if (mkdtemp(root_.data()) == nullptr) std::abort();
        for (const char* name : kVariables) {
            if (const char* value = std::getenv(name)) before_[name] = value;
            unsetenv(name);
        }
        setenv("PATH", (root_ + "/bin").c_str(), 1);
    }
    ~MacaCompiler() override {
        for (const char* name : kVariables) {
            unsetenv(name);
            if (before_.contains(name)) setenv(name, before_[name].c_str(), 1);
        }
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    // A program that says its version, or writes what it is told to what follows -o.
    std::string program(const std::string& path, const std::string& version) {
        const std::string file = root_ + "/" + path;
        std::filesystem::create_directories(std::filesystem::path(file).parent_path());
        std::ofstream(file) << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" << version
                            << "'; echo more; exit 0; fi\nall=\"$*\"\nwhile [ $# -gt 1 ]; do if [ \"$1\" = -o ]; then "
                               "echo \"$all\" > \"$2\"; fi; shift; done\n";
        chmod(file.c_str(), 0700);
        return file;
    }

    static std::string key() { return backend(kMacaBackend).target_key(); }
    static bool uses(const std::string& file) { return key().starts_with(file + " "); }
    static std::string command(const Options& options) {
        const auto module = ir::parse("kernel @k(%a: i32) {\n  return\n}\n");
        const Image image = compile(*module, backend(kMacaBackend).open(), options, nullptr);
        EXPECT_EQ(image.format, ImageFormat::MacaBinary);
        return image.bytes;
    }

    std::string root_;
    std::map<std::string, std::string> before_;
};

TEST_F(MacaCompiler, TheWholeLineOfItsVersionIsInTheKey) {
    setenv("WEFT_MXCC", program("one", "mxcc version 1.0.0 (aaaa)").c_str(), 1);
    const std::string one = key();
    EXPECT_NE(one.find("mxcc version 1.0.0 (aaaa)"), std::string::npos);
    EXPECT_EQ(one, key());
    program("one", "mxcc version 1.0.0 (bbbbb)");
    EXPECT_NE(key().find("mxcc version 1.0.0 (bbbbb)"), std::string::npos);
}

TEST_F(MacaCompiler, IsFoundThroughTheEnvironment) {
    if (std::filesystem::exists("/opt/maca")) GTEST_SKIP() << "the machine has MACA";
    EXPECT_EQ(key(), "none");
    EXPECT_THROW(command({}), UserError);
    const std::string bridge = program("bin/cucc", "cucc");
    EXPECT_TRUE(uses(bridge));
    const std::string set_bridge = program("bridge/bin/cucc", "cucc");
    setenv("CUCC_PATH", (root_ + "/bridge").c_str(), 1);
    EXPECT_TRUE(uses(set_bridge));
    const std::string on_path = program("bin/mxcc", "mxcc");
    EXPECT_TRUE(uses(on_path));
    const std::string installed = program("maca/mxgpu_llvm/bin/mxcc", "mxcc");
    setenv("MACA_PATH", (root_ + "/maca").c_str(), 1);
    EXPECT_TRUE(uses(installed));
    const std::string clang = program("clang/mxcc", "mxcc");
    setenv("MACA_CLANG_PATH", (root_ + "/clang").c_str(), 1);
    EXPECT_TRUE(uses(clang));
    const std::string wanted = program("wanted", "mxcc");
    setenv("WEFT_MXCC", wanted.c_str(), 1);
    EXPECT_TRUE(uses(wanted));
    setenv("WEFT_MXCC", "/nowhere/mxcc", 1);
    EXPECT_EQ(key(), "none");
}

TEST_F(MacaCompiler, IsToldWhatIsWanted) {
    program("maca/mxgpu_llvm/bin/mxcc", "mxcc");
    setenv("MACA_PATH", (root_ + "/maca").c_str(), 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    const std::string usual = command({});
    for (const std::string& word :
         {std::string(" -x maca -device-bin -o "), std::string(" --offload-arch=xcore1000 "),
          std::string(" -O3 -std=c++17 "), std::string(" -fmad=false"), " --maca-path=" + root_ + "/maca"}) {
        EXPECT_NE(usual.find(word), std::string::npos) << word << " in " << usual;
    }
    const std::string other =
        command({.contract = true, .optimize = 0, .line_info = true, .architecture = "xcore1500"});
    EXPECT_NE(other.find(" --offload-arch=xcore1500 -O0 "), std::string::npos) << other;
    EXPECT_NE(other.find(" -lineinfo"), std::string::npos) << other;
    EXPECT_EQ(other.find("-fmad=false"), std::string::npos) << other;
    EXPECT_NE(command({.fast_math = true}).find(" -use-fast-math"), std::string::npos);
}

}  // namespace
}  // namespace weft::codegen
