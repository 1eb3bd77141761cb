#include "ir/type.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace weft::ir {

struct TypeNode {
    TypeKind kind = TypeKind::Void;
    Scalar element = Scalar::F32;
    int a = 0;  // Vec: length, Mat: rows, Array: ndim, Struct: alignment
    int b = 0;  // Mat: columns, Struct: packed
    Type target;
    std::string name;
    std::vector<Type::Field> fields;  // Struct, and Tuple with empty names
    bool differentiable = false;
    bool contains_array = false;
    std::string text;
};

// Equal types share one node, found by their text form. The table only grows and hides behind value semantics: it is
// a cache of immutable values, not state.
class TypeTable {
  public:
    static TypeTable& instance() {
        static TypeTable table;
        return table;
    }

    Type intern(TypeNode node) {
        const std::lock_guard lock(mutex_);
        auto [it, inserted] = index_.try_emplace(node.text, nullptr);
        if (inserted) {
            finish(node);
            nodes_.push_back(std::move(node));
            it->second = &nodes_.back();
        }
        return Type(it->second);
    }

  private:
    static void finish(TypeNode& node) {
        switch (node.kind) {
            case TypeKind::Scalar:
            case TypeKind::Vec:
            case TypeKind::Mat:
            case TypeKind::Quat:
            case TypeKind::Transform:
                node.differentiable = is_float(node.element);
                break;
            case TypeKind::Array:
                node.differentiable = node.target.is_differentiable();
                node.contains_array = true;
                break;
            case TypeKind::Struct:
            case TypeKind::Tuple:
                for (const auto& field : node.fields) {
                    node.differentiable |= field.type.is_differentiable();
                    node.contains_array |= field.type.contains_array();
                }
                break;
            case TypeKind::Void:
            case TypeKind::Ref:
            case TypeKind::Stack:
                break;
        }
    }

    std::mutex mutex_;
    std::deque<TypeNode> nodes_;
    std::unordered_map<std::string, const TypeNode*> index_;
};

namespace {

struct ScalarInfo {
    std::string_view name;
    int bits;
    char family;  // 'b' bool, 'i' signed, 'u' unsigned, 'f' float
};

constexpr std::array<ScalarInfo, kScalarCount> kScalars = {{{"bool", 8, 'b'},
                                                            {"i8", 8, 'i'},
                                                            {"i16", 16, 'i'},
                                                            {"i32", 32, 'i'},
                                                            {"i64", 64, 'i'},
                                                            {"u8", 8, 'u'},
                                                            {"u16", 16, 'u'},
                                                            {"u32", 32, 'u'},
                                                            {"u64", 64, 'u'},
                                                            {"f16", 16, 'f'},
                                                            {"bf16", 16, 'f'},
                                                            {"f32", 32, 'f'},
                                                            {"f64", 64, 'f'}}};

const ScalarInfo& info(Scalar s) { return kScalars[static_cast<size_t>(s)]; }

TypeNode uniform(TypeKind kind, Scalar element, int a, int b, std::string text) {
    TypeNode node;
    node.kind = kind;
    node.element = element;
    node.a = a;
    node.b = b;
    node.text = std::move(text);
    return node;
}

std::array<Type, kScalarCount> make_scalars() {
    std::array<Type, kScalarCount> out;
    for (int i = 0; i < kScalarCount; ++i) {
        const auto s = static_cast<Scalar>(i);
        out[static_cast<size_t>(i)] =
            TypeTable::instance().intern(uniform(TypeKind::Scalar, s, 0, 0, std::string(scalar_name(s))));
    }
    return out;
}

}  // namespace

std::string_view scalar_name(Scalar s) { return info(s).name; }
int scalar_bits(Scalar s) { return info(s).bits; }
bool is_float(Scalar s) { return info(s).family == 'f'; }
bool is_int(Scalar s) { return info(s).family == 'i' || info(s).family == 'u'; }
bool is_signed_int(Scalar s) { return info(s).family == 'i'; }

Type Type::scalar(Scalar element) {
    static const auto scalars = make_scalars();
    return scalars[static_cast<size_t>(element)];
}

Type Type::vec(int length, Scalar element) {
    WEFT_CHECK(length > 0, "vec length " + std::to_string(length));
    return TypeTable::instance().intern(
        uniform(TypeKind::Vec, element, length, 0,
                "vec<" + std::to_string(length) + ", " + std::string(scalar_name(element)) + ">"));
}

Type Type::mat(int rows, int columns, Scalar element) {
    WEFT_CHECK(rows > 0 && columns > 0, "mat shape");
    return TypeTable::instance().intern(uniform(TypeKind::Mat, element, rows, columns,
                                                "mat<" + std::to_string(rows) + ", " + std::to_string(columns) + ", " +
                                                    std::string(scalar_name(element)) + ">"));
}

Type Type::quat(Scalar element) {
    return TypeTable::instance().intern(
        uniform(TypeKind::Quat, element, 4, 0, "quat<" + std::string(scalar_name(element)) + ">"));
}

Type Type::transform(Scalar element) {
    return TypeTable::instance().intern(
        uniform(TypeKind::Transform, element, 7, 0, "transform<" + std::string(scalar_name(element)) + ">"));
}

Type Type::structure(std::string_view name, const std::vector<Field>& fields, int alignment, bool packed) {
    TypeNode node;
    node.kind = TypeKind::Struct;
    node.name = name;
    node.fields = fields;
    node.a = alignment;
    node.b = packed ? 1 : 0;
    node.text = "struct " + std::string(name) + "<";
    if (alignment != 0) node.text += "align " + std::to_string(alignment) + " ";
    if (packed) node.text += "packed ";
    for (size_t i = 0; i < fields.size(); ++i) {
        node.text += (i == 0 ? "" : ", ") + fields[i].name + ": " + fields[i].type.str();
    }
    node.text += ">";
    return TypeTable::instance().intern(std::move(node));
}

Type Type::tuple(const std::vector<Type>& parts) {
    TypeNode node;
    node.kind = TypeKind::Tuple;
    node.text = "tuple<";
    for (size_t i = 0; i < parts.size(); ++i) {
        node.fields.push_back({"", parts[i]});
        node.text += (i == 0 ? "" : ", ") + parts[i].str();
    }
    node.text += ">";
    return TypeTable::instance().intern(std::move(node));
}

Type Type::array(Type element, int ndim) {
    WEFT_CHECK(ndim >= 1 && ndim <= 8, "array of " + std::to_string(ndim) + " dimensions");
    TypeNode node;
    node.kind = TypeKind::Array;
    node.target = element;
    node.a = ndim;
    node.text = "array<" + element.str() + ", " + std::to_string(ndim) + ">";
    return TypeTable::instance().intern(std::move(node));
}

Type Type::ref(Type target) {
    TypeNode node;
    node.kind = TypeKind::Ref;
    node.target = target;
    node.text = "ref<" + target.str() + ">";
    return TypeTable::instance().intern(std::move(node));
}

Type Type::stack(Type element) {
    TypeNode node;
    node.kind = TypeKind::Stack;
    node.target = element;
    node.text = "stack<" + element.str() + ">";
    return TypeTable::instance().intern(std::move(node));
}

TypeKind Type::kind() const { return node_ ? node_->kind : TypeKind::Void; }
bool Type::is_float() const { return is_scalar() && ir::is_float(node_->element); }
bool Type::is_int() const { return is_scalar() && ir::is_int(node_->element); }
bool Type::is_signed() const { return is_scalar() && is_signed_int(node_->element); }

bool Type::is_uniform() const {
    const TypeKind k = kind();
    return k == TypeKind::Vec || k == TypeKind::Mat || k == TypeKind::Quat || k == TypeKind::Transform;
}

bool Type::has_float_elements() const { return (is_scalar() || is_uniform()) && ir::is_float(node_->element); }
bool Type::is_differentiable() const { return node_ && node_->differentiable; }
bool Type::contains_array() const { return node_ && node_->contains_array; }

Scalar Type::element() const {
    WEFT_CHECK(is_scalar() || is_uniform(), "element() of " + str());
    return node_->element;
}

int Type::rows() const {
    WEFT_CHECK(is(TypeKind::Mat), "rows() of " + str());
    return node_->a;
}

int Type::columns() const {
    WEFT_CHECK(is(TypeKind::Mat), "columns() of " + str());
    return node_->b;
}

int Type::ndim() const {
    WEFT_CHECK(is(TypeKind::Array), "ndim() of " + str());
    return node_->a;
}

Type Type::target() const {
    WEFT_CHECK(is(TypeKind::Array) || is(TypeKind::Ref) || is(TypeKind::Stack), "target() of " + str());
    return node_->target;
}

bool Type::is_aggregate() const { return is_uniform() || is(TypeKind::Struct) || is(TypeKind::Tuple); }

int Type::part_count() const {
    WEFT_CHECK(is_aggregate(), "part_count() of " + str());
    if (is(TypeKind::Mat)) return node_->a * node_->b;
    return is_uniform() ? node_->a : static_cast<int>(node_->fields.size());
}

Type Type::part(int index) const {
    WEFT_CHECK(index >= 0 && index < part_count(), "part " + std::to_string(index) + " of " + str());
    return is_uniform() ? scalar(node_->element) : node_->fields[static_cast<size_t>(index)].type;
}

const std::string& Type::name() const {
    WEFT_CHECK(is(TypeKind::Struct), "name() of " + str());
    return node_->name;
}

const std::vector<Type::Field>& Type::fields() const {
    WEFT_CHECK(is(TypeKind::Struct), "fields() of " + str());
    return node_->fields;
}

int Type::field_index(std::string_view name) const {
    const auto& all = fields();
    const auto it = std::find_if(all.begin(), all.end(), [&](const Field& f) { return f.name == name; });
    return it == all.end() ? -1 : static_cast<int>(it - all.begin());
}

int Type::alignment() const { return is(TypeKind::Struct) ? node_->a : 0; }
bool Type::packed() const { return is(TypeKind::Struct) && node_->b != 0; }
std::string Type::str() const { return node_ ? node_->text : "void"; }

}  // namespace weft::ir
