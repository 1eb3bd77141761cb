// SPMD: emits a kernel's body for a run of consecutive items side by side, one a lane of vectors. Values that are the
// same for all lanes stay scalar, arms of an `if` run under masks, loops turn while any lane does.
// Needs a kernel without calls in which every region ends in yield (codegen/compile.h: for_lanes).
// Not here: which items (kernel_entry.cpp), the meaning of scalar ops (scalar.h).
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

#include "codegen/llvm/function_emitter.h"

namespace weft::codegen::llvm_backend {

// A condition on the launch, about the leaf of the kernel's parameters with this number, counted through all of them.
struct LaneCondition {
    enum class Kind : uint8_t {
        Equals,    // the leaf is `value`
        IsNarrow,  // the array of `value` dimensions that begins with the leaf spans less than 2 GiB
    };
    size_t leaf = 0;
    int64_t value = 0;
    Kind kind = Kind::Equals;
    bool operator==(const LaneCondition&) const = default;
};

struct LaneBody {
    llvm::Function* function = nullptr;  // null: the kernel is not fit for lanes
    int lanes = 0;
    std::vector<LaneCondition> conditions;
    bool streams = false;  // has stores that pass the caches by where the launch says so (LaunchShape::streams)
};

// The function takes the launch's shape, the first lane's linear index (i64) and coordinates (i64, as many as the
// module uses), and the leaves of the kernel's parameters. Lanes differ in the last of these coordinates only.
LaneBody emit_lanes(ModuleContext& module, const ir::Function& kernel, int lanes);

}  // namespace weft::codegen::llvm_backend
