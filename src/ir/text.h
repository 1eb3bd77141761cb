// The text form of the IR: printed for people, `dump`, tests and hashing; parse(print(m)) gives print(m) again.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"

namespace weft::ir {

struct PrintOptions {
    bool names = true;       // the user's names in values; off for hashing, so that renaming a local changes nothing
    bool locations = false;  // " @line:column" behind ops that have one
};

std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});

// Throws UserError (Syntax) with the line of the text.
std::unique_ptr<Module> parse(std::string_view text);
Type parse_type(std::string_view text);

}  // namespace weft::ir
