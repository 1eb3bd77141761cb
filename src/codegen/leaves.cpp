#include "codegen/leaves.h"

#include "base/error.h"
#include "ir/layout.h"

namespace weft::codegen {
namespace {

void append(ir::Type type, int64_t offset, std::vector<Leaf>& out) {
    switch (type.kind()) {
        case ir::TypeKind::Scalar:
            out.push_back({LeafKind::Number, type.element(), offset});
            return;
        case ir::TypeKind::Array:
            out.push_back({LeafKind::Pointer, ir::Scalar::I64, offset});
            for (int i = 0; i < 2 * type.ndim(); ++i) {
                out.push_back({LeafKind::Extent, ir::Scalar::I64, offset + ir::descriptor_shape_offset(i)});
            }
            return;
        case ir::TypeKind::Ref:
        case ir::TypeKind::Stack:
            out.push_back({LeafKind::Pointer, ir::Scalar::I64, offset});
            return;
        case ir::TypeKind::Void:
            return;
        default:
            break;
    }
    WEFT_CHECK(type.is_aggregate(), type.str() + " has no leaves");
    for (int i = 0; i < type.part_count(); ++i) append(type.part(i), offset + ir::offset_of(type, i), out);
}

}  // namespace

std::vector<Leaf> leaves(ir::Type type) {
    std::vector<Leaf> out;
    append(type, 0, out);
    return out;
}

int leaf_count(ir::Type type) {
    switch (type.kind()) {
        case ir::TypeKind::Void:
            return 0;
        case ir::TypeKind::Scalar:
        case ir::TypeKind::Ref:
        case ir::TypeKind::Stack:
            return 1;
        case ir::TypeKind::Array:
            return 1 + 2 * type.ndim();
        default:
            break;
    }
    return type.is_uniform() ? type.part_count() : first_leaf(type, type.part_count());
}

int first_leaf(ir::Type aggregate, int part) {
    if (aggregate.is_uniform()) return part;
    int count = 0;
    for (int i = 0; i < part; ++i) count += leaf_count(aggregate.part(i));
    return count;
}

}  // namespace weft::codegen
