// Which arrays the C++ text of a Snippet may write to.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace weft::opt {

// One an operand: false where it is certain that the snippet writes nothing through it.
std::vector<bool> written_by_snippet(const ir::Op& snippet);

}  // namespace weft::opt
