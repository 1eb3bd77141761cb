// The C++ source of a module's snippets (ir/ops.def, Snippet), for a compiler that has read device/snippets/ before.
// Each becomes a function `extern "C" void <symbol>(void* operand..., void* result...)`: values and array descriptors
// lie in memory as ir/layout.h says, a reference is the address it refers to; results follow. Where C++ asserts, the
// LaunchShape and the address of the item's number come last.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace weft::codegen {

struct SnippetText {
    std::string source;
    // The op whose text the lines of "snippet:<index>" are, as #line calls them; "end:<index>" is what follows it.
    std::vector<const ir::Op*> snippets;
};

// Whether the module has snippets that check while they run: in debug mode.
bool has_checked_snippets(const ir::Module& module);
// Snippets of equal text and types have one symbol.
std::string snippet_symbol(const ir::Op& snippet);
// What a snippet's source is compiled as; its lines stay.
using SnippetRewrite = std::function<std::string(std::string_view source)>;
// Of all snippets of the module; none: no source. `places`: #line speaks of the user's files instead.
SnippetText snippet_text(const ir::Module& module, bool places = false, const SnippetRewrite& rewrite = {});

}  // namespace weft::codegen
