#include "runtime/array_places.h"

#include "ir/layout.h"

namespace weft::runtime {

void find_arrays(ir::Type type, int64_t offset, std::vector<ArrayPlace>& out) {
    if (type.is(ir::TypeKind::Array)) {
        out.push_back({offset, type});
    } else if (type.contains_array()) {
        for (int i = 0; i < type.part_count(); ++i) find_arrays(type.part(i), offset + ir::offset_of(type, i), out);
    }
}

}  // namespace weft::runtime
