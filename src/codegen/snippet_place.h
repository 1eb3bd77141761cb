// Where in the user's file a line of a snippet stands.
#pragma once

#include "base/source.h"
#include "ir/ir.h"

namespace weft::codegen {

// `line` and `column` of the snippet's source, counted from 1. Where the text cannot be found (it was put together
// while the program ran), the place is a file of its own, named after the function's.
Location snippet_place(const ir::Op& snippet, int line, int column);

}  // namespace weft::codegen
