// A module as one C++ file.
#pragma once

#include <string>

#include "codegen/backend.h"
#include "codegen/cxx/flavour.h"
#include "ir/ir.h"

namespace weft::codegen::cxx {

// All that a compiler needs; throws UserError for what snippets may not have (snippet_checks.h). `places`: lines of
// snippets are called those of the user's files, for people; else throw_compiler_error() finds them.
std::string source(const ir::Module& module, Flavour flavour, const Options& options, bool places = false);
// What of it the module is, without what all have in common.
std::string readable(const ir::Module& module, Flavour flavour, const Options& options);
// Throws what the compiler said: UserError at the user's line where it is about a snippet, else InternalError.
[[noreturn]] void throw_compiler_error(const ir::Module& module, const std::string& compiler, const std::string& log);

}  // namespace weft::codegen::cxx
