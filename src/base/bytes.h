// Numbers and texts one after the other, as files of our own have them. Not here: what a file is for, whether it is
// whole (checksum).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace weft {

class ByteWriter {
  public:
    template <typename Number>
        requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    ByteWriter& add(Number number) {
        out_.append(reinterpret_cast<const char*>(&number), sizeof number);
        return *this;
    }
    ByteWriter& add(std::string_view text) {
        add(static_cast<uint32_t>(text.size()));
        out_ += text;
        return *this;
    }
    std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

// Throws InternalError where there is less than is asked for.
class ByteReader {
  public:
    explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

    template <typename Number>
        requires std::is_arithmetic_v<Number> || std::is_enum_v<Number>
    Number number() {
        Number out;
        take(sizeof out).copy(reinterpret_cast<char*>(&out), sizeof out);
        return out;
    }
    // Lies in the bytes that are read.
    std::string_view text() { return take(number<uint32_t>()); }
    bool done() const { return bytes_.empty(); }

  private:
    std::string_view take(size_t size) {
        if (size > bytes_.size()) throw InternalError("a file is cut short");
        const std::string_view out = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return out;
    }

    std::string_view bytes_;
};

// Tells damaged bytes, not forged ones.
inline uint64_t checksum(std::string_view bytes) {
    constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;
    uint64_t lanes[4] = {1, 2, 3, 4};
    const auto mix = [](uint64_t sum, uint64_t word) {
        sum = (sum ^ word) * kPrime;
        return sum ^ (sum >> 29);
    };
    size_t at = 0;
    for (; at + 32 <= bytes.size(); at += 32) {
        for (size_t lane = 0; lane < 4; ++lane) {
            uint64_t word = 0;
            std::memcpy(&word, bytes.data() + at + (8 * lane), 8);
            lanes[lane] = mix(lanes[lane], word);
        }
    }
    uint64_t sum = bytes.size();
    for (const uint64_t lane : lanes) sum = mix(sum, lane);
    for (; at < bytes.size(); ++at) sum = mix(sum, static_cast<unsigned char>(bytes[at]));
    return sum;
}

}  // namespace weft
