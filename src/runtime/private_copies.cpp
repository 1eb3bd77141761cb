#include "runtime/private_copies.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "ir/layout.h"
#include "runtime/cpu/host_memory.h"
#include "runtime/extents.h"

namespace weft::runtime {
namespace {

constexpr int64_t kLine = 64;                      // bytes: copies of two threads share none
constexpr int64_t kMergeGrain = int64_t{1} << 15;  // numbers

// Memory of arrays: what a launch takes the next one finds again, its pages included.
struct Release {
    int64_t bytes = 0;
    void operator()(std::byte* memory) const { release_on_host(memory, bytes); }
};

// The argument block of a range, and the copies that it points to. The first range adds to the arrays themselves.
class Slot {
  public:
    bool used() const { return block_ != nullptr; }
    const std::byte* block() const { return block_.get(); }
    const std::byte* copies() const { return copies_.get(); }

    void prepare(const std::byte* arguments, int64_t block_bytes, int64_t bytes) {
        block_ = take(block_bytes);
        std::memcpy(block_.get(), arguments, static_cast<size_t>(block_bytes));
        if (bytes == 0) return;
        copies_ = take(bytes);
        std::memset(copies_.get(), 0, static_cast<size_t>(bytes));  // here, so that it is in this thread's cache
    }
    void point(int64_t descriptor, int64_t copy, int64_t into) {
        const std::byte* data = copies_.get() + copy + into;
        std::memcpy(block_.get() + descriptor, static_cast<const void*>(&data), sizeof(data));
    }

  private:
    using Memory = std::unique_ptr<std::byte, Release>;
    static Memory take(int64_t bytes) {
        return Memory(static_cast<std::byte*>(allocate_on_host(bytes, false)), Release{bytes});
    }

    Memory block_;
    Memory copies_;
};

template <typename T>
void add(std::byte* to, const std::byte* from, int64_t begin, int64_t end) {
    auto* sums = reinterpret_cast<T*>(to);
    const auto* more = reinterpret_cast<const T*>(from);
    for (int64_t i = begin; i < end; ++i) sums[i] += more[i];
}

// Where all arrays of a value lie; false where that cannot be told.
bool find_extents(ir::Type type, const std::byte* place, std::vector<Extent>& out) {
    if (!type.contains_array()) return true;
    if (type.is(ir::TypeKind::Array)) {
        out.emplace_back();
        elements_apart(type, place, out.back());
        return !type.target().contains_array();
    }
    for (int i = 0; i < type.part_count(); ++i) {
        if (!find_extents(type.part(i), place + ir::offset_of(type, i), out)) return false;
    }
    return true;
}

bool is_summed(ir::Type element) {
    return (element.is_scalar() || element.is_uniform()) && element.has_float_elements() &&
           element.element() != ir::Scalar::F16;
}

}  // namespace

std::optional<PrivateCopies> PrivateCopies::of(const Code& code, const std::byte* arguments, bool owned) {
    PrivateCopies out(arguments, code.block_bytes());
    const auto& parameters = code.parameters();
    std::vector<Extent> others;
    std::vector<Extent> targets;
    const auto is_own = [&](size_t p) {
        const auto same = [&](const opt::OwnElements& own) { return static_cast<size_t>(own.parameter) == p; };
        return owned && std::ranges::any_of(code.own_elements(), same);
    };
    for (size_t p = 0; p < parameters.size(); ++p) {
        const Parameter& parameter = parameters[p];
        const std::byte* place = arguments + parameter.offset;
        const bool shared = (parameter.access.sum || parameter.access.other_atomic) && !is_own(p);
        if (!shared) {
            if (!find_extents(parameter.type, place, others)) return {};
            continue;
        }
        if (parameter.access.other_atomic || parameter.access.plain || !parameter.type.is(ir::TypeKind::Array))
            return {};
        const ir::Type element = parameter.type.target();
        if (!is_summed(element)) return {};
        Extent extent;
        if (!elements_apart(parameter.type, place, extent)) return {};
        if (extent.begin == nullptr) continue;
        int64_t bytes = ir::size_of(element);
        for (int d = 0; d < parameter.type.ndim(); ++d) {
            int64_t size = 0;
            std::memcpy(&size, place + ir::descriptor_shape_offset(d), sizeof(size));
            bytes *= size;
        }
        if (bytes != extent.end - extent.begin) return {};
        const bool wide = element.element() == ir::Scalar::F64;
        if (reinterpret_cast<uintptr_t>(extent.begin) % (wide ? 8 : 4) != 0) return {};
        out.targets_.push_back({parameter.offset, const_cast<std::byte*>(extent.begin), bytes, out.bytes_, wide});
        out.bytes_ += ir::align_up(bytes, kLine);
        targets.push_back(extent);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
        const auto meets = [&](const Extent& other) { return targets[i].overlaps(other); };
        if (std::ranges::any_of(others, meets)) return {};
        if (std::any_of(targets.begin() + static_cast<std::ptrdiff_t>(i) + 1, targets.end(), meets)) return {};
    }
    return out;
}

void PrivateCopies::run(ThreadPool& pool, codegen::KernelEntry entry, codegen::LaunchShape shape, int64_t first,
                        int64_t n, int64_t grain, bool in_order) {
    shape.exclusive |= codegen::kOneThread;
    const int64_t ranges = (n - 1) / grain + 1;
    std::vector<Slot> slots(static_cast<size_t>(in_order ? ranges : std::min<int64_t>(ranges, pool.threads())));
    std::mutex mutex;
    std::vector<size_t> free(slots.size());
    for (size_t i = 0; i < free.size(); ++i) free[i] = free.size() - 1 - i;
    pool.parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        size_t mine = 0;
        if (in_order) {
            mine = static_cast<size_t>(begin / grain);
        } else {
            const std::lock_guard lock(mutex);
            mine = free.back();
            free.pop_back();
        }
        Slot& slot = slots[mine];
        if (!slot.used()) {
            slot.prepare(arguments_, block_bytes_, mine == 0 ? 0 : bytes_);
            for (const Target& target : targets_) {
                const std::byte* data = nullptr;
                std::memcpy(static_cast<void*>(&data), arguments_ + target.offset, sizeof(data));
                if (mine != 0) slot.point(target.offset, target.place, data - target.begin);
            }
        }
        entry(slot.block(), &shape, first + begin, first + end);
        if (in_order) return;
        const std::lock_guard lock(mutex);
        free.push_back(mine);
    });
    for (const Target& target : targets_) {
        const int64_t numbers = target.bytes / (target.wide ? 8 : 4);
        pool.parallel_for(numbers, kMergeGrain, [&](int64_t begin, int64_t end) {
            for (const Slot& slot : slots) {
                if (slot.copies() == nullptr) continue;
                const std::byte* from = slot.copies() + target.place;
                target.wide ? add<double>(target.begin, from, begin, end) : add<float>(target.begin, from, begin, end);
            }
        });
    }
}

}  // namespace weft::runtime
