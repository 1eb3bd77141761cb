// Native snippets as IR: what C++ of them becomes on the CPU and on NVIDIA's GPUs, and where errors are said to be.
#include "codegen/snippet_place.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/compile.h"
#include "codegen/ptxas.h"
#include "ir/snippet_header.h"
#include "opt/snippet_access.h"

namespace weft {
namespace {

using testing::assemble;
using testing::ptx_of;

// A kernel of one array whose items run `source` with it and their index.
std::string kernel(const std::string& source) {
    std::string quoted;
    for (const char c : "a tid >\n" + source) {
        if (c == '\n') {
            quoted += "\\x0a";
        } else {
            quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
        }
    }
    return "kernel @k(%a: array<f32, 1>) {\n  %i = thread.index [0] : i32\n  snippet(%a, %i) [0, 0] \"" + quoted +
           "\"\n  return\n}\n";
}

std::string ptx(const std::string& source) { return ptx_of(*ir::parse(kernel(source))); }

TEST(Snippets, TextFormIsReadBack) {
    const std::string text = kernel("a[tid] = 1; // \"x\\n\"");
    EXPECT_EQ(ir::print(*ir::parse(text)), text);
}

TEST(Snippets, BecomePartOfTheKernel) {
    codegen::Backend& backend = codegen::backend("llvm-cpu").open();
    const std::string llvm =
        codegen::dump(*ir::parse(kernel("a[tid] = a[tid] * 2.0f;")), backend, {}, "llvm-optimized");
    EXPECT_EQ(llvm.find("weft_snippet"), std::string::npos) << llvm;
    EXPECT_EQ(llvm.find("alloca"), std::string::npos) << llvm;
}

TEST(Snippets, BecomePtx) {
    const std::string text = ptx("a[tid] = a[tid] * 2.0f;");
    EXPECT_NE(text.find("st."), std::string::npos) << text;
    EXPECT_EQ(text.find(".local"), std::string::npos) << text;
    EXPECT_EQ(assemble(text, "sm_75"), "");
}

TEST(Snippets, SharedMemoryAndBarriersOfGpus) {
    const std::string text = ptx(R"(
    __shared__ float sum[256];
    const unsigned t = threadIdx.x;
    sum[t] = a[tid];
    for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        if (t < stride) sum[t] += sum[t + stride];
    }
    if (t == 0) a[blockIdx.x] = sum[0];
)");
    EXPECT_NE(text.find(".shared"), std::string::npos) << text;
    EXPECT_NE(text.find("bar.sync"), std::string::npos) << text;
    EXPECT_EQ(assemble(text, "sm_75"), "");
}

TEST(Snippets, WarpsMathsAndAtomicsOfGpus) {
    const std::string text = ptx(R"(
    float v = sinf(a[tid]) + pow(a[tid], 2.0) + cbrt(double(tid)) + fmodf(a[tid], 3.0f);
    for (int lane = warpSize / 2; lane > 0; lane /= 2) v += __shfl_down_sync(0xffffffff, v, lane);
    v += __shfl_xor_sync(0xffffffff, double(v), 1) + __shfl_sync(~0u, tid, 0) + __shfl_up_sync(~0u, v, 1, 16);
    if (__any_sync(0xffffffff, v > 0) && __popc(__ballot_sync(__activemask(), v < 3)) > 2) __syncwarp();
    atomic_add(a, 0, v);
    atomicMax(&a[1], v);
    atomicExch(&a[2], v);
    __threadfence();
    printf("%d %f\n", tid, v);
    mat33 m(v);
    a[tid] = length(m * vec3(1.0f, v, 2.0f));
)");
    for (const char* part : {"shfl.sync.down", "vote.sync", "atom.global.add.f32", "vprintf"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    }
    EXPECT_EQ(assemble(text, "sm_75"), "");
}

TEST(Snippets, AssertionsOfGpusReport) {
    std::string text = kernel("assert(a[tid] > 0 && tid % 2 == 0);");
    text.replace(text.find("[0, 0]"), 6, "[0, 1]");
    const std::string made = ptx_of(*ir::parse(text));
    EXPECT_NE(made.find("weft_failure"), std::string::npos) << made;
    EXPECT_EQ(assemble(made, "sm_75"), "");
    EXPECT_EQ(ptx("assert(a[tid] > 0);").find("weft_failure"), std::string::npos) << "they are for debug mode";
}

TEST(Snippets, TellWhatTheyMayWrite) {
    const auto written = [](const std::string& source) {
        const auto module = ir::parse(kernel(source));
        return bool(opt::written_by_snippet(*module->functions[0]->body.ops[1]).at(0));
    };
    for (const char* source : {"float x = a[tid] * a[tid + 1];", "int n = a.shape[0]; float x = sinf(a(tid));",
                               "if (a[tid] == 1.0f && a[0] > -a[1]) return;", "for (int i = 0; i < a[tid]; ++i) {}",
                               "float x = y & a[1]; // a[0] = 1", "const char* s = \"a[0] = 1\"; b.a[0] = 1;",
                               "float x = float(a[tid]) + min(a[0], a[1]);"}) {
        EXPECT_FALSE(written(source)) << source;
    }
    for (const char* source :
         {"a[tid] = 1;", "a[tid] += 1;", "a(tid) *= 2;", "++a[tid];", "a[tid]--;", "float* p = &a[tid];", "f(a);",
          "f(a[tid]);", "float& r = a[tid];", "auto&& r = a[tid];", "for (auto& x : a[tid]) {}", "float* p = a.data;",
          "atomicAdd(a, 1);", "a[tid].x[1] = 2;", "g = [&](float& r) {}; g(2 * (a[tid]));", "#define w a[tid] = 1\n w;",
          "auto b = a; b[0] = 1;", "float x(a[tid] = 3);"}) {
        EXPECT_TRUE(written(source)) << source;
    }
}

TEST(Snippets, AreFoundInTheFile) {
    const auto file = std::make_shared<SourceFile>(SourceFile{
        "user.py", "import warp as wp\nSNIPPET = \"\"\"\n    int n = %d;\n    x[n] = y;\n\"\"\" % 3\ndef f(): ...\n",
        1});
    ir::Function function;
    ir::Op* op = function.new_op(ir::Opcode::Snippet, {file, 6, 0, 6, 5});
    op->text = "x >\n\n    int n = 3;\n    x[n] = y;\n";
    const Location place = codegen::snippet_place(*op, 3, 12);
    EXPECT_EQ(place.file, file);
    EXPECT_EQ(place.line, 4);
    EXPECT_EQ(place.column, 11);
    EXPECT_EQ(codegen::snippet_place(*op, 2, 9).line, 3) << "a line that Python has formatted";
    op->text = "x >\nmade while the program ran;\nother;\nlines;";
    const Location apart = codegen::snippet_place(*op, 2, 3);
    EXPECT_NE(apart.file, file);
    EXPECT_EQ(apart.file->line(apart.line), "other;");
    EXPECT_EQ(apart.column, 2);
}

}  // namespace
}  // namespace weft
