#include "runtime/launch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/cpu/cache_size.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/extents.h"
#include "runtime/private_copies.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 31;
// A chunk should last this long, so that handing it to another thread pays.
constexpr double kChunkNanoseconds = 10000;
// Launches of fewer items tell too little about the cost of one.
constexpr double kMeasuredNanoseconds = 2000;
// What a locked instruction costs where threads meet, beyond a plain one.
constexpr double kLockNanoseconds = 15;

// Ranges of whole groups of lanes, where there are enough items: what is left of a group runs item by item.
int64_t whole_groups(int64_t items) {
    constexpr int64_t kWide = 64;
    constexpr int64_t kNarrow = 16;
    const int64_t group = items >= kWide ? kWide : items >= kNarrow ? kNarrow : 1;
    return (items + group - 1) / group * group;
}

int64_t grain_of(const Code& code, int64_t items, int threads) {
    const float cost = code.item_cost.load(std::memory_order_relaxed);
    const int64_t even = std::max<int64_t>(1, items / (int64_t{threads} * 4));
    if (cost <= 0) return whole_groups(std::max<int64_t>(even, 256));
    return whole_groups(std::max(even, static_cast<int64_t>(kChunkNanoseconds / cost) + 1));
}

// As many items at least, in whole blocks where the code wants these.
int64_t whole_blocks(const Code& code, const codegen::LaunchShape& shape, int64_t items) {
    if (!code.runs_blocks()) return items;
    const int64_t size = std::max(1, shape.block_dim);
    return (items + size - 1) / size * size;
}

constexpr int64_t kTriedItems = 1024;

// Launches of fewer items are not asked whether their arrays fit in the caches.
constexpr int64_t kStreamedItems = int64_t{1} << 18;

// A way is judged by the best of so many launches, as the first ones bring memory and caches with them; after these
// by an average, on which a launch that something else disturbed has little weight.
constexpr int kWayTries = 4;
constexpr float kMostWeight = 1.5F;

// Measures the cost of an item while it lives; of no items: nothing.
class Measured {
  public:
    Measured(std::atomic<float>& cost, int64_t items, double threads) : cost_(cost), items_(items), threads_(threads) {}
    Measured(Code::WayCost& way, int64_t items) : cost_(way.cost), items_(items), tries_(&way.tries) {}
    ~Measured() {
        const double elapsed =
            static_cast<double>((std::chrono::steady_clock::now() - start_) / std::chrono::nanoseconds(1));
        if (items_ == 0 || elapsed < kMeasuredNanoseconds) return;
        auto cost = static_cast<float>(elapsed * threads_ / static_cast<double>(items_));
        const float old = cost_.load(std::memory_order_relaxed);
        if (old > 0 && tries_ != nullptr && tries_->fetch_add(1, std::memory_order_relaxed) < kWayTries) {
            cost = std::min(old, cost);
        } else if (old > 0) {
            if (tries_ != nullptr) cost = std::min(cost, kMostWeight * old);
            cost = 0.5F * (old + cost);
        }
        cost_.store(cost, std::memory_order_relaxed);
    }
    Measured(const Measured&) = delete;
    Measured& operator=(const Measured&) = delete;

  private:
    std::atomic<float>& cost_;
    int64_t items_;
    double threads_ = 1;
    std::atomic<int>* tries_ = nullptr;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// How fast a measurement fades that is not renewed: the way not taken is tried again some time, sooner if it is close.
constexpr float kFades = 0.998F;
// What it costs to fill a byte of a private copy with zeros and to add it to the array.
constexpr double kCopyNanoseconds = 0.2;

// All copies of a launch together are no larger.
constexpr int64_t kMostCopyBytes = int64_t{256} << 20;

// How a launch of several threads runs atomics that items share.
enum class Way { OneThread, Locks, Copies };

// Locks and copies may eat what threads gain: by how much depends on who meets where, so all ways are measured.
Way best_way(Code& code, int64_t items, int threads, const PrivateCopies* copies) {
    const float alone = code.item_cost.load(std::memory_order_relaxed);
    const auto guess = [&](const Code::WayCost& way, double more) {
        const float cost = way.cost.load(std::memory_order_relaxed);
        const float hoped = alone / static_cast<float>(threads) + static_cast<float>(more);
        if (cost <= 0) return hoped;
        return way.tries.load(std::memory_order_relaxed) < kWayTries ? std::min(cost, hoped) : cost;
    };
    struct Choice {
        Way way;
        std::atomic<float>* measured;
        float cost;
    };
    std::array<Choice, 3> choices = {
        {{Way::OneThread, &code.item_cost, alone},
         {Way::Locks, &code.together_cost.cost, guess(code.together_cost, kLockNanoseconds * code.shared_atomics())}}};
    size_t count = 2;
    if (copies != nullptr && copies->bytes() <= kMostCopyBytes / (threads - 1)) {
        const double bytes = static_cast<double>(copies->bytes()) * (threads - 1) / threads;
        choices[count++] = {Way::Copies, &code.copies_cost.cost,
                            guess(code.copies_cost, kCopyNanoseconds * bytes / static_cast<double>(items))};
    }
    const auto less = [](const Choice& a, const Choice& b) { return a.cost < b.cost; };
    const Choice* best = std::min_element(choices.begin(), choices.begin() + count, less);
    for (size_t i = 0; i < count; ++i) {
        if (&choices[i] == best) continue;
        choices[i].measured->store(choices[i].measured->load(std::memory_order_relaxed) * kFades,
                                   std::memory_order_relaxed);
    }
    return best->way;
}

// In deterministic mode: the length of the ranges that get private copies. Never depends on threads or on what was
// measured; whole groups of lanes.
int64_t range_length(const Code& code, int64_t items, const PrivateCopies& copies) {
    constexpr int64_t kMostRanges = 64;
    constexpr int64_t kLeastItems = 256;
    // Bytes of copies that an update of a number may bring with it: they cost about a quarter of it.
    constexpr int64_t kUpdateBytes = 2;
    const int64_t work = items * kUpdateBytes * std::max<int64_t>(code.shared_updates(), 1);
    const int64_t bytes = std::max<int64_t>(copies.bytes(), 1);
    const int64_t paid = 1 + std::min(work, kMostCopyBytes) / bytes;
    const int64_t ranges = std::clamp<int64_t>(std::min(paid, items / kLeastItems), 1, kMostRanges);
    return whole_groups((items - 1) / ranges + 1);
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
        if (!elements_apart(parameters[p].type, arguments + parameters[p].offset, extents[p])) return false;
        owned |= uint64_t{1} << p;
    }
    for (size_t p = 0; p < parameters.size(); ++p) {
        if (!parameters[p].access.write || !parameters[p].type.is(ir::TypeKind::Array)) continue;
        if ((owned >> p & 1) == 0) elements_apart(parameters[p].type, arguments + parameters[p].offset, extents[p]);
        for (size_t q = 0; q < parameters.size(); ++q) {
            if (q != p && (owned >> q & 1) != 0 && extents[p].overlaps(extents[q])) return false;
        }
    }
    return true;
}

// Whether some array is only written, and all of them together do not fit in the caches.
bool streams(const Code& code, const std::byte* arguments, int64_t items) {
    if (items < kStreamedItems) return false;
    int64_t bytes = 0;
    bool only_written = false;
    for (const Parameter& p : code.parameters()) {
        if (!p.type.is(ir::TypeKind::Array)) continue;
        Extent extent;
        elements_apart(p.type, arguments + p.offset, extent);
        bytes += extent.end - extent.begin;
        only_written |= p.access.write && !p.access.read;
    }
    return only_written && bytes > cache_bytes();
}

void run_items(Code& code, codegen::KernelEntry entry, const std::byte* arguments, codegen::LaunchShape shape,
               int64_t items) {
    shape.streams = streams(code, arguments, items) ? 1 : 0;
    const bool owned = owns_elements(code, arguments, shape);
    const uint32_t bits = owned ? codegen::kOwnElements : 0U;
    const auto alone = [&](int64_t begin, int64_t end) {
        shape.exclusive = codegen::kOneThread | bits;
        const Measured measured(code.item_cost, end - begin, 1);
        entry(arguments, &shape, begin, end);
    };
    ThreadPool& pool = Runtime::get().pool();
    const int threads = pool.threads();
    shape.exclusive = bits;
    const bool meet = code.shared_atomics() > 0 || (!owned && !code.own_elements().empty());
    if (code.deterministic() && code.depends_on_order(owned)) {
        auto copies = PrivateCopies::of(code, arguments, owned);
        const int64_t length = copies ? whole_blocks(code, shape, range_length(code, items, *copies)) : items;
        if (length >= items) return alone(0, items);
        return copies->run(pool, entry, shape, 0, items, length, true);
    }
    if (threads == 1) return alone(0, items);
    int64_t done = 0;
    // Whether locks or copies eat what threads gain depends on the cost of an item: tried on some of them first.
    if (meet && code.item_cost.load(std::memory_order_relaxed) <= 0) {
        done = std::min<int64_t>(items, whole_blocks(code, shape, std::max<int64_t>(kTriedItems, items / 64)));
        alone(0, done);
    }
    const int64_t left = items - done;
    if (left == 0) return;
    const int64_t grain = whole_blocks(code, shape, grain_of(code, items, threads));
    if (grain >= left) return alone(done, items);
    const double busy = std::min<double>(threads, static_cast<double>(left) / static_cast<double>(grain));
    const auto together = [&](int64_t begin, int64_t end) { entry(arguments, &shape, done + begin, done + end); };
    shape.exclusive = bits;
    if (!meet) {
        const Measured measured(code.item_cost, left, busy);
        return pool.parallel_for(left, grain, together);
    }
    auto copies = PrivateCopies::of(code, arguments, owned);
    switch (best_way(code, items, threads, copies ? &*copies : nullptr)) {
        case Way::OneThread:
            return alone(done, items);
        case Way::Locks: {
            const Measured measured(code.together_cost, left);
            return pool.parallel_for(left, grain, together);
        }
        case Way::Copies: {
            const Measured measured(code.copies_cost, left);
            return copies->run(pool, entry, shape, done, left, grain, false);
        }
    }
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

bool needs_order(const Code& code, const std::byte* arguments, const codegen::LaunchShape& shape) {
    return code.deterministic() && code.depends_on_order(owns_elements(code, arguments, shape));
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

void run_on_host(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape) {
    const int64_t items = item_count(code, shape);
    codegen::KernelEntry entry = code.ready();
    if (entry == nullptr) entry = code.wait();
    if (items == 0) return;

    run_items(code, entry, arguments, shape, items);

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
        if (!elements_apart(parameters[p].type, arguments + parameters[p].offset, own)) return {&plain};
        for (size_t q = 0; q < parameters.size(); ++q) {
            if (q == p || !parameters[q].type.contains_array()) continue;
            if (!parameters[q].type.is(ir::TypeKind::Array)) return {&plain};
            Extent other;
            elements_apart(parameters[q].type, arguments + parameters[q].offset, other);
            if (own.overlaps(other)) return {&plain};
        }
    }
    return {gathered->main.get(), gathered->rest.get()};
}

}  // namespace weft::runtime
