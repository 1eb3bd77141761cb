// A block of a device's memory that arrays share, with the record of who wrote where: `Tape` compares it before it uses
// a value again. Not here: how an array lies in its storage (array.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::runtime {

class Device;

class Storage {
  public:
    // Memory of its own. Throws std::bad_alloc.
    static std::shared_ptr<Storage> allocate(Device& device, int64_t bytes, bool zeroed);
    // Memory of somebody else, kept alive by `owner` (may be empty).
    static std::shared_ptr<Storage> borrow(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    Device& device() const { return device_; }
    std::byte* data() const { return data_; }
    int64_t bytes() const { return bytes_; }

    // From now on writes are recorded; returns the version to compare with.
    uint64_t watch();
    // Bytes [begin, end) of memory have been written (or may have been).
    void written(const std::byte* begin, const std::byte* end);
    // Whether a write since `version` touched bytes [begin, end).
    bool changed_since(uint64_t version, const std::byte* begin, const std::byte* end) const;

  private:
    struct Write {
        uint64_t version;
        const std::byte* begin;
        const std::byte* end;
    };
    Storage(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner, bool owned);

    Device& device_;
    std::byte* data_;
    int64_t bytes_;
    std::shared_ptr<void> owner_;
    bool owned_;
    bool watched_ = false;
    uint64_t version_ = 0;
    mutable std::mutex mutex_;
    std::vector<Write> writes_;  // newest last; those of equal range are kept once
};

}  // namespace weft::runtime
