#include "base/hash.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace weft {
namespace {

constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__x86_64__)
// Most processors have instructions for it: hashing the text of a program's files is much of a start from the cache.
bool has_instructions() {
    static const bool has = [] {
        unsigned a = 0;
        unsigned b = 0;
        unsigned c = 0;
        unsigned d = 0;
        constexpr unsigned kSha = 1U << 29;
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
    }();
    return has;
}

// The instructions take the state as (a, b, e, f) and (c, d, g, h), highest first, and do two rounds each.
__attribute__((target("sha,sse4.1"))) void block_by_instructions(std::array<uint32_t, 8>& state,
                                                                 const unsigned char* data) {
    const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
    const __m128i dcba = load(state.data());
    const __m128i hgfe = load(state.data() + 4);
    const __m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);
    const __m128i abef_before = _mm_alignr_epi8(cdab, efgh, 8);
    const __m128i cdgh_before = _mm_blend_epi16(efgh, cdab, 0xf0);
    __m128i abef = abef_before;
    __m128i cdgh = cdgh_before;
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i w[4];
    for (size_t i = 0; i < 16; ++i) {
        __m128i& now = w[i % 4];
        if (i < 4) {
            now = _mm_shuffle_epi8(load(data + 16 * i), big_endian);
        } else {
            const __m128i seven = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
            now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) % 4]), seven), w[(i + 3) % 4]);
        }
        const __m128i add = _mm_add_epi32(now, load(kRound.data() + 4 * i));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, add);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(add, 0x0e));
    }
    const __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

void Hasher::block(const unsigned char* data) {
#if defined(__x86_64__)
    if (has_instructions()) return block_by_instructions(state_, data);
#endif
    std::array<uint32_t, 64> w;
    for (size_t i = 0; i < 16; ++i) {
        w[i] = static_cast<uint32_t>(data[4 * i]) << 24 | static_cast<uint32_t>(data[4 * i + 1]) << 16 |
               static_cast<uint32_t>(data[4 * i + 2]) << 8 | data[4 * i + 3];
    }
    for (size_t i = 16; i < 64; ++i) {
        const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
        const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < 64; ++i) {
        const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
        const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<uint32_t, 8> add = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) state_[i] += add[i];
}

Hasher& Hasher::add(std::string_view bytes) {
    total_ += bytes.size();
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    size_t size = bytes.size();
    while (size > 0) {
        if (pending_size_ == 0 && size >= 64) {
            block(data);
            data += 64;
            size -= 64;
            continue;
        }
        const size_t take = std::min(size, 64 - pending_size_);
        std::memcpy(pending_.data() + pending_size_, data, take);
        pending_size_ += take;
        data += take;
        size -= take;
        if (pending_size_ == 64) {
            block(pending_.data());
            pending_size_ = 0;
        }
    }
    return *this;
}

Hasher& Hasher::add_field(std::string_view bytes) {
    const uint64_t size = bytes.size();
    std::array<char, 8> prefix;
    std::memcpy(prefix.data(), &size, 8);
    return add({prefix.data(), 8}).add(bytes);
}

std::string Hasher::hex() {
    const uint64_t bits = total_ * 8;
    add("\x80");
    while (pending_size_ != 56) add(std::string_view("\0", 1));
    std::array<char, 8> length;
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
    add({length.data(), 8});
    std::string out;
    for (const uint32_t word : state_) {
        for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[(word >> shift) & 15];
    }
    return out;
}

std::string sha256(std::string_view bytes) { return Hasher().add(bytes).hex(); }

}  // namespace weft
