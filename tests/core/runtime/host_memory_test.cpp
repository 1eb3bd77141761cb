// Memory of arrays on the host: alignment, zeros, and that blocks that are made again and again cost no page faults.
#include "runtime/cpu/host_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace weft::runtime {
namespace {

const std::byte* bytes_of(const void* block) { return static_cast<const std::byte*>(block); }

bool all_are(const void* block, int64_t bytes, int value) {
    return std::all_of(bytes_of(block), bytes_of(block) + bytes, [&](std::byte b) { return b == std::byte(value); });
}

TEST(HostMemory, BlocksAreAlignedZeroedAndApart) {
    std::vector<std::pair<void*, int64_t>> blocks;
    for (int round = 0; round < 2; ++round) {
        for (const int64_t bytes : {1L, 63L, 64L, 4000L, (1L << 16) - 1, 1L << 16, 100'001L, 1L << 22, 9'000'001L}) {
            void* block = allocate_on_host(bytes, true);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U) << bytes;
            EXPECT_TRUE(all_are(block, bytes, 0)) << bytes;
            std::memset(block, 1 + static_cast<int>(blocks.size()), static_cast<size_t>(bytes));
            blocks.emplace_back(block, bytes);
        }
        for (size_t k = 0; k < blocks.size(); ++k) {
            EXPECT_TRUE(all_are(blocks[k].first, blocks[k].second, 1 + static_cast<int>(k))) << blocks[k].second;
            release_on_host(blocks[k].first, blocks[k].second);
        }
        blocks.clear();
    }
    EXPECT_EQ(allocate_on_host(0, true), nullptr);
    release_on_host(nullptr, 0);
}

#if !defined(__SANITIZE_ADDRESS__)
int64_t page_faults() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

TEST(HostMemory, BlocksMadeAgainCostNoPageFaults) {
    for (const int64_t bytes : {int64_t{1} << 18, int64_t{1} << 24}) {
        const auto turn = [&] {
            void* block = allocate_on_host(bytes, true);
            EXPECT_TRUE(all_are(block, bytes, 0));
            std::memset(block, 1, static_cast<size_t>(bytes));
            release_on_host(block, bytes);
        };
        turn();
        const int64_t before = page_faults();
        for (int k = 0; k < 20; ++k) turn();
        EXPECT_LE(page_faults() - before, 16) << bytes;  // each turn would be 64 and 8, at the least
    }
}

TEST(HostMemory, KeepsNoMoreThanAnEighth) {
    const int64_t memory = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    std::vector<void*> blocks;
    const int64_t bytes = memory / 20;  // untouched: no memory is taken
    for (int k = 0; k < 4; ++k) blocks.push_back(allocate_on_host(bytes, false));
    for (void* block : blocks) release_on_host(block, bytes);
    EXPECT_LE(kept_on_host(), memory / 8);
    EXPECT_GE(kept_on_host(), memory / 20);
}
#endif

TEST(HostMemory, ChildrenOfForksAllocate) {
    void* block = allocate_on_host(1 << 20, true);
    const pid_t child = fork();
    if (child == 0) {
        release_on_host(block, 1 << 20);
        void* other = allocate_on_host(1 << 20, true);
        _exit(all_are(other, 1 << 20, 0) ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    release_on_host(block, 1 << 20);
}

TEST(HostMemory, CopiesAndZerosByAllThreads) {
    const int64_t bytes = 5'000'003;
    std::vector<std::byte> from(bytes);
    for (int64_t i = 0; i < bytes; ++i) from[static_cast<size_t>(i)] = std::byte(i * 7 % 251);
    std::vector<std::byte> to(bytes);
    copy_on_host(to.data(), from.data(), bytes);
    EXPECT_EQ(to, from);
    zero_on_host(to.data() + 1, bytes - 2);
    EXPECT_EQ(to.front(), from.front());
    EXPECT_EQ(to.back(), from.back());
    EXPECT_TRUE(all_are(to.data() + 1, bytes - 2, 0));
}

}  // namespace
}  // namespace weft::runtime
