// What this machine can do at most: prints the GB/s of copies by all cores, read and written, and the GFLOP/s of
// multiply-adds of float32. Arguments: the number of threads.
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBytes = size_t{1} << 27;  // of each array, for each thread
constexpr int kRounds = 9;

using Clock = std::chrono::steady_clock;
using Vector = float __attribute__((vector_size(64)));

template <typename Work>
double best_seconds(int threads, const Work& work) {
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        const auto start = Clock::now();
        std::vector<std::thread> all;
        for (int k = 0; k < threads; ++k) all.emplace_back(work, k);
        for (std::thread& thread : all) thread.join();
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

char* pages() {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    madvise(memory, kBytes, MADV_HUGEPAGE);
    std::memset(memory, 1, kBytes);
    return static_cast<char*>(memory);
}

volatile float g_sink;

void multiply_adds(int) {
    Vector sums[12] = {};
    for (int i = 0; i < 10'000'000; ++i) {
#pragma GCC unroll 12
        for (Vector& sum : sums) {
            sum = sum * 0.5F + 1.0F;
            __asm__("" : "+v"(sum));
        }
    }
    for (const Vector& sum : sums) g_sink = sum[0];
}

}  // namespace

int main(int, char** arguments) {
    const int threads = std::atoi(arguments[1]);
    std::vector<char*> from, to;
    for (int k = 0; k < threads; ++k) {
        from.push_back(pages());
        to.push_back(pages());
    }
    const double copy = best_seconds(threads, [&](int k) { std::memcpy(to[k], from[k], kBytes); });
    const double fma = best_seconds(threads, multiply_adds);
    std::printf("%g %g\n", 2.0 * kBytes * threads / copy / 1e9, 2.0 * 12 * 16 * 1e7 * threads / fma / 1e9);
}
