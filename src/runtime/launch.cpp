#include "runtime/launch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;
// A chunk should last this long, so that handing it to another thread pays.
constexpr double kChunkNanoseconds = 20000;
// Launches of fewer items tell too little about the cost of one.
constexpr double kMeasuredNanoseconds = 2000;
// What a locked instruction costs where threads meet, beyond a plain one.
constexpr double kLockNanoseconds = 15;

int64_t grain_of(const Code& code, int64_t items, int threads) {
    const float cost = code.item_cost.load(std::memory_order_relaxed);
    const int64_t even = std::max<int64_t>(1, items / (int64_t{threads} * 4));
    if (cost <= 0) return std::max<int64_t>(even, 256);
    return std::max(even, static_cast<int64_t>(kChunkNanoseconds / cost) + 1);
}

// As many items at least, in whole blocks where the code wants these.
int64_t whole_blocks(const Code& code, const codegen::LaunchShape& shape, int64_t items) {
    if (!code.runs_blocks()) return items;
    const int64_t size = std::max(1, shape.block_dim);
    return (items + size - 1) / size * size;
}

constexpr int64_t kTriedItems = 1024;

// Measures the cost of an item while it lives; of no items: nothing.
class Measured {
  public:
    Measured(std::atomic<float>& cost, int64_t items, double threads) : cost_(cost), items_(items), threads_(threads) {}
    ~Measured() {
        const double elapsed =
            static_cast<double>((std::chrono::steady_clock::now() - start_) / std::chrono::nanoseconds(1));
        if (items_ == 0 || elapsed < kMeasuredNanoseconds) return;
        const auto cost = static_cast<float>(elapsed * threads_ / static_cast<double>(items_));
        const float old = cost_.load(std::memory_order_relaxed);
        cost_.store(old <= 0 ? cost : 0.5F * (old + cost), std::memory_order_relaxed);
    }
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;

  private:
    std::atomic<float>& cost_;
    int64_t items_;
    double threads_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// How fast a measurement fades that is not renewed: the way not taken is tried again some time, sooner if it is close.
constexpr float kFades = 0.998F;

// Locks may eat what threads gain: by how much depends on who meets where, so both ways are measured.
bool gains_from_threads(Code& code, int threads) {
    if (code.shared_atomics() == 0) return true;
    const float alone = code.item_cost.load(std::memory_order_relaxed);
    const float together = code.together_cost.load(std::memory_order_relaxed);
    if (together <= 0)
        return alone / static_cast<float>(threads) + kLockNanoseconds * static_cast<float>(code.shared_atomics()) <
               alone;
    std::atomic<float>& other = together < alone ? code.item_cost : code.together_cost;
    other.store(other.load(std::memory_order_relaxed) * kFades, std::memory_order_relaxed);
    return together < alone;
}

// Where an array lies, and how.
struct Extent {
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;

    bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

// Whether no two indices of the array mean bytes that overlap; `extent` gets all it covers.
bool elements_apart(const Parameter& parameter, const std::byte* arguments, Extent& extent) {
    const int ndim = parameter.type.ndim();
    std::array<int64_t, 1 + 2 * 8> words{};
    std::memcpy(words.data(), arguments + parameter.offset, static_cast<size_t>(ir::descriptor_size(ndim)));
    std::array<std::pair<int64_t, int64_t>, 8> dims;  // stride and extent
    int64_t low = 0;
    int64_t high = ir::size_of(parameter.type.target());
    size_t count = 0;
    const auto* data = reinterpret_cast<const std::byte*>(words[0]);
    for (int d = 0; d < ndim; ++d) {
        const int64_t size = words[static_cast<size_t>(1 + d)];
        const int64_t stride = words[static_cast<size_t>(1 + ndim + d)];
        if (size == 0 || data == nullptr) return true;
        if (size == 1) continue;
        (stride < 0 ? low : high) += stride * (size - 1);
        dims[count++] = {std::abs(stride), size};
    }
    extent = {data + low, data + high};
    std::sort(dims.begin(), dims.begin() + count);
    int64_t covered = ir::size_of(parameter.type.target());
    for (size_t i = 0; i < count; ++i) {
        if (dims[i].first < covered) return false;
        covered += dims[i].first * (dims[i].second - 1);
    }
    return true;
}

// Whether the conditions of OwnElements hold for all arrays that have them.
bool owns_elements(const Code& code, const std::byte* arguments, const codegen::LaunchShape& shape) {
    if (code.own_elements().empty()) return false;
    std::array<Extent, 16> extents;
    const auto& parameters = code.parameters();
    if (parameters.size() > extents.size()) return false;
    uint64_t owned = 0;
    for (const opt::OwnElements& own : code.own_elements()) {
        for (int d = 0; d < shape.ndim; ++d) {
            if (shape.dims[d] != 1 && (own.coordinates >> d & 1) == 0) return false;
        }
        const auto p = static_cast<size_t>(own.parameter);
        if (!elements_apart(parameters[p], arguments, extents[p])) return false;
        owned |= uint64_t{1} << p;
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
        if (!parameters[p].access.write || !parameters[p].type.is(ir::TypeKind::Array)) continue;
        if ((owned >> p & 1) == 0) elements_apart(parameters[p], arguments, extents[p]);
        for (size_t q = 0; q < parameters.size(); ++q) {
            if (q != p && (owned >> q & 1) != 0 && extents[p].overlaps(extents[q])) return false;
        }
    }
    return true;
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

std::string failure_text(int64_t item, std::span<const int64_t> dims, const std::string& message) {
    std::string thread;
    for (size_t d = std::max<size_t>(dims.size(), 1); d-- > 0;) {
        const int64_t extent = d > 0 ? std::max<int64_t>(dims[d], 1) : INT64_MAX;
        thread = std::to_string(item % extent) + (thread.empty() ? "" : ", ") + thread;
        item /= extent;
    }
    return "in thread (" + thread + "): " + message;
}

void run_on_host(Code& code, const std::byte* arguments, const codegen::LaunchShape& wanted) {
    codegen::LaunchShape shape = wanted;
    const int64_t items = item_count(code, shape);
    codegen::KernelEntry entry = code.ready();
    if (entry == nullptr) entry = code.wait();
    if (items == 0) return;

    const bool shared_atomics = code.shared_atomics() > 0;
    const uint32_t owned = owns_elements(code, arguments, shape) ? codegen::kOwnElements : 0U;
    const auto alone = [&](int64_t begin, int64_t end) {
        shape.exclusive = codegen::kOneThread | owned;
        const Measured measured(code.item_cost, end - begin, 1);
        entry(arguments, &shape, begin, end);
    };
    ThreadPool& pool = Runtime::get().pool();
    const int threads = pool.threads();
    int64_t done = 0;
    // Whether locks eat what threads gain depends on the cost of an item: tried on some of them first.
    if (threads > 1 && shared_atomics && code.item_cost.load(std::memory_order_relaxed) <= 0) {
        done = std::min<int64_t>(items, whole_blocks(code, shape, std::max<int64_t>(kTriedItems, items / 64)));
        alone(0, done);
    }
    const bool together = threads > 1 && gains_from_threads(code, threads);
    const int64_t grain = together ? whole_blocks(code, shape, grain_of(code, items, threads)) : items;
    if (done < items && grain >= items - done) {
        alone(done, items);
    } else if (done < items) {
        shape.exclusive = owned;
        const int64_t left = items - done;
        const double busy = std::min<double>(threads, static_cast<double>(left) / static_cast<double>(grain));
        const Measured measured(shared_atomics ? code.together_cost : code.item_cost, left, shared_atomics ? 1 : busy);
        pool.parallel_for(left, grain,
                          [&](int64_t begin, int64_t end) { entry(arguments, &shape, done + begin, done + end); });
    }

    if (code.has_assertions()) {
        if (const std::optional<AssertFailure> failure = take_assert_failure()) {
            const std::span<const int64_t> dims(shape.dims, static_cast<size_t>(shape.ndim));
            throw UserError(ErrorKind::Runtime, failure_text(failure->item, dims, failure->message));
        }
    }
}

std::vector<Code*> adjoint_codes(KernelInstance& instance, const std::byte* arguments,
                                 const codegen::LaunchShape& shape) {
    Code& plain = instance.adjoint();
    KernelInstance::Gathered* gathered = instance.gathered();
    if (gathered == nullptr) return {&plain};
    for (int d = gathered->plan.dims; d < shape.ndim; ++d) {
        if (shape.dims[d] != 1) return {&plain};
    }
    const auto& parameters = plain.parameters();
    for (const int gathered_array : gathered->plan.arrays) {
        const auto p = static_cast<size_t>(gathered_array);
        Extent own;
        if (!elements_apart(parameters[p], arguments, own)) return {&plain};
        for (size_t q = 0; q < parameters.size(); ++q) {
            if (q == p || !parameters[q].type.contains_array()) continue;
            if (!parameters[q].type.is(ir::TypeKind::Array)) return {&plain};
            Extent other;
            elements_apart(parameters[q], arguments, other);
            if (own.overlaps(other)) return {&plain};
        }
    }
    return {gathered->main.get(), gathered->rest.get()};
}

}  // namespace weft::runtime
