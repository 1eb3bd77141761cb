// The types of the IR: small immutable values, compared by identity because equal types share one node.
// Not here: sizes and offsets (layout.h, the only place that knows them).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

enum class Scalar : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64 };
inline constexpr int kScalarCount = 13;

enum class TypeKind : uint8_t {
    Void,       // no value
    Scalar,     // one number
    Vec,        // n numbers
    Mat,        // rows x columns numbers, row by row
    Quat,       // x, y, z, w
    Transform,  // position (3) then quaternion (4)
    Struct,     // named fields
    Tuple,      // unnamed parts
    Array,      // a view of strided memory: pointer, shape, strides
    Ref,        // the address of one value in memory; lives only inside a function
    Stack,      // a growable per-item stack, made by reverse mode
};

struct TypeNode;

class Type {
  public:
    struct Field;

    Type() = default;  // Void

    static Type scalar(Scalar element);
    static Type vec(int length, Scalar element);
    static Type mat(int rows, int columns, Scalar element);
    static Type quat(Scalar element);
    static Type transform(Scalar element);
    // Structs are equal when name, fields and layout demands are. `alignment` 0 is the natural one; `packed` has no
    // padding.
    static Type structure(std::string_view name, const std::vector<Field>& fields, int alignment = 0,
                          bool packed = false);
    static Type tuple(const std::vector<Type>& parts);
    static Type array(Type element, int ndim);
    static Type ref(Type target);
    static Type stack(Type element);

    TypeKind kind() const;
    bool is(TypeKind k) const { return kind() == k; }
    explicit operator bool() const { return node_ != nullptr; }
    bool operator==(const Type& other) const = default;

    bool is_scalar() const { return is(TypeKind::Scalar); }
    bool is_scalar(Scalar s) const { return is_scalar() && element() == s; }
    bool is_bool() const { return is_scalar(Scalar::Bool); }
    bool is_float() const;   // a floating-point scalar
    bool is_int() const;     // an integer scalar (bool is not)
    bool is_signed() const;  // a signed integer scalar
    // Vec, Mat, Quat or Transform: parts are scalars of one type, on which elementwise ops work.
    bool is_uniform() const;
    // Scalar or uniform with floating-point elements.
    bool has_float_elements() const;
    // Any float reachable by value or through arrays: the type has a derivative.
    bool is_differentiable() const;
    // Contains an Array somewhere (itself, a field, a part).
    bool contains_array() const;

    Scalar element() const;  // the scalar type: of a Scalar itself, of uniform types their element
    Type element_type() const { return scalar(element()); }
    int rows() const;     // Mat
    int columns() const;  // Mat
    int ndim() const;     // Array
    Type target() const;  // Array: element type; Ref: what it refers to; Stack: element

    // Aggregates (uniform, Struct, Tuple) are seen as a list of parts; a Mat's are its scalars, row by row.
    bool is_aggregate() const;
    int part_count() const;
    Type part(int index) const;

    const std::string& name() const;               // Struct
    const std::vector<Field>& fields() const;      // Struct
    int field_index(std::string_view name) const;  // Struct; -1 when there is none
    int alignment() const;                         // Struct, demanded; 0 natural
    bool packed() const;                           // Struct

    // The text form, as in "vec<3, f32>"; parse_type in text.h reads it back.
    std::string str() const;
    const void* identity() const { return node_; }

  private:
    friend struct TypeNode;
    friend class TypeTable;
    explicit Type(const TypeNode* node) : node_(node) {}
    const TypeNode* node_ = nullptr;
};

struct Type::Field {
    std::string name;
    Type type;
    bool operator==(const Field&) const = default;
};

std::string_view scalar_name(Scalar s);  // "f32"
int scalar_bits(Scalar s);               // 32; a bool is 8 in memory
bool is_float(Scalar s);
bool is_int(Scalar s);
bool is_signed_int(Scalar s);

inline Type boolean() { return Type::scalar(Scalar::Bool); }
inline Type i32() { return Type::scalar(Scalar::I32); }
inline Type i64() { return Type::scalar(Scalar::I64); }
inline Type f32() { return Type::scalar(Scalar::F32); }
inline Type f64() { return Type::scalar(Scalar::F64); }

}  // namespace weft::ir

template <>
struct std::hash<weft::ir::Type> {
    size_t operator()(const weft::ir::Type& t) const noexcept { return std::hash<const void*>()(t.identity()); }
};
