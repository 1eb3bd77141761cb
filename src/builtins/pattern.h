// Type patterns: what the signature of a builtin, or the annotation of a generic function, says about a type.
// `Scalar`, `Float` and `Int` are variables: within one signature all uses of one are the same type, as are lower-case
// lengths. The text form is that of the registry's rows: "Vector[Scalar, n]", "Array[Any]", "int32".
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

namespace weft::builtins {

struct TypePattern {
    enum class Kind {
        Exact,   // `exact`
        Any,     // any type; each use is free
        Scalar,  // a number (bool is none)
        Float,
        Int,
        Vector,      // parts = {element}, lengths = {n}
        Matrix,      // parts = {element}, lengths = {rows, columns}
        Quaternion,  // parts = {element}
        Transform,   // parts = {element}
        Array,       // parts = {element}, lengths = {ndim}
        IndexedArray,
        FabricArray,
        IndexedFabricArray,
        Tuple,     // parts: several results; with a length: any number of parts[0]
        Function,  // a function passed by name
    };
    // A number, a variable (lower-case name), or either empty: any.
    struct Length {
        int number = -1;
        std::string variable;
        bool operator==(const Length&) const = default;
    };

    Kind kind = Kind::Any;
    ir::Type exact;
    std::vector<TypePattern> parts;
    std::vector<Length> lengths;

    TypePattern() = default;
    TypePattern(Kind kind) : kind(kind) {}
    TypePattern(ir::Type type) : kind(Kind::Exact), exact(type) {}

    bool is_exact() const { return kind == Kind::Exact; }
    std::string str() const;
    bool operator==(const TypePattern&) const = default;
};

// Reads the text form. Throws UserError (Syntax).
TypePattern parse_pattern(std::string_view text);

// What the variables of a signature stand for in one match.
struct Matches {
    std::map<std::string, ir::Type> types;  // "Scalar", "Float", "Int"
    std::map<std::string, int> lengths;
};

// Whether `type` fits; variables are bound on first use and compared afterwards.
bool match(const TypePattern& pattern, ir::Type type, Matches& matches);
// The type that a pattern gives once its variables are bound.
ir::Type substitute(const TypePattern& pattern, const Matches& matches);

// The names that users see: "float32", "vec3", "array(dtype=float32, ndim=2)". One place, used by all messages.
std::string user_name(ir::Type type);
// The name of the type's class in Python, "vec3f".
std::string class_name(ir::Type type);
// The scalar, vec, mat, quat or transform type that the kernel language calls so ("float", "vec3d", "mat22"); no type
// (Void) for other names.
ir::Type type_named(std::string_view name);

}  // namespace weft::builtins
