// Each thread keeps a few blocks for its next items, which need as much as the last ones did.
#include "runtime/cpu/stacks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SYMBOL(name, result, parameters) extern "C" result name parameters;
#include "codegen/host_symbols.def"
#undef SYMBOL

namespace weft::runtime {
namespace {

// In front of a block, which stays aligned: its size.
constexpr size_t kHead = 64;
constexpr int64_t kLargestKept = int64_t{1} << 22;

std::atomic<int64_t> g_peak{0};

int64_t size_of(const std::byte* raw) {
    int64_t bytes = 0;
    std::memcpy(&bytes, raw, sizeof bytes);
    return bytes;
}

struct ThreadStacks {
    std::array<std::byte*, 8> kept = {};
    int64_t held = 0;

    ThreadStacks() = default;
    ThreadStacks(const ThreadStacks&) = delete;
    ThreadStacks& operator=(const ThreadStacks&) = delete;
    ~ThreadStacks() {
        for (std::byte* raw : kept) std::free(raw);
    }

    // Null where there is no memory.
    std::byte* take(int64_t bytes) {
        std::byte* raw = nullptr;
        for (std::byte*& one : kept) {
            if (one == nullptr || size_of(one) < bytes) continue;
            std::swap(raw, one);
            break;
        }
        if (raw == nullptr) {
            raw = static_cast<std::byte*>(std::malloc(static_cast<size_t>(bytes) + kHead));
            if (raw == nullptr) return nullptr;
            std::memcpy(raw, &bytes, sizeof bytes);
        }
        held += size_of(raw);
        int64_t peak = g_peak.load(std::memory_order_relaxed);
        while (held > peak && !g_peak.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
        }
        return raw;
    }

    void give(std::byte* raw) {
        held -= size_of(raw);
        const auto place = std::find(kept.begin(), kept.end(), nullptr);
        if (place != kept.end() && size_of(raw) <= kLargestKept) {
            *place = raw;
        } else {
            std::free(raw);
        }
    }
};

// Generated code cannot unwind, and going on would write through null.
[[noreturn]] void no_memory(int64_t bytes) {
    std::fprintf(stderr, "weft: no memory for %lld bytes of a kernel's stack\n", static_cast<long long>(bytes));
    std::abort();
}

ThreadStacks& stacks() {
    thread_local ThreadStacks instance;
    return instance;
}

}  // namespace

int64_t stack_peak_bytes() { return g_peak.load(std::memory_order_relaxed); }
void free_kept_stack(int64_t address) { std::free(reinterpret_cast<void*>(address)); }
void reset_stack_peak() { g_peak.store(0, std::memory_order_relaxed); }

}  // namespace weft::runtime

extern "C" {

void* weft_stack_grow(void* old, int64_t old_bytes, int64_t bytes) {
    std::byte* raw = weft::runtime::stacks().take(std::max<int64_t>(bytes, 1));
    if (raw == nullptr) weft::runtime::no_memory(bytes);
    std::byte* block = raw + weft::runtime::kHead;
    if (old != nullptr) {
        std::memcpy(block, old, static_cast<size_t>(std::min(old_bytes, bytes)));
        weft_stack_free(old);
    }
    return block;
}

void weft_stack_free(void* block) {
    if (block != nullptr) weft::runtime::stacks().give(static_cast<std::byte*>(block) - weft::runtime::kHead);
}

int64_t weft_stack_keep(const void* block, int64_t bytes) {
    if (bytes == 0) return 0;
    void* kept = std::malloc(static_cast<size_t>(bytes));
    if (kept == nullptr) weft::runtime::no_memory(bytes);
    std::memcpy(kept, block, static_cast<size_t>(bytes));
    return reinterpret_cast<int64_t>(kept);
}

}  // extern "C"
