// The text form of the IR: printed for people, `dump`, tests and hashing; parse(print(m)) gives print(m) again.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "ir/ir.h"

namespace weft::ir {

using SourceFiles = std::vector<std::shared_ptr<const SourceFile>>;

struct PrintOptions {
    bool names = true;       // the user's names in values; off for hashing, so that renaming a local changes nothing
    bool locations = false;  // " @line:column" behind ops that have one
    // Locations in full, also of functions; the files are collected here, and printed by their number.
    SourceFiles* files = nullptr;
};

std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});

// Throws UserError (Syntax) with the line of the text. `files`: those that print() collected.
std::unique_ptr<Module> parse(std::string_view text, const SourceFiles& files = {});
Type parse_type(std::string_view text);

}  // namespace weft::ir
