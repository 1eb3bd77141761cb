#include "runtime/storage.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "runtime/device.h"

namespace weft::runtime {

namespace {

std::atomic<int64_t> g_held{0};
std::atomic<int64_t> g_peak{0};

// What is lent again and again.
struct Lent {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::weak_ptr<Storage>> by_key;
};

Lent& lent() {
    static Lent& all = *new Lent();  // storages may outlive every static object
    return all;
}

void count(int64_t bytes) {
    const int64_t held = g_held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    int64_t peak = g_peak.load(std::memory_order_relaxed);
    while (held > peak && !g_peak.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
    }
}

}  // namespace

int64_t Storage::bytes_held() { return g_held.load(std::memory_order_relaxed); }
int64_t Storage::peak_bytes() { return g_peak.load(std::memory_order_relaxed); }
void Storage::reset_peak() { g_peak.store(bytes_held(), std::memory_order_relaxed); }

Storage::Storage(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner, bool owned)
    : device_(device), data_(static_cast<std::byte*>(data)), bytes_(bytes), owner_(std::move(owner)), owned_(owned) {
    if (owned_) count(bytes_);
}

Storage::~Storage() {
    if (key_ != 0) {
        const std::lock_guard lock(lent().mutex);
        const auto entry = lent().by_key.find(key_);
        if (entry != lent().by_key.end() && entry->second.expired()) lent().by_key.erase(entry);
    }
    if (!owned_) return;
    device_.release(data_, bytes_);
    count(-bytes_);
}

std::shared_ptr<Storage> Storage::allocate(Device& device, int64_t bytes, bool zeroed) {
    return std::shared_ptr<Storage>(new Storage(device, device.allocate(bytes, zeroed), bytes, nullptr, true));
}

std::shared_ptr<Storage> Storage::borrow(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner) {
    return std::shared_ptr<Storage>(new Storage(device, data, bytes, std::move(owner), false));
}

std::shared_ptr<Storage> Storage::borrow_again(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner,
                                               uint64_t key) {
    std::shared_ptr<Storage> found;
    const std::lock_guard lock(lent().mutex);
    std::weak_ptr<Storage>& known = lent().by_key[key];
    found = known.lock();
    // The lender may have moved the memory.
    if (found != nullptr && found->data_ == data && found->bytes_ == bytes && &found->device_ == &device) return found;
    const std::shared_ptr<Storage> made = borrow(device, data, bytes, std::move(owner));
    made->key_ = key;
    known = made;
    return made;
}

void Storage::watch(const std::byte* begin, const std::byte* end, std::weak_ptr<WriteWatcher> watcher, int tag) {
    if (begin == end) return;
    const std::lock_guard lock(mutex_);
    if (watches_.size() >= purge_at_) {
        std::erase_if(watches_, [](const Watch& w) { return w.watcher.expired(); });
        purge_at_ = std::max<size_t>(64, 2 * watches_.size());
    }
    watches_.push_back({begin, end, std::move(watcher), tag});
    watched_.store(true, std::memory_order_release);
}

std::vector<Storage::Watch> Storage::take_watches() {
    const std::lock_guard lock(mutex_);
    watched_.store(false, std::memory_order_release);
    return std::exchange(watches_, {});
}

void Storage::put_watches(std::vector<Watch> watches) {
    const std::lock_guard lock(mutex_);
    watches_.insert(watches_.end(), std::make_move_iterator(watches.begin()), std::make_move_iterator(watches.end()));
    watched_.store(!watches_.empty(), std::memory_order_release);
}

void Storage::export_view(const std::string& place) {
    std::vector<Watch> told;
    {
        const std::lock_guard lock(mutex_);
        export_place_ = place;
        // Whoever began to watch while something was out there is prepared.
        if (exports_.fetch_add(1, std::memory_order_relaxed) == 0) told = watches_;
    }
    for (const Watch& w : told) {
        if (const auto watcher = w.watcher.lock()) watcher->before_export(w.tag);
    }
}

std::string Storage::export_place() const {
    const std::lock_guard lock(mutex_);
    return export_place_;
}

void Storage::tell_watchers(const std::byte* begin, const std::byte* end) {
    std::vector<Watch> told;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(watches_, [&](Watch& w) {
            if (w.watcher.expired()) return true;
            if (w.begin >= end || begin >= w.end) return false;
            told.push_back(std::move(w));
            return true;
        });
        watched_.store(!watches_.empty(), std::memory_order_release);
    }
    // Without the lock: they copy arrays, perhaps of this storage.
    for (const Watch& w : told) {
        if (const auto watcher = w.watcher.lock()) watcher->before_write(w.tag);
    }
}

}  // namespace weft::runtime
