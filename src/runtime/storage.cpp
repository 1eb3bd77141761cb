#include "runtime/storage.h"

#include "runtime/device.h"

namespace weft::runtime {
namespace {

constexpr size_t kMaxWrites = 4096;

}  // namespace

Storage::Storage(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner, bool owned)
    : device_(device), data_(static_cast<std::byte*>(data)), bytes_(bytes), owner_(std::move(owner)), owned_(owned) {}

Storage::~Storage() {
    if (owned_) device_.release(data_, bytes_);
}

std::shared_ptr<Storage> Storage::allocate(Device& device, int64_t bytes, bool zeroed) {
    return std::shared_ptr<Storage>(new Storage(device, device.allocate(bytes, zeroed), bytes, nullptr, true));
}

std::shared_ptr<Storage> Storage::borrow(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner) {
    return std::shared_ptr<Storage>(new Storage(device, data, bytes, std::move(owner), false));
}

uint64_t Storage::watch() {
    const std::lock_guard lock(mutex_);
    watched_ = true;
    return version_;
}

void Storage::written(const std::byte* begin, const std::byte* end) {
    if (!watched_ || begin == end) return;
    const std::lock_guard lock(mutex_);
    ++version_;
    for (Write& write : writes_) {
        if (write.begin == begin && write.end == end) {
            write.version = version_;
            return;
        }
    }
    // Too many different ranges: one that covers all of them stands for them. That may report a change where there was
    // none, never the other way round.
    if (writes_.size() >= kMaxWrites) {
        writes_.assign(1, Write{version_, data_, data_ + bytes_});
        return;
    }
    writes_.push_back({version_, begin, end});
}

bool Storage::changed_since(uint64_t version, const std::byte* begin, const std::byte* end) const {
    const std::lock_guard lock(mutex_);
    for (const Write& write : writes_) {
        if (write.version > version && write.begin < end && begin < write.end) return true;
    }
    return false;
}

}  // namespace weft::runtime
