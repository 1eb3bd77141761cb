#include "codegen/symbols.h"

#include <array>
#include <set>

#include "codegen/backend.h"

namespace weft::codegen {
namespace {

constexpr auto kCompilerSymbols = std::to_array<std::string_view>(
    {"memcpy", "memmove", "memset", "memcmp", "fmodf", "fmod",       "floorf",    "floor",  "ceilf",
     "ceil",   "truncf",  "trunc",  "rintf",  "rint",  "nearbyintf", "nearbyint", "roundf", "round",
     "fmaf",   "fma",     "sqrtf",  "sqrt",   "fminf", "fmin",       "fmaxf",     "fmax"});

std::set<std::string, std::less<>> all_symbols() {
    std::set<std::string, std::less<>> names(kCompilerSymbols.begin(), kCompilerSymbols.end());
#define SYMBOL(name, result, parameters) names.insert(#name);
#include "codegen/host_symbols.def"
#undef SYMBOL
#define MATH(Name, name, operands, kind) \
    names.insert(#name);                 \
    names.insert(#name "f");
#include "ir/math.def"
#undef MATH
    return names;
}

}  // namespace

std::string math_symbol(ir::MathFn fn, bool is_double) {
    return std::string(ir::mnemonic(fn)) + (is_double ? "" : "f");
}

std::span<const std::string_view> compiler_symbols() { return kCompilerSymbols; }

bool is_host_symbol(std::string_view name) {
    static const auto names = all_symbols();
    return names.contains(name);
}

std::string entry_symbol(std::string_view kernel) {
    std::string out = "weft_kernel_";
    for (const char c : kernel) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (plain) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '_';
        out += "0123456789abcdef"[byte >> 4];
        out += "0123456789abcdef"[byte & 15];
    }
    return out;
}

}  // namespace weft::codegen
