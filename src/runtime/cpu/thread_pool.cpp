// Workers wait until a loop is posted; each then takes ranges of it by an atomic counter, as the caller does. A loop
// is a record on the caller's stack, listed while it has ranges left: that is what lets loops nest and run side by
// side. A caller whose ranges are all taken waits for the workers still inside its loop, and only for those.
// Who waits looks for a moment before it sleeps: to be woken takes tens of microseconds, and launches follow launches.
#include "runtime/cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

// About what it takes to wake a thread that sleeps: looking for longer could cost more than it saves.
constexpr std::chrono::microseconds kLook{50};

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

// Whether `come` was seen to be true.
template <typename Come>
bool look_for(const Come& come) {
    if (come()) return true;
    const auto end = std::chrono::steady_clock::now() + kLook;
    do {
        for (int i = 0; i < 16; ++i) {
            if (come()) return true;
            pause();
        }
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

struct Loop {
    ThreadPool::Chunk chunk = nullptr;
    const void* context = nullptr;
    int64_t n = 0;
    int64_t grain = 1;
    int limit = 1;                // threads that may take part
    std::atomic<int> inside = 0;  // threads that do; changed under the pool's mutex
    std::atomic<int64_t> next = 0;
    std::atomic<bool> failed = false;
    std::exception_ptr error;  // written by the one that sets `failed`
    std::condition_variable left;

    bool has_work() const { return next.load(std::memory_order_relaxed) < n; }

    void work() {
        while (!failed.load(std::memory_order_relaxed)) {
            const int64_t begin = next.fetch_add(grain, std::memory_order_relaxed);
            if (begin >= n) return;
            try {
                chunk(context, begin, std::min(n, begin + grain));
            } catch (...) {
                if (!failed.exchange(true)) error = std::current_exception();
            }
        }
    }
};

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable posted;
    std::vector<Loop*> loops;
    std::vector<std::thread> workers;
    std::atomic<int> threads = 1;
    bool ending = false;
    std::atomic<uint64_t> posts = 0;  // loops so far; changed under the mutex
    int looking = 0;                  // workers that will see the next one without being woken

    void worker() {
        std::unique_lock lock(mutex);
        bool look = false;
        while (true) {
            Loop* loop = nullptr;
            for (Loop* candidate : loops) {
                if (candidate->inside < candidate->limit && candidate->has_work()) loop = candidate;
            }
            if (loop == nullptr) {
                if (ending) return;
                if (look) {
                    look = false;
                    const uint64_t seen = posts;
                    ++looking;
                    lock.unlock();
                    look_for([&] { return posts.load(std::memory_order_relaxed) != seen; });
                    lock.lock();
                    --looking;
                    continue;  // a loop may have come, or the end
                }
                posted.wait(lock);
                continue;
            }
            ++loop->inside;
            lock.unlock();
            loop->work();
            look = true;
            lock.lock();
            if (--loop->inside == 1) loop->left.notify_one();
        }
    }

    void run(int64_t n, int64_t grain, Chunk chunk, const void* context);
};

namespace {

// Every pool, so that a fork finds them all at rest. Never destroyed: a fork may come at any time.
struct Pools {
    std::mutex mutex;
    std::set<ThreadPool::State*> all;

    static Pools& instance() {
        static Pools* const pools = [] {
            auto* out = new Pools;
            pthread_atfork(prepare, parent, child);
            return out;
        }();
        return *pools;
    }

  private:
    static void prepare() {
        instance().mutex.lock();
        for (auto* state : instance().all) state->mutex.lock();
    }
    static void parent() {
        for (auto* state : instance().all) state->mutex.unlock();
        instance().mutex.unlock();
    }
    static void child() {
        for (auto* state : instance().all) {
            // The threads are gone, and so are the callers of the loops that were running. What speaks of them is
            // forgotten rather than destroyed, which would wait for them.
            new std::vector<std::thread>(std::move(state->workers));
            state->workers.clear();
            state->loops.clear();
            state->looking = 0;
            new (&state->posted) std::condition_variable;
            state->mutex.unlock();
        }
        instance().mutex.unlock();
    }
};

}  // namespace

void ThreadPool::State::run(int64_t n, int64_t grain, Chunk chunk, const void* context) {
    Loop loop;
    loop.chunk = chunk;
    loop.context = context;
    loop.n = n;
    loop.grain = grain;
    loop.inside = 1;
    {
        const std::lock_guard lock(mutex);
        const int64_t ranges = (n - 1) / grain + 1;
        loop.limit = static_cast<int>(std::min<int64_t>(threads, ranges));
        while (static_cast<int>(workers.size()) + 1 < threads) workers.emplace_back([this] { worker(); });
        loops.push_back(&loop);
        ++posts;
        if (const int wanted = loop.limit - 1 - looking; wanted == 1) {
            posted.notify_one();
        } else if (wanted > 1) {
            posted.notify_all();
        }
    }
    loop.work();
    look_for([&] { return loop.inside.load(std::memory_order_relaxed) == 1; });
    {
        std::unique_lock lock(mutex);
        std::erase(loops, &loop);
        loop.left.wait(lock, [&] { return loop.inside == 1; });
    }
    if (loop.error) std::rethrow_exception(loop.error);
}

ThreadPool::ThreadPool(int threads) : state_(std::make_shared<State>()) {
    set_threads(threads);
    Pools& pools = Pools::instance();
    const std::lock_guard lock(pools.mutex);
    pools.all.insert(state_.get());
}

ThreadPool::~ThreadPool() {
    {
        Pools& pools = Pools::instance();
        const std::lock_guard lock(pools.mutex);
        pools.all.erase(state_.get());
    }
    {
        const std::lock_guard lock(state_->mutex);
        state_->ending = true;
        state_->posted.notify_all();
    }
    for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::set_threads(int threads) { state_->threads = threads > 0 ? threads : usable_cores(); }

void ThreadPool::run(int64_t n, int64_t grain, Chunk chunk, const void* context) {
    if (n <= 0) return;
    const int64_t threads = state_->threads;
    if (grain <= 0) grain = std::max<int64_t>(1, n / (threads * 4));
    if (threads == 1 || n <= grain) {
        for (int64_t begin = 0; begin < n; begin += std::min(grain, n - begin))
            chunk(context, begin, begin + std::min(grain, n - begin));
        return;
    }
    state_->run(n, grain, chunk, context);
}

}  // namespace weft::runtime
