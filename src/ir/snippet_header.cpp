#include "ir/snippet_header.h"

#include <algorithm>

namespace weft::ir {

SnippetHeader::SnippetHeader(std::string_view text) {
    const size_t end = std::min(text.find('\n'), text.size());
    source = text.substr(std::min(end + 1, text.size()));
    std::vector<std::string>* names = &operands;
    for (size_t i = 0; i < end;) {
        const size_t stop = std::min(text.find(' ', i), end);
        const std::string_view word = text.substr(i, stop - i);
        if (word == ">") {
            names = &results;
        } else if (!word.empty()) {
            names->emplace_back(word);
        }
        i = stop + 1;
    }
}

}  // namespace weft::ir
