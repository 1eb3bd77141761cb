// Keys become unsigned numbers that sort as the keys do. All digits are counted in one reading, and those that all keys
// share are skipped. A pass tells each part of the pairs where its pairs of each digit go, and moves them: parts side
// by side, in each part in order. The first pass reads the arrays, the last one writes them.
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

// Numbers of an array of the user's.
template <typename T>
struct Place {
    std::byte* data;

    T read(int64_t i) const {
        T value;
        std::memcpy(&value, address(i), sizeof(T));
        return value;
    }
    void write(int64_t i, T value) const { std::memcpy(address(i), &value, sizeof(T)); }
    std::byte* address(int64_t i) const { return data + i * static_cast<int64_t>(sizeof(T)); }
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

// For writing: a store that finds no line of its place holds up all after it.
inline void prefetch_line_after(const void* place) { __builtin_prefetch(static_cast<const std::byte*>(place) + 64, 1); }

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

template <typename Key, typename Value>
class Sorter {
  public:
    Sorter(std::byte* keys, ir::Scalar type, std::byte* values, int begin_bit, int end_bit)
        : keys_{keys}, values_{values}, order_(type), all_bits_(digit(begin_bit, end_bit - begin_bit)) {
        int bit = begin_bit;
        for (Digit& made : digits_) {
            made = bit < end_bit ? digit(bit, std::min(kDigitBits, end_bit - bit)) : Digit{0, 0};
            bit += kDigitBits;
        }
    }

    void sort(const PairRange& range) const {
        const Arrays arrays{{keys_.address(range.begin)}, {values_.address(range.begin)}, order_};
        if (range.count <= kFew) {
            std::array<P, kFew> pairs;
            for (int64_t i = 0; i < range.count; ++i) pairs[static_cast<size_t>(i)] = arrays.read(i);
            insertion_sort(pairs.data(), range.count, all_bits_);
            for (int64_t i = 0; i < range.count; ++i) arrays.write(i, pairs[static_cast<size_t>(i)]);
        } else {
            sort_by_digits(arrays, range.count);
        }
    }

  private:
    using P = Pair<Key, Value>;
    static constexpr size_t kMostDigits = sizeof(Key);

    struct Arrays {
        Place<Key> keys;
        Place<Value> values;
        Order<Key> order;

        Key key(int64_t i) const { return order.sortable(keys.read(i)); }
        P read(int64_t i) const { return {key(i), values.read(i)}; }
        void write(int64_t i, const P& pair) const {
            keys.write(i, order.original(pair.key));
            values.write(i, pair.value);
        }
        void prefetch_after(int64_t i) const {
            prefetch_line_after(keys.address(i));
            prefetch_line_after(values.address(i));
        }
    };

    struct Pairs {
        P* data;

        Key key(int64_t i) const { return data[i].key; }
        const P& read(int64_t i) const { return data[i]; }
        void write(int64_t i, const P& pair) const { data[i] = pair; }
        void prefetch_after(int64_t i) const { prefetch_line_after(data + i); }
    };

    static Digit digit(int shift, int bits) { return {shift, bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1}; }

    void sort_by_digits(const Arrays& arrays, int64_t count) const {
        const int threads = Runtime::get().pool().threads();
        const int64_t parts = threads == 1 ? 1 : std::clamp<int64_t>(count / kPart, 1, 4 * int64_t{threads});
        std::vector<std::vector<Counts>> counts(digits_.size(), std::vector<Counts>(static_cast<size_t>(parts)));
        by_parts(count, parts, [&](int64_t part, int64_t begin, int64_t end) {
            count_all(arrays, begin, end, [&](size_t d) -> Counts& { return counts[d][static_cast<size_t>(part)]; });
        });
        std::vector<size_t> differing;
        for (size_t d = 0; d < digits_.size(); ++d) {
            if (!share_digit(counts[d], count)) differing.push_back(d);
        }
        if (differing.empty()) return;
        const Scratch<P> first(count);
        const Scratch<P> second(differing.size() > 2 ? count : 0);
        Pairs pairs{first.data()};
        Pairs aside{second.data()};
        move(arrays, pairs, count, counts[differing[0]], digits_[differing[0]]);
        for (size_t k = 1; k < differing.size(); ++k) {
            std::vector<Counts>& mine = counts[differing[k]];
            const Digit by = digits_[differing[k]];
            if (parts > 1) count_digits(pairs, count, mine, by);
            if (k + 1 == differing.size()) return move(pairs, arrays, count, mine, by);
            move(pairs, aside, count, mine, by);
            std::swap(pairs, aside);
        }
        by_parts(count, parts, [&](int64_t, int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) arrays.write(i, pairs.read(i));
        });
    }

    template <typename CountsOf>
    void count_all(const Arrays& arrays, int64_t begin, int64_t end, const CountsOf& counts_of) const {
        const Arrays from = arrays;
        const std::array<Digit, kMostDigits> digits = digits_;
        std::array<Counts, kMostDigits> mine{};
        for (int64_t i = begin; i < end; ++i) {
            const Key key = from.key(i);
#pragma GCC unroll 8
            for (size_t d = 0; d < kMostDigits; ++d) ++mine[d][digits[d].of(key)];
        }
        for (size_t d = 0; d < kMostDigits; ++d) counts_of(d) = mine[d];
    }

    static bool share_digit(const std::vector<Counts>& counts, int64_t count) {
        for (size_t d = 0; d < kDigits; ++d) {
            int64_t of_all = 0;
            for (const Counts& mine : counts) of_all += mine[d];
            if (of_all != 0) return of_all == count;
        }
        return true;
    }

    static void count_digits(const Pairs& pairs, int64_t count, std::vector<Counts>& counts, Digit digit) {
        by_parts(count, static_cast<int64_t>(counts.size()), [&, digit](int64_t part, int64_t begin, int64_t end) {
            Counts mine{};
            for (int64_t i = begin; i < end; ++i) ++mine[digit.of(pairs.key(i))];
            counts[static_cast<size_t>(part)] = mine;
        });
    }

    // `counts` become places.
    template <typename From, typename To>
    static void move(const From& from, const To& to, int64_t count, std::vector<Counts>& counts, Digit digit) {
        int64_t start = 0;
        for (size_t d = 0; d < kDigits; ++d) {
            for (Counts& mine : counts) start += std::exchange(mine[d], start);
        }
        by_parts(count, static_cast<int64_t>(counts.size()),
                 [&, from, to, digit](int64_t part, int64_t begin, int64_t end) {
                     Counts places = counts[static_cast<size_t>(part)];
                     for (int64_t i = begin; i < end; ++i) {
                         const P pair = from.read(i);
                         const int64_t place = places[digit.of(pair.key)]++;
                         to.write(place, pair);
                         to.prefetch_after(place);
                     }
                 });
    }

    Place<Key> keys_;
    Place<Value> values_;
    Order<Key> order_;
    Digit all_bits_;
    std::array<Digit, kMostDigits> digits_;  // beyond the last bit all keys have the digit 0
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
