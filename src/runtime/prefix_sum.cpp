// In blocks, each of which a thread adds up, and then goes through again while it lies in the thread's own cache: what
// the numbers before the block sum up to comes from the thread that has the block before. Floats are summed in double
// precision, in an order that depends on the array's length alone; integers wrap.
#include "runtime/prefix_sum.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "runtime/cpu/cache_size.h"
#include "runtime/cpu/wide.h"
#include "runtime/overlaps.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int64_t kBlock = int64_t{1} << 15;
constexpr int kSpins = 1000;

// Integers as unsigned ones, which wrap.
template <typename T, bool kFloats = std::is_floating_point_v<T>>
struct SumOf {
    using type = double;
};
template <typename T>
struct SumOf<T, false> {
    using type = std::make_unsigned_t<T>;
};

template <typename T>
class Scan {
  public:
    Scan(const Numbers<T>& in, const Numbers<T>& out, int64_t count, bool inclusive)
        : in_(in), out_(out), count_(count), inclusive_(inclusive), befores_(static_cast<size_t>(blocks())) {
        befores_[0].known.store(true, std::memory_order_relaxed);
    }

    void run() {
        const bool dense = in_.are_dense() && out_.are_dense();
        const bool large = 2 * count_ * static_cast<int64_t>(sizeof(T)) > cache_bytes();
        if (dense && large && in_.data != out_.data && out_.are_aligned()) return run_as<Store::PastCaches>();
        return dense ? run_as<Store::Dense>() : run_as<Store::Strided>();
    }

  private:
    using Sum = typename SumOf<T>::type;

    // What the numbers before a block sum up to.
    struct alignas(64) Before {
        std::atomic<bool> known = false;
        Sum sum{};
    };

    static constexpr bool is_dense(Store store) { return store != Store::Strided; }
    int64_t blocks() const { return (count_ - 1) / kBlock + 1; }

    template <Store kStore>
    void run_as() {
        // In this order: a block that waits for another one waits for a thread that is at work.
        Runtime::get().pool().parallel_for(blocks(), 1, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) {
                run_widest([&, k](auto bytes) { run_block<kStore, decltype(bytes)::value>(k); });
            }
        });
    }

    template <Store kStore, size_t kBytes>
    [[gnu::always_inline]] void run_block(int64_t k) {
        const int64_t begin = k * kBlock;
        const int64_t end = std::min(count_, begin + kBlock);
        Before* const next = end < count_ ? &befores_[static_cast<size_t>(k) + 1] : nullptr;
        const Sum sum = next != nullptr ? sum_of<kStore, kBytes>(begin, end) : Sum{};
        const Before& before = befores_[static_cast<size_t>(k)];
        wait_for(before);
        if (next != nullptr) {
            next->sum = before.sum + sum;
            next->known.store(true, std::memory_order_release);
        }
        if (inclusive_) {
            scan<kStore, kBytes, true>(begin, end, before.sum);
        } else {
            scan<kStore, kBytes, false>(begin, end, before.sum);
        }
        if (kStore == Store::PastCaches) order_stores();
    }

    static void wait_for(const Before& before) {
        for (int spins = 0; !before.known.load(std::memory_order_acquire); ++spins) {
            if (spins >= kSpins) std::this_thread::yield();
        }
    }

    template <Store kStore, size_t kBytes>
    [[gnu::always_inline]] Sum sum_of(int64_t begin, int64_t end) const {
        return sum_range<Sum, kBytes>(
            begin, end,
            [this](auto& sums, int64_t i)
                __attribute__((always_inline)) { sums += Group<Sum, kBytes>::template load<is_dense(kStore)>(in_, i); },
            [this](int64_t i) { return static_cast<Sum>(in_.read(i)); });
    }

    template <Store kStore, size_t kBytes, bool kInclusive>
    [[gnu::always_inline]] void scan(int64_t begin, int64_t end, Sum before) const {
        using G = Group<Sum, kBytes>;
        constexpr auto kNumbers = static_cast<int64_t>(G::kNumbers);
        G carried = G::all(before);
        int64_t i = begin;
        for (; i + kNumbers <= end; i += kNumbers) {
            const G sums = G::template load<is_dense(kStore)>(in_, i).prefix_sums();
            G written = carried;
            if constexpr (kInclusive) {
                written += sums;
            } else {
                written += sums.shifted();
            }
            written.template store<kStore>(out_, i);
            carried += sums.all_last();
        }
        Sum sum = carried.last();
        for (; i < end; ++i) {
            const Sum next = sum + static_cast<Sum>(in_.read(i));
            out_.write(i, static_cast<T>(kInclusive ? next : sum));
            sum = next;
        }
    }

    Numbers<T> in_;
    Numbers<T> out_;
    int64_t count_;
    bool inclusive_;
    std::vector<Before> befores_;
};

template <typename T>
void scan_of(const Array& in, const Array& out, bool inclusive) {
    const int parts = in.element().is_scalar() ? 1 : in.element().part_count();
    for (int part = 0; part < parts; ++part) {
        const int64_t offset = part * static_cast<int64_t>(sizeof(T));
        const Numbers<T> from{in.data() + offset, in.strides()[0]};
        const Numbers<T> to{out.data() + offset, out.strides()[0]};
        Scan<T>(from, to, in.shape()[0], inclusive).run();
    }
}

// The input, or a copy where it would be overwritten at other places than those that have been read.
Array kept_input(const Array& in, const Array& out) {
    if (in.data() == out.data() && in.strides()[0] == out.strides()[0]) return in;
    return readable_beside(in, {&out});
}

}  // namespace

void prefix_sums(const Array& from, const Array& out, bool inclusive) {
    if (from.size() == 0) return;
    const Array in = kept_input(from, out);
    switch (in.element().element()) {
        case ir::Scalar::I32:
            return scan_of<int32_t>(in, out, inclusive);
        case ir::Scalar::I64:
            return scan_of<int64_t>(in, out, inclusive);
        case ir::Scalar::F32:
            return scan_of<float>(in, out, inclusive);
        case ir::Scalar::F64:
            return scan_of<double>(in, out, inclusive);
        default:
            throw InternalError("a prefix sum of a type that has none");
    }
}

}  // namespace weft::runtime
