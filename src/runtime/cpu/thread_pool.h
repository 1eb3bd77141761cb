// The threads that run CPU launches: parallel loops over [0, n), chunks handed out by an atomic counter.
// Loops may nest and come from several threads at once; after a fork the child makes workers of its own when it needs
// them.
#pragma once

#include <cstdint>
#include <memory>

namespace weft::runtime {

class ThreadPool {
  public:
    // `threads`: how many run a loop, the caller included; 0 is one a core (of those this process may use).
    explicit ThreadPool(int threads = 0);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const;
    // Takes effect from the next loop on. 1: items in order, on the calling thread.
    void set_threads(int threads);

    // Calls body(begin, end) for disjoint ranges that cover [0, n), each at most `grain` long (0: chosen so that there
    // are a few for each thread), and returns when all have ended. One range, or one thread: on the calling thread, in
    // order. The first exception of a body is rethrown here; ranges not begun by then are skipped.
    template <typename Body>
    void parallel_for(int64_t n, int64_t grain, const Body& body) {
        run(
            n, grain,
            [](const void* context, int64_t begin, int64_t end) { (*static_cast<const Body*>(context))(begin, end); },
            &body);
    }
    using Chunk = void (*)(const void* context, int64_t begin, int64_t end);
    void run(int64_t n, int64_t grain, Chunk chunk, const void* context);

    struct State;

  private:
    std::shared_ptr<State> state_;
};

}  // namespace weft::runtime
