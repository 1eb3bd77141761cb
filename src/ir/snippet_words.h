// The words of C++ text, for whoever asks what a snippet mentions.
#pragma once

#include <string_view>
#include <vector>

namespace weft::ir {

// Identifiers, numbers and operators, parts of the text; no comments; a literal of text is one word.
std::vector<std::string_view> snippet_words(std::string_view text);
// Of an identifier.
bool is_letter(char c);

}  // namespace weft::ir
