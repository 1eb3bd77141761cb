// The compile service: merging, the cache in front, failures, forks, and the end of the process.
#include "runtime/compiler.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/error.h"
#include "ir/text.h"
#include "runtime/cache.h"
#include "runtime/folder.h"
#include "runtime/lazy_module.h"

namespace weft::runtime {
namespace {

using testing::TemporaryFolder;

std::shared_ptr<const ir::Module> module(int constant) {
    return ir::parse("kernel @k(%o: array<i32, 1>) {\n  %i = thread.index [0] : i32\n  %c = const " +
                     std::to_string(constant) +
                     " : i32\n  %s = add(%i, %c) : i32\n  %r = at(%o, %i) : ref<i32>\n  store(%r, %s)\n  return\n}\n");
}

bool runs(LoadedKernel& kernel, int constant) {
    std::vector<int32_t> out(5);
    struct {
        int32_t* data;
        int64_t shape, stride;
    } arguments = {out.data(), 5, 4};
    codegen::LaunchShape shape;
    shape.dims[0] = 5;
    kernel.wait()(&arguments, &shape, 0, 5);
    for (int i = 0; i < 5; ++i) {
        if (out[static_cast<size_t>(i)] != i + constant) return false;
    }
    return true;
}

TEST(Compiler, CompilesAndMergesRequests) {
    Compiler compiler(nullptr, 2);
    std::vector<std::shared_ptr<LoadedKernel>> kernels;
    for (int i = 0; i < 40; ++i) kernels.push_back(compiler.request(module(i % 4), "k"));
    for (int i = 0; i < 40; ++i) EXPECT_TRUE(runs(*kernels[static_cast<size_t>(i)], i % 4));
    // One compile for equal requests: one entry.
    EXPECT_EQ(kernels[0]->wait(), kernels[4]->wait());
    EXPECT_NE(kernels[0]->wait(), kernels[1]->wait());
    EXPECT_TRUE(kernels[0]->ready());
    EXPECT_FALSE(kernels[0]->from_cache());
    EXPECT_FALSE(kernels[0]->times().empty());
    compiler.wait_idle();
}

// Libraries, unlike objects, are opened by the system, which takes files of one name for one library.
TEST(Compiler, KeepsLibrariesApart) {
    Compiler compiler(nullptr, 1);
    std::vector<std::shared_ptr<LoadedKernel>> kernels;
    for (int i = 0; i < 5; ++i) kernels.push_back(compiler.request(module(i), "k", "cxx-host"));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(runs(*kernels[static_cast<size_t>(i)], i));
}

// A process that found the kernel by its source knows the digest and has read no IR.
TEST(Compiler, FindsCodeByItsDigestAlone) {
    const TemporaryFolder folder;
    const auto cache = std::make_shared<DiskCache>(folder.path());
    const auto made = std::make_shared<const LazyModule>(module(1));
    {
        Compiler compiler(cache);
        EXPECT_TRUE(runs(*compiler.request(made, "k", "", {}, nullptr), 1));
    }
    const LazyModule::Make fail = []() -> std::shared_ptr<const ir::Module> { throw InternalError("asked for"); };
    Compiler compiler(cache);
    const auto known = std::make_shared<const LazyModule>(fail, made->digest());
    EXPECT_TRUE(runs(*compiler.request(known, "k", "", {}, nullptr), 1));
    const auto other = std::make_shared<const LazyModule>(fail, LazyModule(module(2)).digest());
    EXPECT_THROW(compiler.request(other, "k", "", {}, nullptr)->wait(), InternalError);
}

TEST(Compiler, PlacesMatterWhereTheCodeHasThem) {
    Compiler compiler(nullptr);
    const auto key = [&](const std::string& path, int line, bool line_info) {
        auto made = ir::parse("kernel @k(%x: i32) {\n  return\n}\n");
        made->functions.front()->location = {std::make_shared<SourceFile>(SourceFile{path, "", 1}), line, 0, line, 1};
        codegen::Options options;
        options.line_info = line_info;
        return compiler.request(std::move(made), "k", "", options)->key();
    };
    EXPECT_EQ(key("a.py", 1, true), key("a.py", 1, true));
    EXPECT_NE(key("a.py", 1, true), key("a.py", 2, true));
    EXPECT_NE(key("a.py", 1, true), key("b.py", 1, true));
    EXPECT_EQ(key("a.py", 1, false), key("b.py", 2, false));
}

TEST(Compiler, NamesOfLocalsDoNotMatter) {
    Compiler compiler(nullptr, 1);
    const auto a = compiler.request(ir::parse("kernel @k(%x: i32) {\n  return\n}\n"), "k");
    const auto b = compiler.request(ir::parse("kernel @k(%y: i32) {\n  return\n}\n"), "k");
    EXPECT_EQ(a->wait(), b->wait());
    codegen::Options plain;
    plain.optimize = 0;
    EXPECT_NE(compiler.request(ir::parse("kernel @k(%y: i32) {\n  return\n}\n"), "k", "", plain)->wait(), a->wait());
}

TEST(Compiler, UsesTheCacheAndReplacesWhatDoesNotLoad) {
    const TemporaryFolder folder;
    const auto cache = std::make_shared<DiskCache>(folder.path());
    {
        Compiler compiler(cache);
        EXPECT_TRUE(runs(*compiler.request(module(1), "k"), 1));
    }
    ASSERT_EQ(cache->list().size(), 1U);
    {
        Compiler compiler(cache);
        const auto kernel = compiler.request(module(1), "k");
        EXPECT_TRUE(kernel->ready());  // loaded at once
        EXPECT_TRUE(runs(*kernel, 1));
        EXPECT_TRUE(kernel->from_cache());
    }
    // Whole as a file, but no image.
    const std::string key = cache->list()[0].key;
    for (const std::string& payload :
         {std::string(), std::string("\0garbage", 8), std::string("\1garbage", 8), std::string("\77x")}) {
        ASSERT_TRUE(cache->store(key, payload));
        Compiler compiler(cache);
        const auto kernel = compiler.request(module(1), "k");
        EXPECT_TRUE(runs(*kernel, 1));
        EXPECT_FALSE(kernel->from_cache());
    }
    Compiler compiler(cache);
    const auto kernel = compiler.request(module(1), "k");
    EXPECT_TRUE(runs(*kernel, 1));
    EXPECT_TRUE(kernel->from_cache());
}

TEST(Compiler, FailuresNeverGiveACallable) {
    Compiler compiler(nullptr, 1);
    EXPECT_THROW(compiler.request(module(1), "other"), InternalError);
    EXPECT_THROW(compiler.request(module(1), "k", "no such backend"), UserError);
    const auto text = R"(kernel @k(%o: array<i32, 1>) {
  %i = thread.index [0] : i32
  %y = native(%i) "weft_does_not_exist" : i32
  %r = at(%o, %i) : ref<i32>
  store(%r, %y)
  return
}
)";
    for (int round = 0; round < 2; ++round) {
        const auto kernel = compiler.request(ir::parse(text), "k");
        EXPECT_THROW(kernel->wait(), InternalError);
        EXPECT_THROW(kernel->wait(), InternalError);
        EXPECT_TRUE(kernel->ready());
    }
    EXPECT_TRUE(runs(*compiler.request(module(2), "k"), 2));
    compiler.shutdown();
    EXPECT_THROW(compiler.request(module(3), "k"), InternalError);
}

TEST(Compiler, KernelsOutliveTheService) {
    std::shared_ptr<LoadedKernel> kernel;
    {
        Compiler compiler(nullptr, 1);
        kernel = compiler.request(module(7), "k");
        kernel->wait();
    }
    EXPECT_TRUE(runs(*kernel, 7));
}

// What has not begun when the service ends fails; nothing hangs.
TEST(Compiler, EndsWithWorkLeft) {
    std::vector<std::shared_ptr<LoadedKernel>> kernels;
    {
        Compiler compiler(nullptr, 1);
        for (int i = 0; i < 50; ++i) kernels.push_back(compiler.request(module(1000 + i), "k"));
    }
    for (int i = 0; i < 50; ++i) {
        try {
            EXPECT_TRUE(runs(*kernels[static_cast<size_t>(i)], 1000 + i));
        } catch (const InternalError&) {
        }
    }
}

template <typename Work>
int in_child(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(work() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(Compiler, CompilesInForkedChildren) {
    Compiler compiler(nullptr, 2);
    for (int round = 0; round < 20; ++round) {
        // Requests of before the fork are running or queued when it happens.
        std::vector<std::shared_ptr<LoadedKernel>> kernels;
        for (int i = 0; i < 6; ++i) kernels.push_back(compiler.request(module(100 * round + i), "k"));
        EXPECT_EQ(in_child([&] {
                      bool good = true;
                      for (int i = 0; i < 6; ++i)
                          good = good && runs(*kernels[static_cast<size_t>(i)], 100 * round + i);
                      return good && runs(*compiler.request(module(-1 - round), "k"), -1 - round);
                  }),
                  0);
        for (int i = 0; i < 6; ++i) EXPECT_TRUE(runs(*kernels[static_cast<size_t>(i)], 100 * round + i));
    }
}

// exit() while compiles run, with a service that is never destroyed, as the runtime's is.
TEST(Compiler, ProcessesEndDuringACompile) {
    for (int round = 0; round < 10; ++round) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            auto* compiler = new Compiler(nullptr, 2);
            for (int i = 0; i < 20; ++i) (void)compiler->request(module(i), "k");
            usleep(static_cast<useconds_t>(1000 * round));
            std::exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
}

TEST(Compiler, EightProcessesShareACache) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int process = 0; process < 8; ++process) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            Compiler compiler(std::make_shared<DiskCache>(folder.path()), 2);
            bool good = true;
            std::vector<std::shared_ptr<LoadedKernel>> kernels;
            for (int i = 0; i < 10; ++i) kernels.push_back(compiler.request(module(i), "k"));
            for (int i = 0; i < 10; ++i) good = good && runs(*kernels[static_cast<size_t>(i)], i);
            _exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(DiskCache(folder.path()).list().size(), 10U);
}

}  // namespace
}  // namespace weft::runtime
