#include "runtime/launch.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;
// A chunk should last this long, so that handing it to another thread pays.
constexpr double kChunkNanoseconds = 20000;
// Launches of fewer items tell too little about the cost of one.
constexpr double kMeasuredNanoseconds = 2000;

int64_t grain_of(const Code& code, int64_t items, int threads) {
    const float cost = code.item_cost.load(std::memory_order_relaxed);
    const int64_t even = std::max<int64_t>(1, items / (int64_t{threads} * 4));
    if (cost <= 0) return std::max<int64_t>(even, 256);
    return std::max(even, static_cast<int64_t>(kChunkNanoseconds / cost) + 1);
}

}  // namespace

int64_t item_count(const Code& code, const codegen::LaunchShape& shape) {
    int64_t items = 1;
    bool empty = false;
    for (int i = 0; i < shape.ndim; ++i) {
        if (shape.dims[i] < 0) {
            throw UserError(ErrorKind::Launch, "launch dimensions must not be negative: found " +
                                                   std::to_string(shape.dims[i]) + " in dimension " +
                                                   std::to_string(i));
        }
        empty |= shape.dims[i] == 0;
    }
    if (empty) return 0;
    for (int i = 0; i < shape.ndim; ++i) {
        if (code.uses_thread_index() && shape.dims[i] > kMaxExtent) {
            throw UserError(ErrorKind::Launch, "the launch has extent " + std::to_string(shape.dims[i]) +
                                                   " in dimension " + std::to_string(i) +
                                                   ", but wp.tid() gives 32-bit coordinates: at most 2147483648");
        }
        if (__builtin_mul_overflow(items, shape.dims[i], &items)) {
            throw UserError(ErrorKind::Launch, "the number of items of the launch does not fit in 64 bits");
        }
    }
    return items;
}

void run(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape) {
    const int64_t items = item_count(code, shape);
    codegen::KernelEntry entry = code.ready();
    if (entry == nullptr) entry = code.wait();
    if (items == 0) return;

    ThreadPool& pool = Runtime::get().pool();
    const int threads = pool.threads();
    const int64_t grain = threads == 1 ? items : grain_of(code, items, threads);
    const auto start = std::chrono::steady_clock::now();
    if (grain >= items) {
        entry(arguments, &shape, 0, items);
    } else {
        pool.parallel_for(items, grain, [&](int64_t begin, int64_t end) { entry(arguments, &shape, begin, end); });
    }
    const double elapsed =
        static_cast<double>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
    if (elapsed >= kMeasuredNanoseconds) {
        const double busy = grain >= items ? 1 : std::min<double>(threads, static_cast<double>(items) / grain);
        const auto cost = static_cast<float>(elapsed * busy / static_cast<double>(items));
        const float old = code.item_cost.load(std::memory_order_relaxed);
        code.item_cost.store(old <= 0 ? cost : 0.5F * (old + cost), std::memory_order_relaxed);
    }

    if (code.has_assertions()) {
        if (const std::optional<AssertFailure> failure = take_assert_failure()) {
            throw UserError(ErrorKind::Runtime,
                            "assertion failed in item " + std::to_string(failure->item) + ": " + failure->message);
        }
    }
}

}  // namespace weft::runtime
