#include "ir/snippet_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace weft::ir {

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

std::vector<std::string_view> snippet_words(std::string_view text) {
    constexpr auto kOperators =
        std::to_array<std::string_view>({"<<=", ">>=", "->*", "...", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=",
                                         "|=",  "^=",  "==",  "!=",  "<=", ">=", "&&", "||", "<<", ">>", "->", "::"});
    std::vector<std::string_view> out;
    for (size_t i = 0; i < text.size();) {
        const std::string_view rest = text.substr(i);
        size_t length = 1;
        bool skipped = false;
        if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
            skipped = true;
        } else if (rest.starts_with("//")) {
            length = std::min(rest.find('\n'), rest.size());
            skipped = true;
        } else if (rest.starts_with("/*")) {
            length = std::min(rest.find("*/", 2), rest.size() - 2) + 2;
            skipped = true;
        } else if (text[i] == '"' || text[i] == '\'') {
            while (length < rest.size() && rest[length] != rest[0]) length += rest[length] == '\\' ? 2 : 1;
            length = std::min(length + 1, rest.size());
        } else if (is_letter(text[i])) {
            while (length < rest.size() && (is_letter(rest[length]) || rest[length] == '.')) {
                if (rest[length] == '.' && std::isdigit(static_cast<unsigned char>(rest[0])) == 0) break;
                ++length;
            }
        } else {
            const auto found = std::ranges::find_if(kOperators, [&](auto one) { return rest.starts_with(one); });
            if (found != kOperators.end()) length = found->size();
        }
        if (!skipped) out.push_back(rest.substr(0, length));
        i += length;
    }
    return out;
}

}  // namespace weft::ir
