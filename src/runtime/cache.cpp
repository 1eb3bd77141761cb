#include "runtime/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/hash.h"

namespace weft::runtime {
namespace {

// File: magic, 8 bytes of payload length, 64 hexadecimal digits of its hash, payload.
constexpr std::string_view kMagic = "weftcac1";
constexpr size_t kHeader = 8 + 8 + 64;
constexpr std::string_view kSuffix = ".weft";
constexpr std::string_view kPack = ".pack";
constexpr std::string_view kAside = ".part";
constexpr int64_t kAbandoned = 3600;  // seconds after which a file written aside counts as left behind

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool valid(std::string_view key) {
    return !key.empty() && key.size() < 200 &&
           std::all_of(
               key.begin(), key.end(),
               [](char c) {
                   return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                          c == '_';
               });
}

std::optional<std::string> read_file(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::string out;
    struct stat status{};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) out.reserve(static_cast<size_t>(status.st_size));
    char buffer[65536];
    ssize_t n = 0;
    while ((n = read(file, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0) out.append(buffer, static_cast<size_t>(n));
    }
    close(file);
    if (n < 0) return std::nullopt;
    return out;
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

struct Found {
    std::string name;
    int64_t bytes = 0;
    int64_t modified = 0;
};

std::vector<Found> scan(const std::string& directory) {
    std::vector<Found> out;
    DIR* stream = opendir(directory.c_str());
    if (stream == nullptr) return out;
    while (const dirent* entry = readdir(stream)) {
        const std::string_view name = entry->d_name;
        if (!name.ends_with(kSuffix) && !name.ends_with(kPack) && !name.ends_with(kAside)) continue;
        struct stat status{};
        // NOLINTNEXTLINE(clang-analyzer-unix.StdCLibraryFunctions): an open folder has a descriptor
        if (fstatat(dirfd(stream), entry->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode)) continue;
        out.push_back({std::string(name), status.st_size, status.st_mtim.tv_sec});
    }
    closedir(stream);
    std::sort(out.begin(), out.end(), [](const Found& a, const Found& b) {
        return a.modified != b.modified ? a.modified < b.modified : a.name < b.name;
    });
    return out;
}

}  // namespace

std::string DiskCache::default_directory() {
    for (const char* name : {"WARP_CACHE_PATH", "WP_CACHE_DIR"}) {
        if (const std::string path = environment(name); !path.empty()) return path;
    }
    if (const std::string path = environment("XDG_CACHE_HOME"); !path.empty()) return path + "/weft";
    if (const std::string path = environment("HOME"); !path.empty()) return path + "/.cache/weft";
    return {};
}

DiskCache::DiskCache(std::string directory, int64_t limit) : directory_(std::move(directory)), limit_(limit) {
    if (directory_.empty()) {
        problem_ = "no cache directory is set and there is no home";
        return;
    }
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    readable_ = access(directory_.c_str(), R_OK | X_OK) == 0;
    // A try, as permissions alone do not tell of read-only file systems and full disks.
    std::string probe = directory_ + "/probe-XXXXXX" + std::string(kAside);
    const int file = readable_ ? mkstemps(probe.data(), static_cast<int>(kAside.size())) : -1;
    if (file >= 0) {
        writable_ = true;
        close(file);
        unlink(probe.c_str());
        return;
    }
    problem_ = directory_ + ": " + (error ? error.message() : std::strerror(errno));
}

std::string DiskCache::path(std::string_view key) const {
    return directory_ + "/" + std::string(key) + std::string(kSuffix);
}

std::optional<std::string> DiskCache::load(std::string_view key) const {
    if (!readable_ || !valid(key)) return std::nullopt;
    auto bytes = read_file(path(key));
    if (!bytes) return std::nullopt;
    uint64_t length = 0;
    bool good = bytes->size() >= kHeader && bytes->starts_with(kMagic);
    if (good) {
        std::memcpy(&length, bytes->data() + 8, 8);
        good = length == bytes->size() - kHeader;
    }
    if (good) good = sha256(std::string_view(*bytes).substr(kHeader)) == std::string_view(*bytes).substr(16, 64);
    if (!good) {
        if (writable_) unlink(path(key).c_str());
        return std::nullopt;
    }
    bytes->erase(0, kHeader);
    return bytes;
}

bool DiskCache::store(std::string_view key, std::string_view payload) const {
    if (!valid(key)) return false;
    const uint64_t length = payload.size();
    std::string header(kMagic);
    header.append(reinterpret_cast<const char*>(&length), 8);
    header += sha256(payload);
    return write(path(key), header, payload);
}

std::string DiskCache::pack_path(std::string_view key) const {
    return directory_ + "/" + std::string(key) + std::string(kPack);
}

bool DiskCache::store_pack(std::string_view key, std::string_view bytes) const {
    return valid(key) && write(pack_path(key), {}, bytes);
}

bool DiskCache::write(const std::string& path, std::string_view header, std::string_view payload) const {
    if (!writable_ || static_cast<int64_t>(payload.size() + kHeader) > limit_) return false;
    std::string aside = path + "-XXXXXX" + std::string(kAside);
    const int file = mkostemps(aside.data(), static_cast<int>(kAside.size()), O_CLOEXEC);
    if (file < 0) return false;
    const bool written = write_all(file, header) && write_all(file, payload);
    // Caches are often shared by users of one machine.
    fchmod(file, 0644);
    if (close(file) != 0 || !written || rename(aside.c_str(), path.c_str()) != 0) {
        unlink(aside.c_str());
        return false;
    }
    // Looking at every file for each new one would cost more than the bound is worth.
    static std::atomic<uint32_t> stores = 0;
    if (stores.fetch_add(1) % 16 == 0 || payload.size() > static_cast<size_t>(limit_ / 16)) evict();
    return true;
}

void DiskCache::evict() const {
    auto files = scan(directory_);
    int64_t total = 0;
    for (const Found& file : files) total += file.bytes;
    const int64_t now = std::time(nullptr);
    for (const Found& file : files) {
        const bool aside = file.name.ends_with(kAside);
        if (aside ? now - file.modified < kAbandoned : total <= limit_) continue;
        if (unlink((directory_ + "/" + file.name).c_str()) == 0) total -= file.bytes;
    }
}

std::vector<DiskCache::Entry> DiskCache::list() const {
    std::vector<Entry> out;
    if (!readable_) return out;
    for (const Found& file : scan(directory_)) {
        if (!file.name.ends_with(kSuffix)) continue;
        out.push_back({file.name.substr(0, file.name.size() - kSuffix.size()), file.bytes, file.modified});
    }
    return out;
}

int64_t DiskCache::size() const {
    int64_t total = 0;
    for (const Found& file : readable_ ? scan(directory_) : std::vector<Found>()) {
        if (!file.name.ends_with(kAside)) total += file.bytes;
    }
    return total;
}

int64_t DiskCache::clear() const {
    int64_t removed = 0;
    if (!writable_) return removed;
    for (const Found& file : scan(directory_)) {
        if (unlink((directory_ + "/" + file.name).c_str()) == 0 && file.name.ends_with(kSuffix)) ++removed;
    }
    return removed;
}

}  // namespace weft::runtime
