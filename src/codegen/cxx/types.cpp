#include "codegen/cxx/types.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::cxx {
namespace {

// Words of C++, and names that the printed text uses itself.
const std::set<std::string_view>& reserved() {
    static const std::set<std::string_view> words = {
        "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
        "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr",
        "constinit", "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete",
        "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
        "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
        "nullptr", "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
        "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch",
        "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union",
        "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq", "typeof", "main",
        "weft", "item", "int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
        "arguments", "shape", "begin", "end", "linux", "unix", "program",
        // Macros of the headers that compilers of GPUs begin with, and what those know without a header.
        "NULL", "EOF", "NAN", "INFINITY", "HUGE_VAL", "HUGE_VALF", "RAND_MAX", "BUFSIZ", "assert", "errno", "stdin",
        "stdout", "stderr", "isnan", "isinf", "isfinite", "isnormal", "signbit", "fpclassify", "isgreater", "isless",
        "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "printf", "malloc", "free",
    // Functions of C that the prelude declares, which a function of the user's may not redefine.
#define MATH(Name, name, operands, kind) #name, #name "f",
#include "ir/math.def"
#undef MATH
        "fmod", "fmodf"};
    return words;
}

}  // namespace

std::string Names::make(std::string_view wanted) {
    std::string base;
    for (const char c : wanted) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        const bool digit = c >= '0' && c <= '9';
        base += letter || digit ? c : '_';
    }
    // Identifiers with two underscores in a row, or that start with one, belong to the compiler.
    for (size_t at = 0; (at = base.find("__", at)) != std::string::npos;) base.erase(at, 1);
    if (base.empty() || !((base[0] >= 'a' && base[0] <= 'z') || (base[0] >= 'A' && base[0] <= 'Z')))
        base.insert(0, "v");
    if (base.starts_with("weft_")) base.insert(0, "user_");
    if (reserved().contains(base)) base += '_';
    std::string out = base;
    for (int i = 1; !used_.insert(out).second; ++i) out = base + (base.back() == '_' ? "" : "_") + std::to_string(i);
    return out;
}

std::string scalar_type(ir::Scalar scalar) {
    switch (scalar) {
        case ir::Scalar::Bool:
            return "bool";
        case ir::Scalar::F16:
            return "weft::float16";
        case ir::Scalar::BF16:
            return "weft::bfloat16";
        case ir::Scalar::F32:
            return "float";
        case ir::Scalar::F64:
            return "double";
        default:
            break;
    }
    return std::string(ir::is_signed_int(scalar) ? "int" : "uint") + std::to_string(ir::scalar_bits(scalar)) + "_t";
}

std::string literal(ir::Scalar scalar, uint64_t bits) {
    std::array<char, 32> text{};
    const auto hex = [&] {
        return "0x" + std::string(text.data(), std::to_chars(text.data(), text.data() + 20, bits, 16).ptr);
    };
    if (scalar == ir::Scalar::Bool) return bits != 0 ? "true" : "false";
    if (scalar == ir::Scalar::F16 || scalar == ir::Scalar::BF16) return scalar_type(scalar) + "{" + hex() + "}";
    if (ir::is_float(scalar)) {
        const bool is_double = scalar == ir::Scalar::F64;
        const double number = ir::number_of(scalar, bits);
        if (!std::isfinite(number))
            return "weft::bits_of<" + scalar_type(scalar) + ">(" + hex() + (is_double ? "ull)" : "u)");
        char* const end = is_double
                              ? std::to_chars(text.data(), text.data() + text.size(), number).ptr
                              : std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(number)).ptr;
        std::string out(text.data(), end);
        if (out.find_first_of(".e") == std::string::npos) out += ".0";
        if (!is_double) out += 'f';
        return out[0] == '-' ? "(" + out + ")" : out;
    }
    const int width = ir::scalar_bits(scalar);
    if (!ir::is_signed_int(scalar)) {
        if (width < 32) return scalar_type(scalar) + "(" + std::to_string(bits) + ")";
        return std::to_string(bits) + (width == 64 ? "ul" : "u");
    }
    const int shift = 64 - width;
    const int64_t value = static_cast<int64_t>(bits << shift) >> shift;
    // The smallest numbers have no literal: theirs is the negative of one that does not fit.
    if (value == INT64_MIN) return "int64_t(1ul << 63)";
    std::string out = std::to_string(value) + (width == 64 ? "l" : "");
    if (width < 32) return scalar_type(scalar) + "(" + out + ")";
    if (value == INT32_MIN && width == 32) return "int32_t(1u << 31)";
    return value < 0 ? "(" + out + ")" : out;
}

std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (byte < 32 || byte >= 127 || c == '?') {
            out += '\\';
            for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (byte >> shift & 7));
        } else {
            out += c;
        }
    }
    return out + "\"";
}

const std::string& Types::name(ir::Type type) {
    if (const auto place = known_.find(type); place != known_.end()) return place->second;
    std::string made = make(type);
    return known_[type] = std::move(made);
}

std::string Types::make(ir::Type type) {
    const auto of = [&](const std::string& kind, const std::string& rest = "") {
        return "weft::" + kind + "<" + scalar_type(type.element()) + rest + ">";
    };
    switch (type.kind()) {
        case ir::TypeKind::Void:
            return "void";
        case ir::TypeKind::Scalar:
            return scalar_type(type.element());
        case ir::TypeKind::Vec:
            return of("vec", ", " + std::to_string(type.part_count()));
        case ir::TypeKind::Mat:
            return of("mat", ", " + std::to_string(type.rows()) + ", " + std::to_string(type.columns()));
        case ir::TypeKind::Quat:
            return of("quat");
        case ir::TypeKind::Transform:
            return of("transform");
        case ir::TypeKind::Array:
            return "weft::array<" + name(type.target()) + ", " + std::to_string(type.ndim()) + ">";
        case ir::TypeKind::Ref:
            return name(type.target()) + "*";
        case ir::TypeKind::Stack:
            return "weft::stack<" + name(type.target()) + ">";
        case ir::TypeKind::Struct:
        case ir::TypeKind::Tuple:
            return define(type);
    }
    WEFT_CHECK(false, "type without a C++ name");
}

std::string Types::define(ir::Type type) {
    const bool is_struct = type.is(ir::TypeKind::Struct);
    const std::string out = names_.make(is_struct ? type.name() : "tuple");
    Names fields;
    std::string text;
    for (int i = 0; i < type.part_count(); ++i) {
        const std::string& part_type = name(type.part(i));
        fields_[type].push_back(
            fields.make(is_struct ? type.fields()[static_cast<size_t>(i)].name : "part" + std::to_string(i)));
        text += "    " + part_type + " " + fields_[type].back() + ";\n";
    }
    std::string attributes;
    if (is_struct && type.alignment() > 0) attributes += "alignas(" + std::to_string(ir::align_of(type)) + ") ";
    if (is_struct && type.packed()) attributes += "__attribute__((packed)) ";
    definitions_ += "struct " + attributes + out + " {\n" + text + "};\n";
    if (type.part_count() > 0) {
        definitions_ += "static_assert(sizeof(" + out + ") == " + std::to_string(ir::size_of(type)) + ");\n";
    }
    definitions_ += "\n";
    return out;
}

std::string Types::part(ir::Type aggregate, int index) {
    if (aggregate.is_uniform()) return "[" + std::to_string(index) + "]";
    name(aggregate);
    return "." + fields_.at(aggregate).at(static_cast<size_t>(index));
}

}  // namespace weft::codegen::cxx
