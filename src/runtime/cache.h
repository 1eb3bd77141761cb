// The disk cache: content-addressed files that any number of processes read and write at once.
// A file carries a header with the hash of its payload, so truncated or foreign files are found and replaced.
// Not here: what a key is made of (compiler.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class DiskCache {
  public:
    static constexpr int64_t kDefaultLimit = int64_t{1} << 30;

    // WARP_CACHE_PATH, else WP_CACHE_DIR, else XDG_CACHE_HOME/weft, else ~/.cache/weft; empty when there is no home.
    static std::string default_directory();

    // Makes the folder where it is missing. An empty, missing or unwritable one gives a cache that may read but never
    // writes, or does nothing: see writable() and problem(). `limit`: bytes above which the oldest files go.
    explicit DiskCache(std::string directory, int64_t limit = kDefaultLimit);

    const std::string& directory() const { return directory_; }
    bool readable() const { return readable_; }
    bool writable() const { return writable_; }
    // Why the cache does not work in full; empty when it does.
    const std::string& problem() const { return problem_; }

    // `key` consists of letters, digits, '-' and '_'. Nothing when missing or damaged (a damaged file is removed).
    std::optional<std::string> load(std::string_view key) const;
    // Written aside, then renamed. False when it could not be written; never throws for that.
    bool store(std::string_view key, std::string_view payload) const;

    // The same for files whose form is the caller's (source_pack.h), by their path: they are not among list().
    std::string pack_path(std::string_view key) const;
    bool store_pack(std::string_view key, std::string_view bytes) const;

    struct Entry {
        std::string key;
        int64_t bytes = 0;
        int64_t modified = 0;  // seconds since 1970
    };
    std::vector<Entry> list() const;  // oldest first
    int64_t size() const;             // bytes of all entries
    // Removes every entry (and what interrupted writers left); returns how many.
    int64_t clear() const;

  private:
    std::string path(std::string_view key) const;
    bool write(const std::string& path, std::string_view header, std::string_view payload) const;
    void evict() const;

    std::string directory_;
    int64_t limit_;
    bool readable_ = false;
    bool writable_ = false;
    std::string problem_;
};

}  // namespace weft::runtime
