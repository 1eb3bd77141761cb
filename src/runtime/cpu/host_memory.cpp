#include "runtime/cpu/host_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>
#include <new>

#include "runtime/cpu/thread_pool.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kPage = 4096;
constexpr int64_t kHugePage = int64_t{1} << 21;
constexpr int64_t kHugeBlock = 2 * kHugePage;  // from here on half a huge page more does not matter
constexpr int64_t kThreadBytes = int64_t{1} << 19;

// Blocks begin at different places of a page: arrays that are walked side by side would else meet in the same sets of
// the caches.
constexpr int64_t kColours = 16;
constexpr int64_t kColour = kPage / kColours;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMaps = false;  // for each array's end to be seen
#else
constexpr bool kMaps = true;
#endif

bool is_mapped(int64_t bytes) { return kMaps && bytes >= kMappedBlock; }

int64_t rounded(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

// Of the mapping that holds a block: few sizes, so that blocks are found again.
int64_t mapping_size(int64_t bytes) {
    const int64_t whole = bytes + kPage;
    const auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(whole)) / 8);
    return rounded(whole, std::max(step, whole >= kHugeBlock ? kHugePage : kPage));
}

std::byte* map(int64_t size) {
    const bool huge = size >= kHugeBlock;
    const int64_t wanted = huge ? size + kHugePage : size;
    void* found =
        mmap(nullptr, static_cast<size_t>(wanted), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(found);
    if (!huge) return begin;
    const auto address = reinterpret_cast<intptr_t>(begin);
    const int64_t before = rounded(address, kHugePage) - address;
    if (before > 0) munmap(begin, static_cast<size_t>(before));
    if (before < kHugePage) munmap(begin + before + size, static_cast<size_t>(kHugePage - before));
    madvise(begin + before, static_cast<size_t>(size), MADV_HUGEPAGE);
    return begin + before;
}

// Mappings that nobody uses now, the last released one first.
class Kept {
  public:
    static Kept& instance() {
        static Kept* const kept = [] {
            auto* out = new Kept;
            const auto unlock = [] { instance().mutex_.unlock(); };
            pthread_atfork([] { instance().mutex_.lock(); }, unlock, unlock);
            return out;
        }();
        return *kept;
    }

    std::byte* take(int64_t size) {
        const std::lock_guard lock(mutex_);
        const auto block = std::ranges::find(blocks_, size, &Block::size);
        if (block == blocks_.end()) return nullptr;
        std::byte* out = block->memory;
        bytes_ -= size;
        blocks_.erase(block);
        return out;
    }

    void give(std::byte* memory, int64_t size) noexcept {
        // The system may have the pages where it needs them; the next write takes them back.
        if (size >= kHugeBlock) madvise(memory, static_cast<size_t>(size), MADV_FREE);
        const std::lock_guard lock(mutex_);
        try {
            blocks_.push_front({memory, size});
        } catch (const std::bad_alloc&) {
            munmap(memory, static_cast<size_t>(size));
            return;
        }
        bytes_ += size;
        while (bytes_ > limit_) drop_oldest();
    }

    void drop_all() {
        const std::lock_guard lock(mutex_);
        while (!blocks_.empty()) drop_oldest();
    }

    int64_t bytes() {
        const std::lock_guard lock(mutex_);
        return bytes_;
    }

  private:
    struct Block {
        std::byte* memory;
        int64_t size;
    };

    void drop_oldest() {
        const Block oldest = blocks_.back();
        blocks_.pop_back();
        bytes_ -= oldest.size;
        munmap(oldest.memory, static_cast<size_t>(oldest.size));
    }

    std::mutex mutex_;
    std::list<Block> blocks_;
    int64_t bytes_ = 0;
    int64_t limit_ = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 8;
};

void* allocate_small(int64_t bytes, bool zeroed) {
    void* memory = std::aligned_alloc(kAlignment, static_cast<size_t>(rounded(bytes, kAlignment)));
    if (memory == nullptr) throw std::bad_alloc();
    if (zeroed) std::memset(memory, 0, static_cast<size_t>(bytes));
    return memory;
}

}  // namespace

void* allocate_on_host(int64_t bytes, bool zeroed) {
    if (bytes <= 0) return nullptr;
    if (!is_mapped(bytes)) return allocate_small(bytes, zeroed);
    if (bytes > INT64_MAX / 2) throw std::bad_alloc();
    static std::atomic<int64_t> turn{0};
    const int64_t colour = turn.fetch_add(1, std::memory_order_relaxed) % kColours * kColour;
    const int64_t size = mapping_size(bytes);
    if (std::byte* old = Kept::instance().take(size)) {
        if (zeroed) zero_on_host(old + colour, bytes);
        return old + colour;
    }
    std::byte* fresh = map(size);
    if (fresh == nullptr) {
        Kept::instance().drop_all();
        fresh = map(size);
    }
    if (fresh == nullptr) throw std::bad_alloc();
    return fresh + colour;
}

void release_on_host(void* memory, int64_t bytes) noexcept {
    if (memory == nullptr) return;
    if (!is_mapped(bytes)) return std::free(memory);
    auto* block = static_cast<std::byte*>(memory);
    Kept::instance().give(block - reinterpret_cast<intptr_t>(block) % kPage, mapping_size(bytes));
}

int64_t kept_on_host() { return Kept::instance().bytes(); }

void zero_on_host(void* to, int64_t bytes) {
    auto* begin = static_cast<std::byte*>(to);
    Runtime::get().pool().parallel_for(bytes, std::max(kThreadBytes, bytes / 16), [&](int64_t from, int64_t end) {
        std::memset(begin + from, 0, static_cast<size_t>(end - from));
    });
}

void copy_on_host(void* to, const void* from, int64_t bytes) {
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    Runtime::get().pool().parallel_for(bytes, std::max(kThreadBytes, bytes / 16), [&](int64_t begin, int64_t end) {
        std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
}

}  // namespace weft::runtime
