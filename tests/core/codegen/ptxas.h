// Assembles PTX with NVIDIA's ptxas, where the build found it: PTX that it refuses would fail on the user's GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "codegen/compile.h"
#include "ir/text.h"

namespace weft::testing {

inline bool has_ptxas() {
#ifdef WEFT_PTXAS
    static const bool found = std::filesystem::exists(WEFT_PTXAS);  // the build's environment may be gone
    return found;
#else
    return false;
#endif
}

// With WEFT_PTX_OF_ALL set, every kernel that a test compiles is assembled as well (make test-all).
inline bool wants_ptx_of_all() { return has_ptxas() && std::getenv("WEFT_PTX_OF_ALL") != nullptr; }

// What ptxas says against it; empty when it is content.
inline std::string assemble(const std::string& ptx, const std::string& architecture) {
    std::string said;
#ifdef WEFT_PTXAS
    if (!has_ptxas()) return said;
    std::string folder = (std::filesystem::temp_directory_path() / "weft-ptx-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return "no folder for temporary files";
    std::ofstream(folder + "/kernel.ptx") << ptx;
    const std::string command = std::string(WEFT_PTXAS) + " -arch=" + architecture + " -O1 -o /dev/null " + folder +
                                "/kernel.ptx 2>&1; echo status $?";
    if (FILE* pipe = popen(command.c_str(), "r"); pipe != nullptr) {
        char buffer[512];
        while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) said += buffer;
        pclose(pipe);
    }
    std::filesystem::remove_all(folder);
    if (said.ends_with("status 0\n")) said.clear();
#else
    (void)ptx;
    (void)architecture;
#endif
    return said;
}

inline std::string ptx_of(const ir::Module& module, const codegen::Options& options = {}) {
    return codegen::compile(module, codegen::backend("llvm-nvptx").open(), options, nullptr).bytes;
}

inline void expect_assembles(const ir::Module& module) {
    for (const auto& [dense, narrow] : {std::pair(false, false), {true, false}, {true, true}}) {
        const std::string ptx = ptx_of(module, {.dense = dense, .narrow = narrow});
        EXPECT_EQ(assemble(ptx, "sm_75"), "") << ptx;
    }
}

}  // namespace weft::testing
