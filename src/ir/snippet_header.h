// The text of a Snippet op taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::ir {

// How the source of a snippet begins that is not the user's: it stands for a call.
inline constexpr std::string_view kOwnSnippet = "// wp.";

struct SnippetHeader {
    std::vector<std::string> operands;
    std::vector<std::string> results;  // "return", if the first one is, is what C++ returns
    std::string_view source;           // part of the op's text

    explicit SnippetHeader(std::string_view text);
};

}  // namespace weft::ir
