// What a C++ compiler says of native snippets, as an error at the user's line.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/snippet_text.h"

namespace weft::codegen {

// One line of a compiler's: an error, or a note that belongs to the one before.
struct CompilerMessage {
    bool is_note = false;
    std::string file;  // as #line calls it; "" where there is no place
    int line = 0;
    int column = 0;  // from 1
    std::string text;
};

// Whether the message is about the text of a snippet.
bool is_of_snippet(const CompilerMessage& message, const SnippetText& text);
// There is at least one snippet.
UserError snippet_error(const std::vector<CompilerMessage>& messages, const SnippetText& text);
// Of a snippet that the backward pass would run a second time (ir::SnippetUse::Repeat), and that changes memory.
UserError repeated_snippet_error(const ir::Op& snippet);

}  // namespace weft::codegen
