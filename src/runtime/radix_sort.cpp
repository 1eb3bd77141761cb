// Keys become unsigned numbers that sort as the keys do. A pass counts the digits of each part of the pairs, tells each
// part where its pairs of each digit go, and moves them: parts side by side, in each part in order.
#include "runtime/radix_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/cpu/host_memory.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr int kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;
constexpr int64_t kPart = int64_t{1} << 15;  // pairs that are worth a thread
constexpr int64_t kFew = 64;                 // up to here pairs are inserted one by one

using Counts = std::array<int64_t, kDigits>;

// Of positive keys the sign is flipped, and of negative floats all bits.
template <typename Key>
struct Order {
    static constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
    Key positive;
    Key negative;

    explicit Order(ir::Scalar type)
        : positive(ir::is_float(type) || ir::is_signed_int(type) ? kSign : 0),
          negative(ir::is_float(type) ? ~Key{0} : positive) {}
    Key sortable(Key bits) const { return bits ^ ((bits & kSign) != 0 ? negative : positive); }
    Key original(Key bits) const { return bits ^ ((bits & kSign) != 0 ? positive : negative); }
};

template <typename Key, typename Value>
struct Pair {
    Key key;
    Value value;
};

// Memory that is not set to anything, of the host's pool.
template <typename T>
class Scratch {
  public:
    explicit Scratch(int64_t count)
        : bytes_(count * static_cast<int64_t>(sizeof(T))), data_(static_cast<T*>(allocate_on_host(bytes_, false))) {}
    ~Scratch() { release_on_host(data_, bytes_); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    T* data() const { return data_; }

  private:
    int64_t bytes_;
    T* data_;
};

struct Digit {
    int shift;
    uint64_t mask;

    template <typename Key>
    size_t of(Key key) const {
        return static_cast<size_t>((key >> shift) & static_cast<Key>(mask));
    }
};

// Calls work(part, begin, end) for the parts of [0, count), side by side.
template <typename Work>
void by_parts(int64_t count, int64_t parts, const Work& work) {
    Runtime::get().pool().parallel_for(parts, 1, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part) work(part, count * part / parts, count * (part + 1) / parts);
    });
}

template <typename P>
void insertion_sort(P* pairs, int64_t count, const Digit& all) {
    for (int64_t i = 1; i < count; ++i) {
        const P moved = pairs[i];
        int64_t at = i;
        for (; at > 0 && all.of(pairs[at - 1].key) > all.of(moved.key); --at) pairs[at] = pairs[at - 1];
        pairs[at] = moved;
    }
}

// Whether anything moved: not where all pairs have one digit.
template <typename P>
bool pass(const P* from, P* to, int64_t count, std::vector<Counts>& counts, Digit digit) {
    const auto parts = static_cast<int64_t>(counts.size());
    by_parts(count, parts, [&, digit](int64_t part, int64_t begin, int64_t end) {
        Counts mine{};
        for (int64_t i = begin; i < end; ++i) ++mine[digit.of(from[i].key)];
        counts[static_cast<size_t>(part)] = mine;
    });
    int64_t start = 0;
    for (size_t d = 0; d < kDigits; ++d) {
        const int64_t before = start;
        for (Counts& mine : counts) start += std::exchange(mine[d], start);
        if (start - before == count) return false;
    }
    by_parts(count, parts, [&, digit](int64_t part, int64_t begin, int64_t end) {
        Counts mine = counts[static_cast<size_t>(part)];
        for (int64_t i = begin; i < end; ++i) to[mine[digit.of(from[i].key)]++] = from[i];
    });
    return true;
}

template <typename Key, typename Value>
class Sorter {
  public:
    Sorter(std::byte* keys, ir::Scalar type, std::byte* values, int begin_bit, int end_bit)
        : keys_(keys), values_(values), order_(type), begin_bit_(begin_bit), end_bit_(end_bit) {}

    void sort(const PairRange& range) const {
        const int64_t count = range.count;
        const Scratch<P> first(count);
        const Scratch<P> second(count);
        P* pairs = first.data();
        P* aside = second.data();
        const int64_t parts = std::clamp<int64_t>(count / kPart, 1, 4 * int64_t{Runtime::get().pool().threads()});
        by_parts(count, parts, [&](int64_t, int64_t begin, int64_t end) { read(range.begin, pairs, begin, end); });
        if (count <= kFew) {
            const int bits = end_bit_ - begin_bit_;
            insertion_sort(pairs, count, {begin_bit_, bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1});
        } else {
            std::vector<Counts> counts(static_cast<size_t>(parts));
            for (int bit = begin_bit_; bit < end_bit_; bit += kDigitBits) {
                const Digit digit{bit, (uint64_t{1} << std::min(kDigitBits, end_bit_ - bit)) - 1};
                if (pass(pairs, aside, count, counts, digit)) std::swap(pairs, aside);
            }
        }
        by_parts(count, parts, [&](int64_t, int64_t begin, int64_t end) { write(range.begin, pairs, begin, end); });
    }

  private:
    using P = Pair<Key, Value>;

    void read(int64_t at, P* pairs, int64_t begin, int64_t end) const {
        for (int64_t i = begin; i < end; ++i) {
            std::memcpy(&pairs[i].key, keys_ + (at + i) * kKeySize, sizeof(Key));
            std::memcpy(&pairs[i].value, values_ + (at + i) * kValueSize, sizeof(Value));
            pairs[i].key = order_.sortable(pairs[i].key);
        }
    }
    void write(int64_t at, const P* pairs, int64_t begin, int64_t end) const {
        for (int64_t i = begin; i < end; ++i) {
            const Key key = order_.original(pairs[i].key);
            std::memcpy(keys_ + (at + i) * kKeySize, &key, sizeof(Key));
            std::memcpy(values_ + (at + i) * kValueSize, &pairs[i].value, sizeof(Value));
        }
    }

    static constexpr auto kKeySize = static_cast<int64_t>(sizeof(Key));
    static constexpr auto kValueSize = static_cast<int64_t>(sizeof(Value));
    std::byte* keys_;
    std::byte* values_;
    Order<Key> order_;
    int begin_bit_;
    int end_bit_;
};

template <typename Key>
void sort_by(std::byte* keys, ir::Scalar type, std::byte* values, int64_t value_size, std::span<const PairRange> ranges,
             int begin_bit, int end_bit) {
    const auto each = [&](const auto& sorter) {
        // Ranges side by side, large ones by several threads.
        Runtime::get().pool().parallel_for(static_cast<int64_t>(ranges.size()), 0, [&](int64_t first, int64_t last) {
            for (int64_t k = first; k < last; ++k) {
                if (ranges[static_cast<size_t>(k)].count > 1) sorter.sort(ranges[static_cast<size_t>(k)]);
            }
        });
    };
    if (value_size == 4) {
        each(Sorter<Key, uint32_t>(keys, type, values, begin_bit, end_bit));
    } else {
        each(Sorter<Key, uint64_t>(keys, type, values, begin_bit, end_bit));
    }
}

}  // namespace

void radix_sort(std::byte* keys, ir::Scalar key_type, std::byte* values, int64_t value_size,
                std::span<const PairRange> ranges, int begin_bit, int end_bit) {
    WEFT_CHECK(value_size == 4 || value_size == 8, "values of another size than 4 or 8 bytes");
    if (begin_bit >= end_bit) return;
    if (ir::scalar_bits(key_type) == 32) {
        sort_by<uint32_t>(keys, key_type, values, value_size, ranges, begin_bit, end_bit);
    } else {
        WEFT_CHECK(ir::scalar_bits(key_type) == 64, "keys of a type that is not sorted");
        sort_by<uint64_t>(keys, key_type, values, value_size, ranges, begin_bit, end_bit);
    }
}

}  // namespace weft::runtime
