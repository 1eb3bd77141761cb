// Reading, matching and printing type patterns, and the names of types that users see.
#include "builtins/pattern.h"

#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/error.h"
#include "builtins/array_kinds.h"

namespace weft::builtins {
namespace {

using ir::Scalar;
using ir::Type;
using ir::TypeKind;
using Kind = TypePattern::Kind;

struct ScalarNames {
    Scalar scalar;
    std::string_view name;
    std::string_view suffix;  // of vec, mat, quat: "vec3d"
};
constexpr std::array<ScalarNames, ir::kScalarCount> kScalars = {{
    {Scalar::Bool, "bool", ""},
    {Scalar::I8, "int8", "b"},
    {Scalar::I16, "int16", "s"},
    {Scalar::I32, "int32", "i"},
    {Scalar::I64, "int64", "l"},
    {Scalar::U8, "uint8", "ub"},
    {Scalar::U16, "uint16", "us"},
    {Scalar::U32, "uint32", "ui"},
    {Scalar::U64, "uint64", "ul"},
    {Scalar::F16, "float16", "h"},
    {Scalar::BF16, "bfloat16", "bh"},
    {Scalar::F32, "float32", "f"},
    {Scalar::F64, "float64", "d"},
}};

const ScalarNames& names_of(Scalar scalar) {
    for (const auto& names : kScalars) {
        if (names.scalar == scalar) return names;
    }
    WEFT_CHECK(false, "a scalar without a name");
}

std::optional<Scalar> scalar_of_suffix(std::string_view suffix) {
    if (suffix.empty()) return Scalar::F32;
    for (const auto& names : kScalars) {
        if (names.suffix == suffix) return names.scalar;
    }
    return std::nullopt;
}

class PatternReader {
  public:
    explicit PatternReader(std::string_view text) : text_(text) {}

    TypePattern whole() {
        TypePattern pattern = read();
        if (peek() != '\0') fail();
        return pattern;
    }

  private:
    [[noreturn]] void fail() const {
        throw UserError(ErrorKind::Syntax,
                        "`" + std::string(text_) + "` is no type pattern (column " + std::to_string(at_) + ")");
    }

    char peek() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    bool accept(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }

    std::string word() {
        peek();
        const size_t start = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
        return std::string(text_.substr(start, at_ - start));
    }

    TypePattern::Length length() {
        TypePattern::Length length;
        const std::string text = word();
        if (text.empty()) fail();
        if (std::isdigit(static_cast<unsigned char>(text[0]))) {
            length.number = std::stoi(text);
        } else if (text != "Any") {
            length.variable = text;
        }
        return length;
    }

    TypePattern read() {
        const std::string name = word();
        static const std::map<std::string, Kind> plain = {{"Any", Kind::Any},
                                                          {"Scalar", Kind::Scalar},
                                                          {"Float", Kind::Float},
                                                          {"Int", Kind::Int},
                                                          {"Callable", Kind::Function}};
        static const std::map<std::string, std::pair<Kind, int>> generic = {
            {"Vector", {Kind::Vector, 1}},
            {"Matrix", {Kind::Matrix, 2}},
            {"Quaternion", {Kind::Quaternion, 0}},
            {"Array", {Kind::Array, -1}},
            {"IndexedArray", {Kind::IndexedArray, -1}},
            {"FabricArray", {Kind::FabricArray, -1}},
            {"IndexedFabricArray", {Kind::IndexedFabricArray, -1}},
            {"Transformation", {Kind::Transform, 0}}};
        if (const auto it = plain.find(name); it != plain.end()) return {it->second};
        if (name == "None") return {Type()};
        if (name == "tuple") {
            TypePattern pattern(Kind::Tuple);
            if (!accept('[')) fail();
            do pattern.parts.push_back(read());
            while (accept(','));
            if (!accept(']')) fail();
            return pattern;
        }
        if (const auto it = generic.find(name); it != generic.end()) {
            TypePattern pattern(it->second.first);
            if (!accept('[')) fail();
            pattern.parts.push_back(read());
            const int count = it->second.second;
            if (count < 0) {
                pattern.lengths.emplace_back();
                if (accept(',')) pattern.lengths[0] = length();
            }
            for (int i = 0; i < count; ++i) {
                if (!accept(',')) fail();
                pattern.lengths.push_back(length());
            }
            if (!accept(']')) fail();
            return pattern;
        }
        const Type type = type_named(name);
        if (!type) fail();
        return {type};
    }

    std::string_view text_;
    size_t at_ = 0;
};

ArrayKind kind_of(Kind kind) {
    switch (kind) {
        case Kind::IndexedArray:
            return ArrayKind::Indexed;
        case Kind::FabricArray:
            return ArrayKind::Fabric;
        case Kind::IndexedFabricArray:
            return ArrayKind::IndexedFabric;
        default:
            return ArrayKind::Plain;
    }
}

bool match_length(const TypePattern::Length& length, int number, Matches& matches) {
    if (length.number >= 0) return length.number == number;
    if (length.variable.empty()) return true;
    return matches.lengths.emplace(length.variable, number).first->second == number;
}

bool match_variable(const char* name, bool fits, Type type, Matches& matches) {
    return fits && matches.types.emplace(name, type).first->second == type;
}

int substitute(const TypePattern::Length& length, const Matches& matches) {
    if (length.number >= 0) return length.number;
    const auto it = matches.lengths.find(length.variable);
    WEFT_CHECK(it != matches.lengths.end(), "length `" + length.variable + "` of a signature is unknown");
    return it->second;
}

std::string str(const TypePattern::Length& length) {
    if (length.number >= 0) return std::to_string(length.number);
    return length.variable.empty() ? "Any" : length.variable;
}

}  // namespace

TypePattern parse_pattern(std::string_view text) { return PatternReader(text).whole(); }

std::string TypePattern::str() const {
    const auto generic = [&](std::string name) {
        name += "[" + parts.at(0).str();
        for (const auto& length : lengths) name += ", " + builtins::str(length);
        return name + "]";
    };
    switch (kind) {
        case Kind::Exact:
            return exact ? user_name(exact) : "None";
        case Kind::Any:
            return "Any";
        case Kind::Scalar:
            return "Scalar";
        case Kind::Float:
            return "Float";
        case Kind::Int:
            return "Int";
        case Kind::Vector:
            return generic("Vector");
        case Kind::Matrix:
            return generic("Matrix");
        case Kind::Quaternion:
            return generic("Quaternion");
        case Kind::Transform:
            return generic("Transformation");
        case Kind::Array:
            return generic("Array");
        case Kind::IndexedArray:
            return generic("IndexedArray");
        case Kind::FabricArray:
            return generic("FabricArray");
        case Kind::IndexedFabricArray:
            return generic("IndexedFabricArray");
        case Kind::Function:
            return "Callable";
        case Kind::Tuple: {
            std::string text = "tuple[";
            for (size_t i = 0; i < parts.size(); ++i) text += (i ? ", " : "") + parts[i].str();
            return text + (lengths.empty() ? "]" : ", ...]");
        }
    }
    WEFT_CHECK(false, "a pattern without a kind");
}

bool match(const TypePattern& pattern, Type type, Matches& matches) {
    const auto element = [&] { return match(pattern.parts.at(0), type.element_type(), matches); };
    switch (pattern.kind) {
        case Kind::Exact:
            return type == pattern.exact;
        case Kind::Any:
            return static_cast<bool>(type);
        case Kind::Scalar:
            return match_variable("Scalar", type.is_float() || type.is_int(), type, matches);
        case Kind::Float:
            return match_variable("Float", type.is_float(), type, matches);
        case Kind::Int:
            return match_variable("Int", type.is_int(), type, matches);
        case Kind::Vector:
            return type.is(TypeKind::Vec) && element() && match_length(pattern.lengths[0], type.part_count(), matches);
        case Kind::Matrix:
            return type.is(TypeKind::Mat) && element() && match_length(pattern.lengths[0], type.rows(), matches) &&
                   match_length(pattern.lengths[1], type.columns(), matches);
        case Kind::Quaternion:
            return type.is(TypeKind::Quat) && element();
        case Kind::Transform:
            return type.is(TypeKind::Transform) && element();
        case Kind::Array:
        case Kind::IndexedArray:
        case Kind::FabricArray:
        case Kind::IndexedFabricArray:
            return is_array_like(type) && array_kind(type) == kind_of(pattern.kind) &&
                   match(pattern.parts[0], array_element(type), matches) &&
                   match_length(pattern.lengths[0], array_ndim(type), matches);
        case Kind::Tuple: {
            if (!type.is(TypeKind::Tuple)) return false;
            if (!pattern.lengths.empty()) {
                for (int i = 0; i < type.part_count(); ++i) {
                    if (!match(pattern.parts[0], type.part(i), matches)) return false;
                }
                return true;
            }
            if (type.part_count() != static_cast<int>(pattern.parts.size())) return false;
            for (size_t i = 0; i < pattern.parts.size(); ++i) {
                if (!match(pattern.parts[i], type.part(static_cast<int>(i)), matches)) return false;
            }
            return true;
        }
        case Kind::Function:
            return false;
    }
    return false;
}

Type substitute(const TypePattern& pattern, const Matches& matches) {
    const auto variable = [&](const char* name) {
        const auto it = matches.types.find(name);
        WEFT_CHECK(it != matches.types.end(), std::string("type `") + name + "` of a signature is unknown");
        return it->second;
    };
    const auto element = [&] { return substitute(pattern.parts.at(0), matches).element(); };
    const auto length = [&](size_t i) { return substitute(pattern.lengths.at(i), matches); };
    switch (pattern.kind) {
        case Kind::Exact:
            return pattern.exact;
        case Kind::Scalar:
            return variable("Scalar");
        case Kind::Float:
            return variable("Float");
        case Kind::Int:
            return variable("Int");
        case Kind::Vector:
            return Type::vec(length(0), element());
        case Kind::Matrix:
            return Type::mat(length(0), length(1), element());
        case Kind::Quaternion:
            return Type::quat(element());
        case Kind::Transform:
            return Type::transform(element());
        case Kind::Array:
        case Kind::IndexedArray:
        case Kind::FabricArray:
        case Kind::IndexedFabricArray:
            return array_type(kind_of(pattern.kind), substitute(pattern.parts[0], matches), length(0));
        case Kind::Tuple: {
            std::vector<Type> parts;
            for (const auto& part : pattern.parts) parts.push_back(substitute(part, matches));
            return Type::tuple(parts);
        }
        case Kind::Any:
        case Kind::Function:
            break;
    }
    WEFT_CHECK(false, "pattern " + pattern.str() + " gives no type");
}

std::string class_name(Type type) {
    std::string name = user_name(type);
    if (type.is_uniform() && type.element() == ir::Scalar::F32 && name.find('(') == std::string::npos) name += "f";
    return name;
}

std::string user_name(Type type) {
    const auto suffix = [](Scalar s) { return s == Scalar::F32 ? std::string() : std::string(names_of(s).suffix); };
    switch (type.kind()) {
        case TypeKind::Void:
            return "None";
        case TypeKind::Scalar:
            return std::string(names_of(type.element()).name);
        case TypeKind::Vec:
            if (type.element() == Scalar::Bool || type.part_count() > 4) {
                return "vec(length=" + std::to_string(type.part_count()) + ", dtype=" + user_name(type.element_type()) +
                       ")";
            }
            return "vec" + std::to_string(type.part_count()) + suffix(type.element());
        case TypeKind::Mat:
            if (type.element() == Scalar::Bool || type.rows() > 4 || type.columns() > 4) {
                return "mat(shape=(" + std::to_string(type.rows()) + ", " + std::to_string(type.columns()) +
                       "), dtype=" + user_name(type.element_type()) + ")";
            }
            return "mat" + std::to_string(type.rows()) + std::to_string(type.columns()) + suffix(type.element());
        case TypeKind::Quat:
            return "quat" + suffix(type.element());
        case TypeKind::Transform:
            return "transform" + suffix(type.element());
        case TypeKind::Struct:
            if (is_array_like(type)) {
                const int ndim = array_ndim(type);
                return array_word(array_kind(type)) + "(dtype=" + user_name(array_element(type)) +
                       (ndim == 1 ? ")" : ", ndim=" + std::to_string(ndim) + ")");
            }
            return type.name();
        case TypeKind::Tuple: {
            std::string text = "tuple[";
            for (int i = 0; i < type.part_count(); ++i) text += (i ? ", " : "") + user_name(type.part(i));
            return text + "]";
        }
        case TypeKind::Array:
            return "array(dtype=" + user_name(type.target()) +
                   (type.ndim() == 1 ? ")" : ", ndim=" + std::to_string(type.ndim()) + ")");
        case TypeKind::Ref:
            return "ref[" + user_name(type.target()) + "]";
        case TypeKind::Stack:
            break;
    }
    return type.str();
}

Type type_named(std::string_view name) {
    if (name == "float") return ir::f32();
    if (name == "int") return ir::i32();
    for (const auto& names : kScalars) {
        if (names.name == name) return Type::scalar(names.scalar);
    }
    const auto digit = [&](size_t i) {
        return i < name.size() && name[i] >= '1' && name[i] <= '9' ? name[i] - '0' : 0;
    };
    const auto rest = [&](size_t i) { return scalar_of_suffix(name.substr(i)); };
    if (name.starts_with("vec") && digit(3)) {
        if (const auto scalar = rest(4)) return Type::vec(digit(3), *scalar);
    }
    if (name.starts_with("mat") && digit(3) && digit(4)) {
        if (const auto scalar = rest(5)) return Type::mat(digit(3), digit(4), *scalar);
    }
    if (name.starts_with("quat")) {
        if (const auto scalar = rest(4); scalar && ir::is_float(*scalar)) return Type::quat(*scalar);
    }
    if (name.starts_with("transform")) {
        if (const auto scalar = rest(9); scalar && ir::is_float(*scalar)) return Type::transform(*scalar);
    }
    return {};
}

}  // namespace weft::builtins
