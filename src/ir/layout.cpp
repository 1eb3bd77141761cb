#include "ir/layout.h"

#include <algorithm>

#include "base/error.h"

namespace weft::ir {
namespace {

int64_t field_align(Type type, int index) { return type.packed() ? 1 : align_of(type.part(index)); }

// The end of the first `count` parts, without trailing padding.
int64_t fields_end(Type type, int count) {
    int64_t end = 0;
    for (int i = 0; i < count; ++i) end = align_up(end, field_align(type, i)) + size_of(type.part(i));
    return end;
}

}  // namespace

int64_t align_of(Type type) {
    switch (type.kind()) {
        case TypeKind::Scalar:
        case TypeKind::Vec:
        case TypeKind::Mat:
        case TypeKind::Quat:
        case TypeKind::Transform:
            return scalar_bits(type.element()) / 8;
        case TypeKind::Struct:
        case TypeKind::Tuple: {
            int64_t alignment = std::max<int64_t>(1, type.alignment());
            for (int i = 0; i < type.part_count(); ++i) alignment = std::max(alignment, field_align(type, i));
            return alignment;
        }
        case TypeKind::Array:
            return 8;
        case TypeKind::Void:
        case TypeKind::Ref:
        case TypeKind::Stack:
            break;
    }
    WEFT_CHECK(false, type.str() + " has no layout");
}

int64_t size_of(Type type) {
    switch (type.kind()) {
        case TypeKind::Scalar:
            return scalar_bits(type.element()) / 8;
        case TypeKind::Vec:
        case TypeKind::Mat:
        case TypeKind::Quat:
        case TypeKind::Transform:
            return int64_t{type.part_count()} * (scalar_bits(type.element()) / 8);
        case TypeKind::Struct:
        case TypeKind::Tuple:
            return align_up(fields_end(type, type.part_count()), align_of(type));
        case TypeKind::Array:
            return descriptor_size(type.ndim());
        case TypeKind::Void:
        case TypeKind::Ref:
        case TypeKind::Stack:
            break;
    }
    WEFT_CHECK(false, type.str() + " has no layout");
}

int64_t offset_of(Type type, int index) {
    if (type.is_uniform()) return index * size_of(type.part(index));
    return align_up(fields_end(type, index), field_align(type, index));
}

}  // namespace weft::ir
