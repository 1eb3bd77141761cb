// A fibre runs threads, one after the other, until one waits; the next threads begin on another fibre. When all have
// ended or wait, those whose wait is over go on. Where none is, they wait for what never comes: a launch failure.
#include "maca/blocks.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "runtime/cpu/fibres.h"

namespace fake_maca {
namespace {

constexpr int kLaunchFailure = 719;  // mcErrorLaunchFailure

class Block;

// A fibre, and the thread that is on it.
struct Lane {
    Lane();

    enum class State { Runs, AtBarrier, InWave, Idle } state = State::Idle;
    Thread thread{};
    size_t number = 0;
    int value = 0;      // at a barrier: given, then the count
    uint64_t mask = 0;  // in a wave
    uint64_t bits = 0;  // given, then received
    uint64_t votes = 0;
    int source = 0;
    weft::runtime::Fibre fibre;
};

thread_local Block* t_block = nullptr;

class Block {
  public:
    Block(const Kernel& kernel, void** parameters, Index grid, Index size)
        : kernel_(kernel),
          parameters_(parameters),
          grid_(grid),
          size_(size),
          count_(size_t{size.x} * size.y * size.z),
          ended_(count_) {}

    // False where it failed.
    bool run(Index number) {
        number_ = number;
        next_ = 0;
        std::fill(ended_.begin(), ended_.end(), false);
        t_block = this;
        while (next_ < count_ && failure_ == 0) resume(fresh());
        while (!waiting_.empty() && failure_ == 0) go_on();
        t_block = nullptr;
        return failure_ == 0;
    }

    int failure() const { return failure_; }
    Lane& running() { return *running_; }

    // On a lane's fibre; never returns.
    void run_threads(Lane& lane) {
        while (true) {
            while (next_ < count_) {
                begin(lane, next_++);
                kernel_.call(parameters_);
                ended_[lane.number] = true;
            }
            lane.state = Lane::State::Idle;
            lane.fibre.suspend();
        }
    }

    void wait(Lane::State state) {
        running_->state = state;
        running_->fibre.suspend();
    }

    [[noreturn]] void fail(int result, const char* text) {
        std::fprintf(stderr, "MACA stand-in: %s\n", text);
        failure_ = result;
        while (true) running_->fibre.suspend();
    }

    uint64_t live_lanes(size_t wave) const {
        uint64_t out = 0;
        for (size_t i = 0; i < kLanes && wave * kLanes + i < count_; ++i) {
            if (!ended_[wave * kLanes + i]) out |= uint64_t{1} << i;
        }
        return out;
    }

  private:
    void begin(Lane& lane, size_t number) {
        const auto n = static_cast<unsigned>(number);
        lane.number = number;
        lane.thread = {{n % size_.x, n / size_.x % size_.y, n / size_.x / size_.y},
                       number_,
                       size_,
                       grid_,
                       static_cast<int>(number % kLanes)};
        lane.state = Lane::State::Runs;
    }

    Lane& fresh() {
        if (idle_.empty()) {
            lanes_.push_back(std::make_unique<Lane>());
            return *lanes_.back();
        }
        Lane& out = *idle_.back();
        idle_.pop_back();
        return out;
    }

    void resume(Lane& lane) {
        running_ = &lane;
        lane.fibre.resume();
        running_ = nullptr;
        (lane.state == Lane::State::Idle ? idle_ : waiting_).push_back(&lane);
    }

    // Lets those go on whose wait is over.
    void go_on() {
        std::vector<Lane*> released = at_barrier();
        for (size_t wave = 0; released.empty() && wave * kLanes < count_; ++wave) released = in_wave(wave);
        if (released.empty()) {
            std::fprintf(stderr, "MACA stand-in: threads of a block wait for what never comes\n");
            failure_ = kLaunchFailure;
            return;
        }
        std::erase_if(waiting_, [&](Lane* lane) { return std::ranges::find(released, lane) != released.end(); });
        for (Lane* lane : released) {
            resume(*lane);
            if (failure_ != 0) return;
        }
    }

    // Threads that have ended count as if they were there.
    std::vector<Lane*> at_barrier() {
        int sum = 0;
        for (const Lane* lane : waiting_) {
            if (lane->state != Lane::State::AtBarrier) return {};
            sum += lane->value;
        }
        for (Lane* lane : waiting_) lane->value = sum;
        return sorted(waiting_);
    }

    std::vector<Lane*> in_wave(size_t wave) {
        std::vector<Lane*> all(kLanes, nullptr);
        for (Lane* lane : waiting_) {
            if (lane->state == Lane::State::InWave && lane->number / kLanes == wave) {
                all[static_cast<size_t>(lane->thread.lane)] = lane;
            }
        }
        const uint64_t live = live_lanes(wave);
        for (const Lane* first : all) {
            if (first == nullptr) continue;
            const uint64_t mask = first->mask & live;
            std::vector<Lane*> group;
            for (size_t i = 0; i < kLanes; ++i) {
                if ((mask >> i & 1) == 0) continue;
                if (all[i] == nullptr || (all[i]->mask & live) != mask) break;
                group.push_back(all[i]);
            }
            if (static_cast<int>(group.size()) != __builtin_popcountll(mask)) continue;
            exchange(group, mask);
            return group;
        }
        return {};
    }

    static void exchange(const std::vector<Lane*>& group, uint64_t mask) {
        uint64_t votes = 0;
        std::vector<uint64_t> given(kLanes, 0);
        for (const Lane* lane : group) {
            given[static_cast<size_t>(lane->thread.lane)] = lane->bits;
            if (lane->bits != 0) votes |= uint64_t{1} << lane->thread.lane;
        }
        for (Lane* lane : group) {
            lane->votes = votes;
            const bool takes_part = lane->source >= 0 && lane->source < kLanes && (mask >> lane->source & 1) != 0;
            if (takes_part) lane->bits = given[static_cast<size_t>(lane->source)];
        }
    }

    static std::vector<Lane*> sorted(std::vector<Lane*> lanes) {
        std::ranges::sort(lanes, {}, &Lane::number);
        return lanes;
    }

    const Kernel& kernel_;
    void** parameters_;
    Index grid_;
    Index size_;
    size_t count_;
    std::vector<bool> ended_;
    Index number_{};
    size_t next_ = 0;
    int failure_ = 0;
    Lane* running_ = nullptr;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<Lane*> idle_;
    std::vector<Lane*> waiting_;
};

Lane::Lane() : fibre([](void* self) { t_block->run_threads(*static_cast<Lane*>(self)); }, this) {}

const Thread* thread() { return &t_block->running().thread; }

int barrier(int value) {
    Lane& lane = t_block->running();
    lane.value = value;
    t_block->wait(Lane::State::AtBarrier);
    return lane.value;
}

uint64_t exchange(uint64_t mask, uint64_t value, int source, uint64_t* votes) {
    Lane& lane = t_block->running();
    if ((mask >> lane.thread.lane & 1) == 0) {
        t_block->fail(kLaunchFailure, "a lane calls a function of its wave with a mask that leaves it out");
    }
    lane.mask = mask;
    lane.bits = value;
    lane.source = source;
    t_block->wait(Lane::State::InWave);
    if (votes != nullptr) *votes = lane.votes;
    return lane.bits;
}

uint64_t lanes() { return t_block->live_lanes(t_block->running().number / kLanes); }

__attribute__((noreturn)) void fail(int result, const char* text) { t_block->fail(result, text); }

}  // namespace

const Services& services() {
    static const Services instance = {thread, barrier, exchange, lanes, fail};
    return instance;
}

int run_grid(const Kernel& kernel, void** parameters, Index grid, Index size) {
    Block block(kernel, parameters, grid, size);
    for (unsigned z = 0; z < grid.z; ++z) {
        for (unsigned y = 0; y < grid.y; ++y) {
            for (unsigned x = 0; x < grid.x; ++x) {
                if (!block.run({x, y, z})) return block.failure();
            }
        }
    }
    return 0;
}

}  // namespace fake_maca
