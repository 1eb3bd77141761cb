// Loops over numbers by vectors, compiled for each instruction set that the processor may have. Numbers come in groups
// of 64 bytes whatever a vector's width is, and products are not fused with sums (cmake/libweft.cmake), so that all
// processors compute the same bits.
// Vectors are passed by reference: how values are passed depends on the instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weft::runtime {

constexpr size_t kGroupBytes = 64;

// Numbers of one component of an array's elements, from some place on.
template <typename T>
struct Numbers {
    std::byte* data;
    int64_t stride;

    [[gnu::always_inline]] T read(int64_t i) const {
        T value;
        std::memcpy(&value, data + i * stride, sizeof(T));
        return value;
    }
    [[gnu::always_inline]] void write(int64_t i, T value) const { std::memcpy(data + i * stride, &value, sizeof(T)); }
    bool are_dense() const { return stride == static_cast<int64_t>(sizeof(T)); }
    bool are_aligned() const { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }
};

enum class Store : uint8_t { Strided, Dense, PastCaches };

// `to` is aligned to 16 bytes.
template <size_t kBytes>
[[gnu::always_inline]] inline void copy_past_caches(std::byte* to, const std::byte* from) {
#if defined(__SSE2__)
    static_assert(kBytes % sizeof(__m128i) == 0);
#pragma GCC unroll 8
    for (size_t k = 0; k < kBytes; k += sizeof(__m128i)) {
        __m128i part;
        std::memcpy(&part, from + k, sizeof part);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + k), part);
    }
#else
    std::memcpy(to, from, kBytes);
#endif
}

// Other threads see stores past the caches before what this one stores next.
inline void order_stores() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

template <typename T, size_t kLanes>
struct VectorOf {
    using type [[gnu::vector_size(kLanes * sizeof(T))]] = T;
};
template <typename T, size_t kLanes>
using Vector = typename VectorOf<T, kLanes>::type;

// A group of numbers in vectors of kBytes.
template <typename T, size_t kBytes>
struct Group {
    static constexpr size_t kNumbers = kGroupBytes / sizeof(T);
    static constexpr size_t kLanes = kBytes / sizeof(T);
    static constexpr size_t kParts = kNumbers / kLanes;

    using Lanes = Vector<T, kLanes>;

    std::array<Lanes, kParts> parts{};

    [[gnu::always_inline]] static Group all(T value) {
        Group out;
        Lanes lanes{value};
        spread<0>(lanes, lanes, std::make_index_sequence<kLanes>());
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) out.parts[p] = lanes;
        return out;
    }

    // Of the numbers from the i-th on, whatever their type.
    template <bool kDense, typename From>
    [[gnu::always_inline]] static Group load(const Numbers<From>& from, int64_t i) {
        Group out;
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) {
            const int64_t first = i + static_cast<int64_t>(p * kLanes);
            Vector<From, kLanes> read{};
            if constexpr (kDense) {
                std::memcpy(&read, from.data + first * static_cast<int64_t>(sizeof(From)), sizeof read);
            } else {
#pragma GCC unroll 16
                for (size_t k = 0; k < kLanes; ++k) read[k] = from.read(first + static_cast<int64_t>(k));
            }
            out.parts[p] = __builtin_convertvector(read, Lanes);
        }
        return out;
    }

    template <Store kStore, typename To>
    [[gnu::always_inline]] void store(const Numbers<To>& to, int64_t i) const {
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) {
            const auto written = __builtin_convertvector(parts[p], Vector<To, kLanes>);
            const int64_t first = i + static_cast<int64_t>(p * kLanes);
            std::byte* const place = to.data + first * static_cast<int64_t>(sizeof(To));
            if constexpr (kStore == Store::Strided) {
                for (size_t k = 0; k < kLanes; ++k) to.write(first + static_cast<int64_t>(k), written[k]);
            } else if constexpr (kStore == Store::PastCaches && sizeof written % 16 == 0) {
                copy_past_caches<sizeof written>(place, reinterpret_cast<const std::byte*>(&written));
            } else {
                std::memcpy(place, &written, sizeof written);
            }
        }
    }

    [[gnu::always_inline]] Group& operator+=(const Group& other) {
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) parts[p] += other.parts[p];
        return *this;
    }
    [[gnu::always_inline]] Group& operator*=(const Group& other) {
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) parts[p] *= other.parts[p];
        return *this;
    }
    [[gnu::always_inline]] T last() const { return parts[kParts - 1][kLanes - 1]; }
    // The last number in all places.
    [[gnu::always_inline]] Group all_last() const {
        Group out;
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) {
            spread<kLanes - 1>(out.parts[p], parts[kParts - 1], std::make_index_sequence<kLanes>());
        }
        return out;
    }

    // Moved up by one number, zero below.
    [[gnu::always_inline]] Group shifted() const {
        Group out;
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) {
            const Lanes below = p == 0 ? Lanes{} : parts[p - 1];
            move_up(out.parts[p], below, parts[p], std::make_index_sequence<kLanes>());
        }
        return out;
    }

    // Sums of each number and those before it: of pairs, then of fours, and so on.
    [[gnu::always_inline]] Group prefix_sums() const {
        Group out = *this;
        out.template add_halves<1>();
        return out;
    }

  private:
    using Bits = Vector<std::conditional_t<sizeof(T) == 4, int32_t, int64_t>, kLanes>;

    // Of each 2 * kHalf numbers the last one of the lower half is added to the upper half.
    template <size_t kHalf>
    [[gnu::always_inline]] void add_halves() {
#pragma GCC unroll 8
        for (size_t p = 0; p < kParts; ++p) {
            if constexpr (kHalf < kLanes) {
                add_lower<kHalf>(parts[p], std::make_index_sequence<kLanes>());
            } else if ((p & kHalf / kLanes) != 0) {
                const size_t below = (p & ~(2 * kHalf / kLanes - 1)) + kHalf / kLanes - 1;
                Lanes last;
                spread<kLanes - 1>(last, parts[below], std::make_index_sequence<kLanes>());
                parts[p] += last;
            }
        }
        if constexpr (2 * kHalf < kNumbers) add_halves<2 * kHalf>();
    }

    template <size_t kHalf, size_t... kLane>
    [[gnu::always_inline]] static void add_lower(Lanes& part, std::index_sequence<kLane...>) {
        // A mask, rather than a shuffle with zeros: that would cross lanes.
        constexpr Bits kUpper = {((kLane & kHalf) != 0 ? -1 : 0)...};
        const Lanes lower = __builtin_shufflevector(part, part, ((kLane & ~(2 * kHalf - 1)) + kHalf - 1)...);
        part += reinterpret_cast<Lanes>(reinterpret_cast<Bits>(lower) & kUpper);
    }

    template <size_t kFrom, size_t... kLane>
    [[gnu::always_inline]] static void spread(Lanes& to, const Lanes& from, std::index_sequence<kLane...>) {
        to = __builtin_shufflevector(from, from, (static_cast<void>(kLane), kFrom)...);
    }

    template <size_t... kLane>
    [[gnu::always_inline]] static void move_up(Lanes& to, const Lanes& below, const Lanes& here,
                                               std::index_sequence<kLane...>) {
        to = __builtin_shufflevector(below, here, (kLanes - 1 + kLane)...);
    }
};

// The sum over [begin, end) of number_at(i), of which group_at(sums, i) adds a group's to `sums`; in an order that
// depends on the range alone.
template <typename Sum, size_t kBytes, typename GroupAt, typename NumberAt>
[[gnu::always_inline]] inline Sum sum_range(int64_t begin, int64_t end, const GroupAt& group_at,
                                            const NumberAt& number_at) {
    using G = Group<Sum, kBytes>;
    constexpr auto kNumbers = static_cast<int64_t>(G::kNumbers);
    // Several, since each addition waits for the one before.
    std::array<G, 4> sums{};
    int64_t i = begin;
    for (; i + 4 * kNumbers <= end; i += 4 * kNumbers) {
#pragma GCC unroll 4
        for (size_t k = 0; k < sums.size(); ++k) group_at(sums[k], i + static_cast<int64_t>(k) * kNumbers);
    }
    Sum out{};
    for (; i < end; ++i) out += number_at(i);
    sums[0] += sums[1];
    sums[2] += sums[3];
    sums[0] += sums[2];
    return out + sums[0].prefix_sums().last();
}

template <size_t kBytes>
using VectorBytes = std::integral_constant<size_t, kBytes>;

#if defined(__x86_64__)
template <typename Work>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw"), gnu::flatten]] void run_avx512(const Work& work) {
    work(VectorBytes<64>{});
}
template <typename Work>
[[gnu::target("avx2"), gnu::flatten]] void run_avx2(const Work& work) {
    work(VectorBytes<32>{});
}
#endif

// Calls work(VectorBytes<n>) for the width of this processor's vectors; what it calls is inlined and compiled for them.
template <typename Work>
void run_widest(const Work& work) {
#if defined(__x86_64__)
    static const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    static const bool avx2 = __builtin_cpu_supports("avx2");
    if (avx512) return run_avx512(work);
    if (avx2) return run_avx2(work);
#endif
    work(VectorBytes<16>{});  // every x86-64's, and NEON's
}

}  // namespace weft::runtime
