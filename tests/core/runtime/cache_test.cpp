// The disk cache: entries come back whole or not at all, whatever happens to their files.
#include "runtime/cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/folder.h"

namespace weft::runtime {
namespace {

using testing::TemporaryFolder;

void overwrite(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(DiskCache, KeepsEntries) {
    const TemporaryFolder folder;
    const DiskCache cache(folder.file("a/b"));
    EXPECT_TRUE(cache.writable());
    EXPECT_TRUE(cache.problem().empty());
    EXPECT_FALSE(cache.load("key"));
    const std::string payload(100000, '\0');
    EXPECT_TRUE(cache.store("key", payload));
    EXPECT_TRUE(cache.store("empty", ""));
    EXPECT_EQ(cache.load("key"), payload);
    EXPECT_EQ(cache.load("empty"), "");
    EXPECT_EQ(DiskCache(folder.file("a/b")).load("key"), payload);
    EXPECT_EQ(cache.list().size(), 2U);
    EXPECT_GT(cache.size(), 100000);
    EXPECT_EQ(cache.clear(), 2);
    EXPECT_FALSE(cache.load("key"));
    EXPECT_EQ(cache.size(), 0);
}

TEST(DiskCache, RefusesKeysThatAreNoNames) {
    const TemporaryFolder folder;
    const DiskCache cache(folder.path());
    for (const char* key : {"", "../x", "a/b", "a.b", "a b"}) {
        EXPECT_FALSE(cache.store(key, "x"));
        EXPECT_FALSE(cache.load(key));
    }
}

TEST(DiskCache, FindsDamage) {
    const TemporaryFolder folder;
    const DiskCache cache(folder.path());
    ASSERT_TRUE(cache.store("key", "the payload"));
    const std::string path = folder.file("key.weft");
    std::ifstream stream(path, std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(stream), {}};
    for (size_t n = 0; n < good.size(); ++n) {
        overwrite(path, good.substr(0, n));
        EXPECT_FALSE(cache.load("key")) << n;
        EXPECT_FALSE(std::filesystem::exists(path));
        std::string changed = good;
        changed[n] = static_cast<char>(changed[n] ^ 1);
        overwrite(path, changed);
        EXPECT_FALSE(cache.load("key")) << n;
    }
    overwrite(path, good + "x");
    EXPECT_FALSE(cache.load("key"));
    overwrite(path, "garbage");
    EXPECT_TRUE(cache.store("key", "new"));
    EXPECT_EQ(cache.load("key"), "new");
}

TEST(DiskCache, WorksWithoutAPlace) {
    const DiskCache none("");
    EXPECT_FALSE(none.writable());
    EXPECT_FALSE(none.problem().empty());
    EXPECT_FALSE(none.store("key", "x"));
    EXPECT_FALSE(none.load("key"));
    EXPECT_TRUE(none.list().empty());
    EXPECT_EQ(none.clear(), 0);

    const DiskCache odd("/proc/weft-cannot-be-here");
    EXPECT_FALSE(odd.writable());
    EXPECT_FALSE(odd.problem().empty());
    EXPECT_FALSE(odd.store("key", "x"));

    const TemporaryFolder folder;
    overwrite(folder.file("file"), "");
    EXPECT_FALSE(DiskCache(folder.file("file")).writable());
}

TEST(DiskCache, ReadsWhereItMayNotWrite) {
    const TemporaryFolder folder;
    ASSERT_TRUE(DiskCache(folder.path()).store("key", "kept"));
    std::filesystem::permissions(folder.path(),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    if (geteuid() == 0) {
        // Root may write anywhere: another user looks.
        const pid_t child = fork();
        if (child == 0) {
            std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0755));
            if (setuid(65534) != 0) _exit(0);
            const DiskCache cache(folder.path());
            _exit(!cache.writable() && !cache.problem().empty() && cache.load("key") == "kept" && !cache.store("x", "y")
                      ? 0
                      : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        return;
    }
    const DiskCache cache(folder.path());
    EXPECT_FALSE(cache.writable());
    EXPECT_EQ(cache.load("key"), "kept");
    EXPECT_FALSE(cache.store("x", "y"));
}

TEST(DiskCache, DropsTheOldestAboveItsLimit) {
    const TemporaryFolder folder;
    const DiskCache cache(folder.path(), 20000);
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(cache.store("key" + std::to_string(i), std::string(1900, 'x')));
    EXPECT_LE(cache.size(), 20000);
    EXPECT_TRUE(cache.load("key63"));
    EXPECT_FALSE(cache.store("large", std::string(30000, 'x')));
}

TEST(DiskCache, ServesManyProcessesAtOnce) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int process = 0; process < 8; ++process) {
        const pid_t child = fork();
        if (child == 0) {
            const DiskCache cache(folder.path());
            bool good = true;
            for (int round = 0; round < 200; ++round) {
                const std::string key = "key" + std::to_string(round % 5);
                // What a key stands for is the same in every process: entries are addressed by content.
                const std::string payload(static_cast<size_t>(5000 + round % 5), static_cast<char>('a' + round % 5));
                good = good && cache.store(key, payload);
                const auto there = cache.load(key);
                good = good && there == payload;
            }
            _exit(good ? 0 : 1);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(DiskCache(folder.path()).list().size(), 5U);
}

TEST(DiskCache, DirectoryComesFromTheEnvironment) {
    const auto get = [](const char* name) {
        const char* value = std::getenv(name);
        return value != nullptr ? std::string(value) : std::string();
    };
    const std::string before = get("WARP_CACHE_PATH");
    setenv("WARP_CACHE_PATH", "/somewhere", 1);
    EXPECT_EQ(DiskCache::default_directory(), "/somewhere");
    if (before.empty()) {
        unsetenv("WARP_CACHE_PATH");
    } else {
        setenv("WARP_CACHE_PATH", before.c_str(), 1);
    }
}

}  // namespace
}  // namespace weft::runtime
