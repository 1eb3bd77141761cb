// Results of integer atomics that a derivative needs again, such as slots that a counter hands out: no repetition would
// give the same ones, so the kernel writes them to a log, which its adjoint reads.
#pragma once

#include <string>
#include <unordered_map>

#include "ir/builder.h"

namespace weft::ad {

// Where in an item's row of the log the result of an atomic is.
using AtomicLog = std::unordered_map<const ir::Op*, int>;

// The type of the log: a row an item, a column a result.
ir::Type log_type();

// The atomics of the kernel's own body whose results can be logged: of integers, used, and outside of loops.
AtomicLog loggable_atomics(const ir::Function& kernel);

// The place in the log of the item that runs.
ir::Value* place_in_log(ir::Builder& builder, ir::Value* log, int column);

// Adds the kernel that keeps the results, `<kernel>.logged`.
void add_logged(ir::Module& module, const ir::Function& kernel, const AtomicLog& log);

}  // namespace weft::ad
