// The thread pool: every index once, whatever the grain, nesting, number of callers, exceptions and forks.
#include "runtime/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

namespace weft::runtime {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const int64_t n : {0, 1, 2, 7, 100, 1001}) {
            for (const int64_t grain : {0, 1, 3, 50, 5000}) {
                std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
                pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
                    EXPECT_TRUE(grain == 0 || end - begin <= grain);
                    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
                });
                for (const auto& count : seen) ASSERT_EQ(count, 1);
            }
        }
    }
}

TEST(ThreadPool, OneThreadRunsInOrderHere) {
    ThreadPool pool(4);
    pool.set_threads(1);
    std::vector<int64_t> order;
    const auto here = std::this_thread::get_id();
    pool.parallel_for(100, 7, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        for (int64_t i = begin; i < end; ++i) order.push_back(i);
    });
    for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<int64_t>(i));
    EXPECT_EQ(order.size(), 100U);
}

TEST(ThreadPool, NestsAndServesSeveralCallers) {
    ThreadPool pool(4);
    std::atomic<int64_t> sum = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
            for (int round = 0; round < 50; ++round) {
                pool.parallel_for(8, 1, [&](int64_t, int64_t) {
                    pool.parallel_for(16, 2, [&](int64_t begin, int64_t end) { sum += end - begin; });
                });
            }
        });
    }
    for (auto& caller : callers) caller.join();
    EXPECT_EQ(sum, 4 * 50 * 8 * 16);
}

TEST(ThreadPool, PassesExceptionsOn) {
    ThreadPool pool(4);
    for (int round = 0; round < 50; ++round) {
        EXPECT_THROW(pool.parallel_for(1000, 1,
                                       [&](int64_t begin, int64_t) {
                                           if (begin == 500) throw std::runtime_error("chunk");
                                       }),
                     std::runtime_error);
    }
    std::atomic<int> count = 0;
    pool.parallel_for(100, 1, [&](int64_t, int64_t) { ++count; });
    EXPECT_EQ(count, 100);
}

TEST(ThreadPool, ThreadCountChangesAtRunTime) {
    ThreadPool pool(1);
    for (const int threads : {4, 2, 8, 1, 3}) {
        pool.set_threads(threads);
        std::atomic<int> inside = 0;
        std::atomic<int> most = 0;
        pool.parallel_for(64, 1, [&](int64_t, int64_t) {
            const int now = ++inside;
            int before = most;
            while (before < now && !most.compare_exchange_weak(before, now)) {
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            --inside;
        });
        EXPECT_LE(most, threads);
    }
}

// Exit status of a child that runs `work`; a child that hangs is ended after ten seconds.
template <typename Work>
int in_child(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(work() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

bool sums(ThreadPool& pool) {
    std::atomic<int64_t> sum = 0;
    pool.parallel_for(1000, 1, [&](int64_t begin, int64_t) { sum += begin; });
    return sum == 499500;
}

TEST(ThreadPool, WorksInForkedChildren) {
    ThreadPool pool(4);
    ASSERT_TRUE(sums(pool));
    for (int round = 0; round < 50; ++round) EXPECT_EQ(in_child([&] { return sums(pool); }), 0);
    EXPECT_TRUE(sums(pool));
    // A child of a child, and a pool that ends in the child.
    EXPECT_EQ(in_child([&] { return sums(pool) && in_child([&] { return sums(pool); }) == 0; }), 0);
    EXPECT_EQ(in_child([] {
                  ThreadPool mine(3);
                  return sums(mine);
              }),
              0);
}

// Workers that look for the next loop see it, whoever posts it, and loops of two callers at once.
TEST(ThreadPool, ServesLoopsThatFollowEachOther) {
    ThreadPool pool(3);
    const auto many = [&] {
        for (int i = 0; i < 3000; ++i) ASSERT_TRUE(sums(pool));
    };
    std::thread other(many);
    many();
    other.join();
}

// Ends while its workers work, look for the next loop, fall asleep.
TEST(ThreadPool, EndsWhateverItsWorkersDo) {
    for (int i = 0; i < 300; ++i) {
        ThreadPool pool(3);
        std::atomic<int> arrived = 0;
        pool.parallel_for(3, 1, [&](int64_t, int64_t) {
            ++arrived;
            while (arrived < 3) std::this_thread::yield();
        });
        std::this_thread::sleep_for(std::chrono::microseconds(i));
    }
}

TEST(ThreadPool, SleepsWhenNothingComes) {
    ThreadPool pool(4);
    ASSERT_TRUE(sums(pool));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::clock_t before = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    // Three workers that went on looking would take 400 to 600 ms of two processors.
    EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 20);
}

TEST(ThreadPool, ForksWhileLoopsRun) {
    ThreadPool pool(3);
    std::atomic<bool> stop = false;
    std::thread busy([&] {
        while (!stop) sums(pool);
    });
    for (int round = 0; round < 50; ++round) EXPECT_EQ(in_child([&] { return sums(pool); }), 0);
    stop = true;
    busy.join();
}

}  // namespace
}  // namespace weft::runtime
