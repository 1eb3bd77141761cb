// A fibre runs items, one after the other, until one of them waits: that item keeps the fibre, and the next items begin
// on another. So items that never wait cost a switch a block. When all have ended or wait, those whose wait is over go
// on, in the order of threads.
#include "runtime/cpu/blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/cpu/fibres.h"
#include "runtime/cpu/shared_races.h"

#define SYMBOL(name, result, parameters) extern "C" result name parameters;
#include "codegen/host_symbols.def"
#undef SYMBOL

namespace weft::runtime {
namespace {

enum class Wait : uint8_t { Nothing, Barrier, Warp };

class Worker;

struct BlockThread {
    explicit BlockThread(Worker& owner);

    ThreadState state;
    int64_t item = 0;
    Wait wait = Wait::Nothing;
    uint64_t value = 0;  // what it hands over while it waits, then what it gets
    uint64_t mask = 0;   // of a warp: the lanes that take part
    int32_t source = 0;  // of a warp: whose value it wants; negative: which lanes' are not zero
    Fibre fibre;
};

// One a thread of the host.
class Worker {
  public:
    void run(void (*items)(const void*, const void*, int64_t, int64_t), const void* arguments,
             const codegen::LaunchShape& shape, int64_t begin, int64_t end, int64_t shared_bytes, bool finds_races) {
        items_ = items;
        arguments_ = arguments;
        shape_ = &shape;
        races_.reset();
        const int64_t size = std::max(1, shape.block_dim);
        int64_t all = 1;
        for (const int64_t extent : shape.dims) all *= extent;
        shared_.resize(static_cast<size_t>((shared_bytes + 63) / 64));
        for (int64_t first = begin; first < end; first += size) {
            first_ = first;
            count_ = std::min(size, end - first);
            pattern_ = {0, static_cast<int32_t>(first / size), static_cast<int32_t>(size),
                        static_cast<int32_t>((all + size - 1) / size), reinterpret_cast<char*>(shared_.data())};
            if (!shared_.empty()) std::memset(shared_.data(), 0, shared_.size() * sizeof(Line));
            if (finds_races) races_.emplace(pattern_.shared, shared_bytes, count_);
            if (!block()) return;
        }
    }

    // On the fibre of `thread`.
    void run_items(BlockThread& thread) {
        while (true) {
            while (next_ < count_) {
                const int64_t item = first_ + next_;
                thread.state = pattern_;
                thread.state.thread = static_cast<int32_t>(next_++);
                thread.item = item;
                items_(arguments_, shape_, item, item + 1);
            }
            thread.wait = Wait::Nothing;
            thread.fibre.suspend();
        }
    }

    BlockThread& running() { return *running_; }
    SharedRaces& races() { return *races_; }

    uint64_t wait_for(Wait what, uint64_t value, uint64_t mask, int32_t source) {
        BlockThread& thread = *running_;
        thread.wait = what;
        thread.value = value;
        thread.mask = mask;
        thread.source = source;
        thread.fibre.suspend();
        return thread.value;
    }

  private:
    struct alignas(64) Line {
        char bytes[64];
    };

    // False where the block's threads wait for what never comes.
    bool block() {
        next_ = 0;
        waiting_.clear();
        while (next_ < count_) {
            BlockThread& thread = fresh();
            resume(thread);
            if (thread.wait == Wait::Nothing) {
                idle_.push_back(&thread);
            } else {
                waiting_.push_back(&thread);
            }
        }
        while (!waiting_.empty()) {
            released_.clear();
            const bool everyone = release_barrier();
            for (size_t from = 0; !everyone && from < waiting_.size();) from = release_warps(from);
            if (released_.empty()) {
                give_up();
                return false;
            }
            for (BlockThread* thread : released_) resume(*thread);
            const auto ended = [&](BlockThread* thread) {
                if (thread->wait != Wait::Nothing) return false;
                idle_.push_back(thread);
                return true;
            };
            std::erase_if(waiting_, ended);
        }
        return true;
    }

    BlockThread& fresh() {
        if (idle_.empty()) {
            threads_.push_back(std::make_unique<BlockThread>(*this));
            return *threads_.back();
        }
        BlockThread& out = *idle_.back();
        idle_.pop_back();
        return out;
    }

    void resume(BlockThread& thread) {
        running_ = &thread;
        thread.fibre.resume();
        running_ = nullptr;
    }

    // Whether all threads were at the barrier.
    bool release_barrier() {
        uint64_t sum = 0;
        int64_t there = 0;
        for (const BlockThread* thread : waiting_) {
            if (thread->wait != Wait::Barrier) continue;
            ++there;
            sum += thread->value;
        }
        if (there != count_) return false;
        for (BlockThread* thread : waiting_) thread->value = sum;
        released_ = waiting_;
        if (races_) races_->barrier();
        return true;
    }

    // The warp whose first waiting thread is at `from`; returns where the next one begins.
    size_t release_warps(size_t from) {
        const int32_t warp = waiting_[from]->state.thread / kWarp;
        BlockThread* lanes[kWarp] = {};
        size_t end = from;
        for (; end < waiting_.size() && waiting_[end]->state.thread / kWarp == warp; ++end) {
            if (waiting_[end]->wait == Wait::Warp) lanes[waiting_[end]->state.thread % kWarp] = waiting_[end];
        }
        const int64_t present = std::min<int64_t>(kWarp, count_ - int64_t{warp} * kWarp);
        uint64_t done = 0;
        for (int lane = 0; lane < present; ++lane) {
            if (lanes[lane] == nullptr || (done >> lane & 1) != 0) continue;
            const uint64_t mask = lanes[lane]->mask & ((uint64_t{1} << present) - 1);
            uint64_t values[kWarp];
            uint64_t set = 0;
            bool complete = (mask >> lane & 1) != 0;
            for (int other = 0; other < present && complete; ++other) {
                if ((mask >> other & 1) == 0) continue;
                const BlockThread* thread = lanes[other];
                complete = thread != nullptr && (done >> other & 1) == 0 && thread->mask == lanes[lane]->mask;
                if (!complete) break;
                values[other] = thread->value;
                if (thread->value != 0) set |= uint64_t{1} << other;
            }
            if (!complete) continue;
            if (races_) races_->next();
            for (int other = 0; other < present; ++other) {
                if ((mask >> other & 1) == 0) continue;
                BlockThread& thread = *lanes[other];
                if (thread.source < 0) {
                    thread.value = set;
                } else if (thread.source < kWarp && (mask >> thread.source & 1) != 0) {
                    thread.value = values[thread.source];
                }
                released_.push_back(&thread);
                if (races_) races_->warp(thread.state.thread);
            }
            done |= mask;
        }
        return end;
    }

    void give_up() {
        const BlockThread& first = *waiting_.front();
        const bool barrier = std::ranges::any_of(waiting_, [](auto* t) { return t->wait == Wait::Barrier; });
        const auto there = static_cast<long long>(waiting_.size());
        weft_assert_failed(
            barrier ? "%lld of the %lld threads of block %lld wait at a barrier which the others never reach"
                    : "%lld of the %lld threads of block %lld wait for lanes of their warp which never come",
            first.item, there, static_cast<long long>(count_), static_cast<long long>(first.state.block));
        for (BlockThread* thread : waiting_) {
            thread->fibre.restart();
            idle_.push_back(thread);
        }
        waiting_.clear();
    }

    void (*items_)(const void*, const void*, int64_t, int64_t) = nullptr;
    const void* arguments_ = nullptr;
    const codegen::LaunchShape* shape_ = nullptr;
    int64_t first_ = 0;
    int64_t count_ = 0;
    int64_t next_ = 0;
    ThreadState pattern_;
    BlockThread* running_ = nullptr;
    std::vector<Line> shared_;
    std::optional<SharedRaces> races_;  // where they are looked for
    std::vector<std::unique_ptr<BlockThread>> threads_;
    std::vector<BlockThread*> idle_;
    std::vector<BlockThread*> waiting_;
    std::vector<BlockThread*> released_;

    friend struct BlockThread;
};

BlockThread::BlockThread(Worker& owner)
    : fibre(
          [](void* worker) {
              auto& self = *static_cast<Worker*>(worker);
              self.run_items(self.running());
          },
          &owner) {}

Worker& worker() {
    thread_local Worker instance;
    return instance;
}

}  // namespace
}  // namespace weft::runtime

using weft::runtime::Wait;
using weft::runtime::worker;

void weft_run_blocks(void (*items)(const void*, const void*, int64_t, int64_t), const void* arguments,
                     const void* shape, int64_t begin, int64_t end, int64_t shared_bytes, int32_t finds_races) {
    worker().run(items, arguments, *static_cast<const weft::codegen::LaunchShape*>(shape), begin, end, shared_bytes,
                 finds_races != 0);
}

void weft_shared_access(const char* address, int64_t bytes, int32_t kind, const char* place, const char* stored) {
    const weft::runtime::BlockThread& thread = worker().running();
    const std::string found = worker().races().access(address, bytes, static_cast<weft::codegen::SharedAccess>(kind),
                                                      place, stored, thread.state.thread);
    if (!found.empty()) weft_assert_failed("%s", thread.item, found.c_str());
}

const void* weft_this_thread() { return &worker().running().state; }

char* weft_shared_memory() { return worker().running().state.shared; }

int32_t weft_barrier(int32_t value) {
    return static_cast<int32_t>(worker().wait_for(Wait::Barrier, static_cast<uint64_t>(value), 0, 0));
}

uint64_t weft_warp(uint64_t mask, uint64_t value, int32_t source) {
    return worker().wait_for(Wait::Warp, value, mask, source);
}
