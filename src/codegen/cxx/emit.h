// Prints an IR module as C++: structured control stays structured, the user's names stay where they are known.
#pragma once

#include <string>

#include "codegen/backend.h"
#include "codegen/cxx/flavour.h"
#include "ir/ir.h"

namespace weft::codegen::cxx {

// The program without its prelude and without the text of its snippets, which it declares. Kernels become entries: of
// the host as backend.h says, of a GPU as llvm/nvptx/thread_entry.cpp tells.
std::string emit(const ir::Module& module, Flavour flavour, const Options& options);

}  // namespace weft::codegen::cxx
