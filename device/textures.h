// Texture sampling: weft_texture_values_<n>d gives the channels at a place, weft_texture_slopes_<n>d how their sum,
// weighted by `g`, changes with the coordinates (x, y, z) and the level of detail (w).
//
// A texture is {handle, texels, width, height, depth, flags}. On a CPU both addresses are that of the texels: level by
// level, row by row, channels next to each other. On a GPU `handle` is the driver's texture object, which filters in
// hardware with weights of 8 bits; `texels` is the address of one more object for each level that gives single texels,
// from which slopes are computed as on a CPU.
#pragma once

#include "types.h"

// Of a sample little is left once the sizes of these loops are known.
#define WEFT_TEXTURE_INLINE __attribute__((always_inline))

namespace weft_device {

// As python/warp/textures.py numbers them.
enum TexelType : uint32_t { kUnsigned8, kUnsigned16, kUnsigned32, kSigned8, kSigned16, kSigned32, kHalf, kFloat };
enum AddressMode : uint32_t { kWrap, kClamp, kMirror, kBorder };

// Flags, from the lowest bit on: channels (3 bits), texel type (4), linear filter, linear filter between levels, levels
// (6), normalised coordinates, address mode of each axis (2 bits each).
struct Texture {
    uint64_t handle;
    uint64_t texels;
    int32_t size[3];
    uint32_t flags;

    int32_t channels() const { return static_cast<int32_t>(flags & 7); }
    uint32_t type() const { return flags >> 3 & 15; }
    bool is_linear() const { return (flags >> 7 & 1) != 0; }
    bool blends_levels() const { return (flags >> 8 & 1) != 0; }
    int32_t levels() const { return static_cast<int32_t>(flags >> 9 & 63); }
    bool is_normalized() const { return (flags >> 15 & 1) != 0; }
    uint32_t address_mode(int axis) const {
        const uint32_t mode = flags >> (16 + 2 * axis) & 3;
#ifdef __NVPTX__
        // The hardware repeats normalised coordinates only.
        if (!is_normalized() && (mode == kWrap || mode == kMirror)) return kClamp;
#endif
        return mode;
    }
};

struct Level {
    int64_t size[3];
    uint64_t source;  // the address of the first texel, or the object that gives single texels
};

WEFT_TEXTURE_INLINE inline int64_t bytes_of(uint32_t type) {
    if (type == kUnsigned8 || type == kSigned8) return 1;
    return type == kUnsigned16 || type == kSigned16 || type == kHalf ? 2 : 4;
}

WEFT_TEXTURE_INLINE inline Level level_of(const Texture& texture, int32_t number) {
    Level level = {{texture.size[0], texture.size[1], texture.size[2]}, texture.texels};
    for (int32_t n = 0; n < number; ++n) {
#ifndef __NVPTX__
        level.source += static_cast<uint64_t>(level.size[0] * level.size[1] * level.size[2] * texture.channels() *
                                              bytes_of(texture.type()));
#endif
        for (int64_t& size : level.size) size = size > 1 ? size / 2 : 1;
    }
#ifdef __NVPTX__
    level.source = reinterpret_cast<const uint64_t*>(texture.texels)[number];
#endif
    return level;
}

WEFT_TEXTURE_INLINE inline float float_of_half(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 31;
    const uint32_t fraction = half & 0x3ffu;
    float out;
    if (exponent == 0) {
        out = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -out : out;
    }
    const uint32_t bits = sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13;
    __builtin_memcpy(&out, &bits, sizeof out);
    return out;
}

template <class T>
WEFT_TEXTURE_INLINE inline T number_at(const char* place) {
    T out;
    __builtin_memcpy(&out, place, sizeof out);
    return out;
}

// Small integers stand for [0, 1] or [-1, 1]; those of 32 bits for themselves.
WEFT_TEXTURE_INLINE inline float texel_at(const char* place, uint32_t type) {
    if (type == kFloat) return number_at<float>(place);
    switch (type) {
        case kUnsigned8:
            return static_cast<float>(number_at<uint8_t>(place)) / 255.0f;
        case kUnsigned16:
            return static_cast<float>(number_at<uint16_t>(place)) / 65535.0f;
        case kUnsigned32:
            return static_cast<float>(number_at<uint32_t>(place));
        case kSigned8: {
            const float value = static_cast<float>(number_at<int8_t>(place)) / 127.0f;
            return value < -1.0f ? -1.0f : value;
        }
        case kSigned16: {
            const float value = static_cast<float>(number_at<int16_t>(place)) / 32767.0f;
            return value < -1.0f ? -1.0f : value;
        }
        case kSigned32:
            return static_cast<float>(number_at<int32_t>(place));
        default:
            return float_of_half(number_at<uint16_t>(place));
    }
}

#ifdef __NVPTX__

// Reads four channels, whatever the texture has: ptxas is known to mistake reads of different widths for each other.
#define WEFT_TEX(op, type, letter, coordinates, out, handle, ...)                                \
    asm("tex." op ".v4." type " {%0, %1, %2, %3}, [%4, " coordinates ";"                         \
        : "=" letter((out)[0]), "=" letter((out)[1]), "=" letter((out)[2]), "=" letter((out)[3]) \
        : "l"(handle), __VA_ARGS__)

// For the three kinds of numbers that texture units give.
#define WEFT_TEX_OF_TYPE(op, index, coordinates, handle, ...)                       \
    if (type == kUnsigned32) {                                                      \
        uint32_t numbers[4];                                                        \
        WEFT_TEX(op, "u32." index, "r", coordinates, numbers, handle, __VA_ARGS__); \
        for (int c = 0; c < 4; ++c) out[c] = static_cast<float>(numbers[c]);        \
    } else if (type == kSigned32) {                                                 \
        int32_t numbers[4];                                                         \
        WEFT_TEX(op, "s32." index, "r", coordinates, numbers, handle, __VA_ARGS__); \
        for (int c = 0; c < 4; ++c) out[c] = static_cast<float>(numbers[c]);        \
    } else {                                                                        \
        WEFT_TEX(op, "f32." index, "f", coordinates, out, handle, __VA_ARGS__);     \
    }

// One texel; `at` lies within the level.
template <int N>
WEFT_TEXTURE_INLINE inline void read_texel(const Texture& texture, const Level& level, const int64_t (&at)[3],
                                           int32_t channels, float (&values)[4]) {
    const uint32_t type = texture.type();
    const float x = static_cast<float>(at[0]) + 0.5f;  // in the middle, counted by texels
    const float y = static_cast<float>(at[1]) + 0.5f;
    const float z = static_cast<float>(at[2]) + 0.5f;
    float out[4];
    if constexpr (N == 1) {
        WEFT_TEX_OF_TYPE("1d", "f32", "{%5}]", level.source, "f"(x))
    } else if constexpr (N == 2) {
        WEFT_TEX_OF_TYPE("2d", "f32", "{%5, %6}]", level.source, "f"(x), "f"(y))
    } else {
        WEFT_TEX_OF_TYPE("3d", "f32", "{%5, %6, %7, %7}]", level.source, "f"(x), "f"(y), "f"(z))
    }
    for (int c = 0; c < 4; ++c) values[c] = c < channels && c < texture.channels() ? out[c] : 0.0f;
}

template <int N>
WEFT_TEXTURE_INLINE inline void sample(const Texture& texture, const float (&at)[3], float lod, int32_t channels,
                                       float (&values)[4]) {
    const uint32_t type = texture.type();
    const bool has_level = texture.levels() > 1 && lod > 0.0f;
    float out[4];
    if constexpr (N == 1) {
        if (has_level) {
            WEFT_TEX_OF_TYPE("level.1d", "f32", "{%5}], %6", texture.handle, "f"(at[0]), "f"(lod))
        } else {
            WEFT_TEX_OF_TYPE("1d", "f32", "{%5}]", texture.handle, "f"(at[0]))
        }
    } else if constexpr (N == 2) {
        if (has_level) {
            WEFT_TEX_OF_TYPE("level.2d", "f32", "{%5, %6}], %7", texture.handle, "f"(at[0]), "f"(at[1]), "f"(lod))
        } else {
            WEFT_TEX_OF_TYPE("2d", "f32", "{%5, %6}]", texture.handle, "f"(at[0]), "f"(at[1]))
        }
    } else {
        if (has_level) {
            WEFT_TEX_OF_TYPE("level.3d", "f32", "{%5, %6, %7, %7}], %8", texture.handle, "f"(at[0]), "f"(at[1]),
                             "f"(at[2]), "f"(lod))
        } else {
            WEFT_TEX_OF_TYPE("3d", "f32", "{%5, %6, %7, %7}]", texture.handle, "f"(at[0]), "f"(at[1]), "f"(at[2]))
        }
    }
    for (int c = 0; c < 4; ++c) values[c] = c < channels && c < texture.channels() ? out[c] : 0.0f;
}

#else

template <int N>
WEFT_TEXTURE_INLINE inline void read_texel(const Texture& texture, const Level& level, const int64_t (&at)[3],
                                           int32_t channels, float (&values)[4]) {
    const int64_t number = (at[2] * level.size[1] + at[1]) * level.size[0] + at[0];
    const int64_t bytes = bytes_of(texture.type());
    const char* texel = reinterpret_cast<const char*>(level.source) + number * texture.channels() * bytes;
    const int32_t there = channels < texture.channels() ? channels : texture.channels();
    values[0] = texel_at(texel, texture.type());
    for (int c = 1; c < there; ++c) values[c] = texel_at(texel + c * bytes, texture.type());
    for (int c = there; c < channels; ++c) values[c] = 0.0f;
}

#endif

// ---- filtering in software ----

WEFT_TEXTURE_INLINE inline double remainder_of(double x, double period) {
#ifdef __NVPTX__
    const double out = x - period * __builtin_floor(x / period);  // coordinates are normalised here: it is exact
#else
    double out = __builtin_fmod(x, period);
    if (out < 0.0) out += period;
#endif
    // What lies a trifle below 0 belongs to the end of the period, not to its beginning.
    const double below = period * (1.0 - 0x1p-53);
    return out < period ? out : below;
}

WEFT_TEXTURE_INLINE inline double clamped(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

// The texels that a coordinate lies between, along one axis; -1: beyond the border.
struct Neighbours {
    int64_t index[2];
    double fraction;  // from the first to the second
    double scale;     // texels that a unit of the coordinate is
};

WEFT_TEXTURE_INLINE inline int64_t wrapped(int64_t index, int64_t size, uint32_t mode) {
    switch (mode) {
        case kWrap:
            return index < 0 ? index + size : index >= size ? index - size : index;
        case kMirror: {
            const int64_t within = index < 0 ? index + 2 * size : index >= 2 * size ? index - 2 * size : index;
            return within < size ? within : 2 * size - 1 - within;
        }
        case kBorder:
            return index < 0 || index >= size ? -1 : index;
        default:
            return index < 0 ? 0 : index >= size ? size - 1 : index;
    }
}

WEFT_TEXTURE_INLINE inline Neighbours neighbours(const Texture& texture, const Level& level, int axis,
                                                 float coordinate) {
    const int64_t size = level.size[axis];
    const uint32_t mode = texture.address_mode(axis);
    const double unit = texture.is_normalized() ? 1.0 : static_cast<double>(texture.size[axis]);
    Neighbours out;
    out.scale = static_cast<double>(size) / unit;
    double x = coordinate;
    if (mode == kWrap || mode == kMirror) x = remainder_of(x, mode == kWrap ? unit : 2.0 * unit);
    // Far beyond the edge all places are alike.
    x = clamped(x * out.scale, -2.0, 2.0 * static_cast<double>(size) + 2.0);
    if (!(x == x)) x = 0.0;
    if (texture.is_linear()) x -= 0.5;
    const double cell = __builtin_floor(x);
    out.fraction = texture.is_linear() ? x - cell : 0.0;
    for (int k = 0; k < 2; ++k) out.index[k] = wrapped(static_cast<int64_t>(cell) + k, size, mode);
    return out;
}

// The texels around a place of a level, and their weights.
template <int N>
struct Cell {
    Neighbours axes[3];
    double shares[1 << N];  // of the corners in the value
    float corners[1 << N][4];
    bool is_linear;

    WEFT_TEXTURE_INLINE Cell(const Texture& texture, const Level& level, const float (&at)[3], int32_t channels)
        : is_linear(texture.is_linear()) {
        for (int d = 0; d < N; ++d) axes[d] = neighbours(texture, level, d, at[d]);
        for (int k = 0; k < (is_linear ? 1 << N : 1); ++k) {
            shares[k] = is_linear ? weight(k) : 1.0;
            int64_t place[3] = {0, 0, 0};
            bool inside = true;
            for (int d = 0; d < N; ++d) {
                place[d] = axes[d].index[k >> d & 1];
                inside = inside && place[d] >= 0;
            }
            if (inside) {
                read_texel<N>(texture, level, place, channels, corners[k]);
            } else {
                for (float& value : corners[k]) value = 0.0f;
            }
        }
    }

    // The share of a corner, seen along the axes other than `without`.
    WEFT_TEXTURE_INLINE double weight(int corner, int without = -1) const {
        double out = 1.0;
        for (int d = 0; d < N; ++d) {
            if (d != without) out *= (corner >> d & 1) != 0 ? axes[d].fraction : 1.0 - axes[d].fraction;
        }
        return out;
    }

    WEFT_TEXTURE_INLINE double value(int channel) const {
        if (!is_linear) return corners[0][channel];
        double out = 0.0;
        for (int k = 0; k < 1 << N; ++k) {
            if (shares[k] != 0.0) out += shares[k] * corners[k][channel];
        }
        return out;
    }

    // Differences along edges come first: what all texels have in common leaves nothing of itself.
    WEFT_TEXTURE_INLINE double slope(int axis, int channel) const {
        if (!is_linear) return 0.0;
        double out = 0.0;
        for (int k = 0; k < 1 << N; ++k) {
            if ((k >> axis & 1) != 0) continue;
            const double edge =
                static_cast<double>(corners[k | 1 << axis][channel]) - static_cast<double>(corners[k][channel]);
            if (edge != 0.0) out += weight(k, axis) * edge;
        }
        return out * axes[axis].scale;
    }
};

// The levels that a level of detail lies between.
struct Blend {
    int32_t level;
    double fraction;  // to the next; 0: that one is not needed
    bool moves;       // whether the fraction changes with the level of detail, upwards at least
};

WEFT_TEXTURE_INLINE inline Blend blend_of(const Texture& texture, float lod) {
    const int32_t last = texture.levels() - 1;
    if (last == 0 || !(lod >= 0.0f)) return {0, 0.0, false};
    if (!texture.blends_levels()) {
        return {static_cast<int32_t>(__builtin_floor(clamped(lod, 0.0, last) + 0.5)), 0.0, false};
    }
    if (lod >= static_cast<float>(last)) return {last, 0.0, false};
    const double below = __builtin_floor(static_cast<double>(lod));
    return {static_cast<int32_t>(below), lod - below, true};
}

#ifndef __NVPTX__

template <int N>
WEFT_TEXTURE_INLINE inline void sample(const Texture& texture, const float (&at)[3], float lod, int32_t channels,
                                       float (&values)[4]) {
    const Blend blend = blend_of(texture, lod);
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    // What is no number leaves none.
    for (int d = 0; d < N; ++d) {
        for (int c = 0; c < channels && at[d] != at[d]; ++c) sum[c] = at[d];
    }
    for (int k = 0; k < (blend.fraction > 0.0 ? 2 : 1); ++k) {
        const Cell<N> cell(texture, level_of(texture, blend.level + k), at, channels);
        const double share = k == 0 ? 1.0 - blend.fraction : blend.fraction;
        for (int c = 0; c < channels; ++c) sum[c] += share * cell.value(c);
    }
    for (int c = 0; c < 4; ++c) values[c] = static_cast<float>(sum[c]);
}

#endif

// A channel of weight 0 counts for nothing, even where its texels are infinite.
template <int N>
inline void slopes(const Texture& texture, const float (&at)[3], float lod, int32_t channels, const float (&g)[4],
                   float (&out)[4]) {
    const Blend blend = blend_of(texture, lod);
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < (blend.moves ? 2 : 1); ++k) {
        const Cell<N> cell(texture, level_of(texture, blend.level + k), at, channels);
        const double share = k == 0 ? 1.0 - blend.fraction : blend.fraction;
        for (int c = 0; c < channels; ++c) {
            if (g[c] == 0.0f) continue;
            for (int d = 0; d < N; ++d) sum[d] += share * g[c] * cell.slope(d, c);
            if (blend.moves) sum[3] += (k == 0 ? -1.0 : 1.0) * g[c] * cell.value(c);
        }
    }
    for (int d = 0; d < 4; ++d) out[d] = static_cast<float>(sum[d]);
}

}  // namespace weft_device

// In hardware a sample is little code.
#ifdef __NVPTX__
#define WEFT_TEXTURE_VALUES __attribute__((always_inline))
#else
#define WEFT_TEXTURE_VALUES
#endif

#define WEFT_TEXTURES(N)                                                                                               \
    extern "C" WEFT_TEXTURE_VALUES void weft_texture_values_##N##d(                                                    \
        void* out, uint64_t handle, uint64_t texels, int32_t width, int32_t height, int32_t depth, uint32_t flags,     \
        float x, float y, float z, float lod, int32_t channels) {                                                      \
        float values[4] = {0.0f, 0.0f, 0.0f, 0.0f};                                                                    \
        if (flags != 0) /* none: no texture */                                                                         \
            weft_device::sample<N>({handle, texels, {width, height, depth}, flags}, {x, y, z}, lod, channels, values); \
        __builtin_memcpy(out, values, sizeof values);                                                                  \
    }                                                                                                                  \
    extern "C" void weft_texture_slopes_##N##d(                                                                        \
        void* out, uint64_t handle, uint64_t texels, int32_t width, int32_t height, int32_t depth, uint32_t flags,     \
        float x, float y, float z, float lod, int32_t channels, float g0, float g1, float g2, float g3) {              \
        float values[4] = {0.0f, 0.0f, 0.0f, 0.0f};                                                                    \
        if (flags != 0)                                                                                                \
            weft_device::slopes<N>({handle, texels, {width, height, depth}, flags}, {x, y, z}, lod, channels,          \
                                   {g0, g1, g2, g3}, values);                                                          \
        __builtin_memcpy(out, values, sizeof values);                                                                  \
    }
WEFT_TEXTURES(1)
WEFT_TEXTURES(2)
WEFT_TEXTURES(3)
#undef WEFT_TEXTURES
#undef WEFT_TEXTURE_VALUES
#undef WEFT_TEXTURE_INLINE
