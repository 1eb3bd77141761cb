#include "base/source.h"

namespace weft {

std::string_view SourceFile::line(int line) const {
    std::string_view rest = text;
    for (int i = first_line; i < line; ++i) {
        const auto newline = rest.find('\n');
        if (newline == std::string_view::npos) return {};
        rest.remove_prefix(newline + 1);
    }
    if (line < first_line) return {};
    return rest.substr(0, rest.find('\n'));
}

}  // namespace weft
