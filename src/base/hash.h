// SHA-256 (FIPS 180-4): the content address of IR texts and cached images.
// A cryptographic hash, so that two different kernels never share a cache entry.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

class Hasher {
  public:
    Hasher& add(std::string_view bytes);
    // Adds a length-prefixed field, so that ("ab", "c") and ("a", "bc") differ.
    Hasher& add_field(std::string_view bytes);
    // The 64 hexadecimal digits of everything added so far. The hasher is spent afterwards.
    std::string hex();

  private:
    void block(const unsigned char* data);

    std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<unsigned char, 64> pending_{};
    size_t pending_size_ = 0;
    uint64_t total_ = 0;
};

std::string sha256(std::string_view bytes);

}  // namespace weft
