// What the text of native snippets tells before a compiler reads it.
#pragma once

#include "codegen/cxx/flavour.h"
#include "ir/ir.h"

namespace weft::codegen::cxx {

// Whether a snippet mentions what only threads of a block have.
bool asks_for_blocks(const ir::Module& module);
// Throws UserError (Syntax) at the user's line for what would compile to something else than it says, or with a message
// that nobody understands: headers, and on MACA inline assembly and masks that leave out half of the lanes.
void check_snippets(const ir::Module& module, Flavour flavour);

}  // namespace weft::codegen::cxx
