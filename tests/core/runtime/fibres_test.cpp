// Switching between stacks: every side finds its values as they were, those in registers too.
#include "runtime/cpu/fibres.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::runtime {
namespace {

constexpr int kValues = 14;  // more than registers are kept of each kind

struct Thread {
    double start = 0;
    double sum = 0;
    int64_t whole = 0;
    std::unique_ptr<Fibre> fibre;
};

// So many values are alive while `between` runs, that registers are taken as well as memory.
template <typename Between>
void add_up(double start, double& sum, int64_t& whole, const Between& between) {
    std::array<double, kValues> values{};
    std::array<int64_t, kValues> numbers{};
#pragma GCC unroll 14
    for (int i = 0; i < kValues; ++i) {
        values[static_cast<size_t>(i)] = start * (i + 1);
        numbers[static_cast<size_t>(i)] = static_cast<int64_t>(start) + i;
    }
    between();
#pragma GCC unroll 14
    for (int i = 0; i < kValues; ++i) {
        sum += values[static_cast<size_t>(i)];
        whole += numbers[static_cast<size_t>(i)] * i;
    }
}

void body(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    for (double start = thread.start;; start += 1) {
        add_up(start, thread.sum, thread.whole, [&] { thread.fibre->suspend(); });
    }
}

double sum_of(double start) {
    double out = 0;
    for (int i = 1; i <= kValues; ++i) out += start * i;
    return out;
}

int64_t whole_of(int64_t start) {
    int64_t out = 0;
    for (int64_t i = 0; i < kValues; ++i) out += (start + i) * i;
    return out;
}

TEST(Fibres, KeepWhatIsInRegisters) {
    std::vector<Thread> threads(5);
    for (size_t i = 0; i < threads.size(); ++i) {
        threads[i].start = 100.0 * static_cast<double>(i + 1);
        threads[i].fibre = std::make_unique<Fibre>(&body, &threads[i]);
    }
    constexpr int kTurns = 20;
    double outside = 0;
    int64_t outside_whole = 0;
    for (int turn = 0; turn <= kTurns; ++turn) {
        for (Thread& thread : threads) add_up(turn, outside, outside_whole, [&] { thread.fibre->resume(); });
    }
    for (const Thread& thread : threads) {
        double sum = 0;
        int64_t whole = 0;
        for (int turn = 0; turn < kTurns; ++turn) {
            sum += sum_of(thread.start + turn);
            whole += whole_of(static_cast<int64_t>(thread.start) + turn);
        }
        EXPECT_EQ(thread.sum, sum);
        EXPECT_EQ(thread.whole, whole);
    }
    double sum = 0;
    int64_t whole = 0;
    for (int turn = 0; turn <= kTurns; ++turn) {
        sum += 5 * sum_of(turn);
        whole += 5 * whole_of(turn);
    }
    EXPECT_EQ(outside, sum);
    EXPECT_EQ(outside_whole, whole);
}

TEST(Fibres, BeginAnew) {
    Thread thread;
    thread.start = 3;
    thread.fibre = std::make_unique<Fibre>(&body, &thread);
    thread.fibre->resume();
    thread.fibre->resume();
    EXPECT_EQ(thread.sum, sum_of(3));
    thread.fibre->restart();
    thread.fibre->resume();
    thread.fibre->resume();
    EXPECT_EQ(thread.sum, 2 * sum_of(3));
}

}  // namespace
}  // namespace weft::runtime
