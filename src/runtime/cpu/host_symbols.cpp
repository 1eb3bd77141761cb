#include "runtime/cpu/host_symbols.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/small_float.h"

#define SYMBOL(name, result, parameters) extern "C" result name parameters;
#include "codegen/host_symbols.def"
#undef SYMBOL

namespace weft::runtime {
namespace {

struct Asserts {
    std::mutex mutex;
    std::optional<AssertFailure> first;
};

Asserts& asserts() {
    static Asserts* instance = new Asserts;  // never destroyed: code may run until the process ends
    return *instance;
}

// The C maths library, by name. Through a table, because a library that was opened locally does not show its symbols.
template <typename Function>
void* address(Function function) {
    return reinterpret_cast<void*>(function);
}

using Table = std::unordered_map<std::string_view, void*>;

void add_maths(Table& table) {
    using F1 = float (*)(float);
    using F2 = float (*)(float, float);
    using D1 = double (*)(double);
    using D2 = double (*)(double, double);
#define ADD_1(name)                                         \
    table[#name "f"] = address(static_cast<F1>(::name##f)); \
    table[#name] = address(static_cast<D1>(::name))
#define ADD_2(name)                                         \
    table[#name "f"] = address(static_cast<F2>(::name##f)); \
    table[#name] = address(static_cast<D2>(::name))
#define MATH(Name, name, operands, kind) ADD_##operands(name);
#include "ir/math.def"
#undef MATH
    // What compilers call on their own (codegen/symbols.h).
    ADD_1(nearbyint);
    ADD_2(fmod);
    ADD_2(fmin);
    ADD_2(fmax);
#undef ADD_1
#undef ADD_2
    table["fmaf"] = address(static_cast<float (*)(float, float, float)>(::fmaf));
    table["fma"] = address(static_cast<double (*)(double, double, double)>(::fma));
    table["memcpy"] = address(static_cast<void* (*)(void*, const void*, size_t)>(::memcpy));
    table["memmove"] = address(static_cast<void* (*)(void*, const void*, size_t)>(::memmove));
    table["memset"] = address(static_cast<void* (*)(void*, int, size_t)>(::memset));
    table["memcmp"] = address(static_cast<int (*)(const void*, const void*, size_t)>(::memcmp));
}

const Table& table() {
    static const Table* instance = [] {
        auto* out = new Table;
        add_maths(*out);
#define SYMBOL(name, result, parameters) (*out)[#name] = address(&::name);
#include "codegen/host_symbols.def"
#undef SYMBOL
        return out;
    }();
    return *instance;
}

}  // namespace

void* host_symbol(std::string_view name) {
    const auto place = table().find(name);
    return place != table().end() ? place->second : nullptr;
}

std::optional<AssertFailure> take_assert_failure() {
    Asserts& all = asserts();
    const std::lock_guard lock(all.mutex);
    auto out = std::move(all.first);
    all.first.reset();
    return out;
}

}  // namespace weft::runtime

void weft_print(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    std::va_list again;
    va_copy(again, arguments);
    char small[512];
    const int size = std::vsnprintf(small, sizeof small, format, arguments);
    if (size >= 0 && static_cast<size_t>(size) < sizeof small) {
        std::fwrite(small, 1, static_cast<size_t>(size), stdout);
    } else if (size > 0) {
        std::string large(static_cast<size_t>(size) + 1, '\0');
        std::vsnprintf(large.data(), large.size(), format, again);
        std::fwrite(large.data(), 1, static_cast<size_t>(size), stdout);
    }
    va_end(again);
    va_end(arguments);
}

void weft_assert_failed(const char* format, int64_t item, ...) {
    auto& all = weft::runtime::asserts();
    const std::lock_guard lock(all.mutex);
    if (all.first) return;
    std::va_list numbers;
    va_start(numbers, item);
    char message[2048];
    std::vsnprintf(message, sizeof message, format, numbers);
    va_end(numbers);
    all.first = {message, item};
}

float weft_f16_to_f32(uint16_t bits) { return static_cast<float>(weft::f16_to_double(bits)); }
uint16_t weft_f32_to_f16(float value) { return weft::f16_from_double(static_cast<double>(value)); }
uint16_t weft_f64_to_f16(double value) { return weft::f16_from_double(value); }
