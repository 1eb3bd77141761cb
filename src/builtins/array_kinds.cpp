#include "builtins/array_kinds.h"

#include <vector>

#include "base/error.h"

namespace weft::builtins {
namespace {

using ir::Type;
using ir::TypeKind;

// Names that no class of the user has.
constexpr std::string_view kIndexed = "$indexedarray";
constexpr std::string_view kFabric = "$fabricarray";
constexpr std::string_view kIndexedFabric = "$indexedfabricarray";
constexpr std::string_view kHolder = "$array";

Type holder(Type array) { return Type::structure(kHolder, {{"data", array}}); }

Type ints() { return Type::array(ir::i32(), 1); }

bool named(Type type, std::string_view name) { return type.is(TypeKind::Struct) && type.name() == name; }

}  // namespace

Type array_type(ArrayKind kind, Type element, int ndim) {
    switch (kind) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed: {
            std::vector<Type::Field> fields = {{"data", Type::array(element, ndim)}};
            for (int i = 0; i < ndim; ++i) fields.push_back({"indices" + std::to_string(i), ints()});
            return Type::structure(kIndexed, fields);
        }
        case ArrayKind::Fabric: {
            const Type inner = ndim == 1 ? element : holder(Type::array(element, 1));
            return Type::structure(kFabric,
                                   {{"starts", ints()}, {"buckets", Type::array(holder(Type::array(inner, 1)), 1)}});
        }
        case ArrayKind::IndexedFabric:
            return Type::structure(kIndexedFabric,
                                   {{"fabric", array_type(ArrayKind::Fabric, element, ndim)}, {"indices", ints()}});
    }
    return Type::array(element, ndim);
}

bool is_array_like(Type type) {
    return type.is(TypeKind::Array) || named(type, kIndexed) || named(type, kFabric) || named(type, kIndexedFabric);
}

ArrayKind array_kind(Type type) {
    if (named(type, kIndexed)) return ArrayKind::Indexed;
    if (named(type, kFabric)) return ArrayKind::Fabric;
    if (named(type, kIndexedFabric)) return ArrayKind::IndexedFabric;
    WEFT_CHECK(type.is(TypeKind::Array), type.str() + " is no array");
    return ArrayKind::Plain;
}

// What the buckets of a fabric array hold.
static Type bucket_element(Type fabric) { return fabric.part(1).target().part(0).target(); }

Type array_element(Type type) {
    switch (array_kind(type)) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed:
            return type.part(0).target();
        case ArrayKind::Fabric: {
            const Type inner = bucket_element(type);
            return named(inner, kHolder) ? inner.part(0).target() : inner;
        }
        case ArrayKind::IndexedFabric:
            return array_element(type.part(0));
    }
    return type.target();
}

int array_ndim(Type type) {
    switch (array_kind(type)) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed:
            return type.part(0).ndim();
        case ArrayKind::Fabric:
            return named(bucket_element(type), kHolder) ? 2 : 1;
        case ArrayKind::IndexedFabric:
            return array_ndim(type.part(0));
    }
    return type.ndim();
}

std::string array_word(ArrayKind kind) {
    switch (kind) {
        case ArrayKind::Plain:
            break;
        case ArrayKind::Indexed:
            return "indexedarray";
        case ArrayKind::Fabric:
            return "fabricarray";
        case ArrayKind::IndexedFabric:
            return "indexedfabricarray";
    }
    return "array";
}

ArrayKind array_kind_of(const std::string& word) {
    for (const ArrayKind kind : {ArrayKind::Plain, ArrayKind::Indexed, ArrayKind::Fabric, ArrayKind::IndexedFabric}) {
        if (array_word(kind) == word) return kind;
    }
    throw UserError(ErrorKind::Value, "there are no arrays of kind '" + word + "'");
}

}  // namespace weft::builtins
