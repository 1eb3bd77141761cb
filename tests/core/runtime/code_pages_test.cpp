#include "runtime/cpu/code_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace weft::runtime {
namespace {

const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

int64_t mappings() {
    std::ifstream file("/proc/self/maps");
    std::string line;
    int64_t count = 0;
    while (std::getline(file, line)) ++count;
    return count;
}

std::vector<std::pair<unsigned char*, size_t>> take_many() {
    std::vector<std::pair<unsigned char*, size_t>> out;
    for (size_t i = 0; i < 60; ++i) {
        const size_t size = kPage * (1 + i % 4 + (i % 20 == 7 ? 300 : 0));
        out.emplace_back(static_cast<unsigned char*>(take_code_pages(size)), size);
    }
    return out;
}

TEST(CodePages, AreZeroedAndApart) {
    auto taken = take_many();
    for (const auto& [memory, size] : taken) {
        ASSERT_NE(memory, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % kPage, 0U);
        ASSERT_TRUE(std::all_of(memory, memory + size, [](unsigned char byte) { return byte == 0; }));
        std::memset(memory, 1, size);  // others that overlap would not be zero
    }
    std::ranges::sort(taken);
    for (size_t i = 1; i < taken.size(); ++i) ASSERT_LE(taken[i - 1].first + taken[i - 1].second, taken[i].first);
    for (const auto& [memory, size] : taken) give_back_code_pages(memory, size);
}

TEST(CodePages, AreGivenBackOneByOne) {
    const auto taken = take_many();
    for (size_t i = 0; i < taken.size(); ++i) std::memset(taken[i].first, static_cast<int>(i), taken[i].second);
    for (size_t i = 0; i < taken.size(); i += 2) give_back_code_pages(taken[i].first, taken[i].second);
    for (size_t i = 1; i < taken.size(); i += 2) {
        EXPECT_EQ(taken[i].first[0], i);
        EXPECT_EQ(taken[i].first[taken[i].second - 1], i);
        give_back_code_pages(taken[i].first, taken[i].second);
    }
}

TEST(CodePages, ShareMappings) {
    const int64_t before = mappings();
    std::vector<void*> taken;
    for (int i = 0; i < 200; ++i) {
        taken.push_back(take_code_pages(kPage));
        ASSERT_EQ(mprotect(taken.back(), kPage, PROT_READ | PROT_EXEC), 0);
    }
    EXPECT_LT(mappings() - before, 20);
    for (void* memory : taken) give_back_code_pages(memory, kPage);
}

}  // namespace
}  // namespace weft::runtime
