#include "runtime/cpu/code_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace weft::runtime {
namespace {

// A mapping is as large as all before it: what is never used is no more than what is. In pages.
constexpr size_t kFirst = 8;
constexpr size_t kLargest = 256;

void* map(size_t size) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

class Pages {
  public:
    void* take(size_t size) {
        const std::lock_guard lock(mutex_);
        if (size > left_) {
            if (size > next_ / 4) return map(size);
            void* fresh = map(next_);
            if (fresh == nullptr) return map(size);
            if (left_ > 0) munmap(free_, left_);
            free_ = static_cast<std::byte*>(fresh);
            left_ = next_;
            next_ = std::min(2 * next_, kLargest * page_);
        }
        void* out = free_;
        free_ += size;
        left_ -= size;
        return out;
    }

  private:
    std::mutex mutex_;
    std::byte* free_ = nullptr;
    size_t left_ = 0;
    const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t next_ = kFirst * page_;
};

}  // namespace

void* take_code_pages(size_t size) {
    static auto* pages = new Pages;  // kernels may outlive what is destroyed at exit
    return pages->take(size);
}

void give_back_code_pages(void* memory, size_t size) { munmap(memory, size); }

}  // namespace weft::runtime
