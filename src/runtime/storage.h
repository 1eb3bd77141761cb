// A block of a device's memory that arrays share. Who needs a value again (a tape) watches a range of it and is told
// just before the range is overwritten. Not here: how an array lies in its storage (array.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace weft::runtime {

class Device;

// Somebody who wants to save values before they are overwritten.
class WriteWatcher {
  public:
    virtual ~WriteWatcher() = default;
    // What was watched under `tag` is about to be overwritten. Called once; must not throw.
    virtual void before_write(int tag) noexcept = 0;
    // From now on what was watched under `tag` may be written unseen.
    virtual void before_export(int tag) noexcept = 0;
};

// Counts the writes that another library makes to memory which it has lent.
class WriteCounter {
  public:
    virtual ~WriteCounter() = default;
    virtual int64_t count() const = 0;
};

class Storage {
  public:
    // Memory of its own. Throws std::bad_alloc.
    static std::shared_ptr<Storage> allocate(Device& device, int64_t bytes, bool zeroed);
    // Memory of somebody else, kept alive by `owner` (may be empty).
    static std::shared_ptr<Storage> borrow(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner);
    // The same for memory that is lent again and again: one storage while it lives, so that who watches it sees all
    // writes. `key` is the lender's name for the memory, its own for as long as `owner` lives.
    static std::shared_ptr<Storage> borrow_again(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner,
                                                 uint64_t key);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    // Bytes that all storages of their own hold now, and the most they have held since reset_peak().
    static int64_t bytes_held();
    static int64_t peak_bytes();
    static void reset_peak();

    Device& device() const { return device_; }
    std::byte* data() const { return data_; }
    int64_t bytes() const { return bytes_; }
    bool owned() const { return owned_; }

    // A view that others may write through leaves (NumPy, DLPack, an address), made at `place` of the program: writes
    // may go unseen until release_view(), and who depends on the content compares it. What never comes back counts for
    // good.
    void export_view(const std::string& place);
    void release_view() { exports_.fetch_sub(1, std::memory_order_relaxed); }
    bool exported() const { return exports_.load(std::memory_order_relaxed) > 0; }
    // Where the last one left.
    std::string export_place() const;

    // Tells `watcher` before bytes [begin, end) are overwritten for the first time from now on; forgotten when it dies.
    void watch(const std::byte* begin, const std::byte* end, std::weak_ptr<WriteWatcher> watcher, int tag);
    // Takes the watches aside, for writes that will be undone before any value is wanted again; they are given back to
    // put_watches().
    struct Watch;
    std::vector<Watch> take_watches();
    void put_watches(std::vector<Watch> watches);
    // To be called before bytes [begin, end) are written.
    void before_write(const std::byte* begin, const std::byte* end) {
        if (watched_.load(std::memory_order_acquire)) tell_watchers(begin, end);
    }

    struct Watch {
        const std::byte* begin;
        const std::byte* end;
        std::weak_ptr<WriteWatcher> watcher;
        int tag;
    };

  private:
    Storage(Device& device, void* data, int64_t bytes, std::shared_ptr<void> owner, bool owned);
    void tell_watchers(const std::byte* begin, const std::byte* end);

    Device& device_;
    std::byte* data_;
    int64_t bytes_;
    std::shared_ptr<void> owner_;
    bool owned_;
    uint64_t key_ = 0;  // 0: none
    std::atomic<bool> watched_{false};
    std::atomic<int> exports_{0};
    mutable std::mutex mutex_;
    std::string export_place_;
    std::vector<Watch> watches_;
    size_t purge_at_ = 64;  // watches of the dead are looked for when there are so many
};

}  // namespace weft::runtime
