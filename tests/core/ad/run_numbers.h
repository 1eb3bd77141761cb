// Runs kernels whose parameters are 1-D float64 arrays and i32 scalars, for the tests of derivatives.
#pragma once

#include <cstring>
#include <vector>

#include "codegen/backend.h"
#include "runtime/compiler.h"

namespace weft::ad {

using Numbers = std::vector<double>;

inline runtime::Compiler& compiler() {
    static runtime::Compiler service(nullptr);
    return service;
}

// `arrays` are the arrays among the parameters in order; an empty one is the null array.
inline void run(const ir::Function& f, codegen::KernelEntry entry, const std::vector<Numbers*>& arrays,
                const std::vector<int>& scalars, int items) {
    const auto offsets = codegen::parameter_offsets(f);
    std::vector<int64_t> block(static_cast<size_t>(offsets.back()) / 8 + 1);
    auto* bytes = reinterpret_cast<char*>(block.data());
    size_t array = 0;
    size_t scalar = 0;
    for (size_t i = 0; i < f.parameters().size(); ++i) {
        if (f.parameters()[i]->type.is(ir::TypeKind::Array)) {
            const Numbers& data = *arrays.at(array++);
            const int64_t descriptor[3] = {reinterpret_cast<int64_t>(data.data()), static_cast<int64_t>(data.size()),
                                           8};
            std::memcpy(bytes + offsets[i], descriptor, sizeof(descriptor));
        } else {
            std::memcpy(bytes + offsets[i], &scalars.at(scalar++), 4);
        }
    }
    codegen::LaunchShape shape;
    shape.dims[0] = items;
    entry(bytes, &shape, 0, items);
}

}  // namespace weft::ad
