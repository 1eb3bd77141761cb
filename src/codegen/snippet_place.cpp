// The snippet's lines are laid along the file's: where most of them agree is where it stands. Lines that Python has
// formatted agree with nothing and are counted from their neighbours.
#include "codegen/snippet_place.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/snippet_header.h"

namespace weft::codegen {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
    Lines out;
    while (true) {
        const size_t end = text.find('\n');
        out.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return out;
        text.remove_prefix(end + 1);
    }
}

std::string_view trimmed(std::string_view line) {
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

// The index of the file's line at which the snippet begins.
std::optional<int> beginning(const Lines& snippet, const Lines& file, int near) {
    int written = 0;
    for (const std::string_view line : snippet) written += trimmed(line).empty() ? 0 : 1;
    int best = 0;
    std::optional<int> found;
    const auto count = static_cast<int>(file.size());
    for (int start = 0; start < count; ++start) {
        int agree = 0;
        for (size_t i = 0; i < snippet.size() && start + static_cast<int>(i) < count; ++i) {
            const std::string_view line = trimmed(snippet[i]);
            const bool same = file[static_cast<size_t>(start) + i].find(line) != std::string_view::npos;
            agree += !line.empty() && same ? 1 : 0;
        }
        // Of equal ones the nearest, above the function rather than below.
        const auto distance = [&](int at) { return at <= near ? near - at : 2 * count + at; };
        if (agree > best || (found && agree == best && distance(start) < distance(*found))) {
            best = agree;
            found = start;
        }
    }
    return 2 * best >= written && best > 0 ? found : std::nullopt;
}

}  // namespace

Location snippet_place(const ir::Op& snippet, int line, int column) {
    const std::string_view source = ir::SnippetHeader(snippet.text).source;
    if (source.starts_with(ir::kOwnSnippet)) return snippet.location;
    const Lines lines = lines_of(source);
    const int at = std::clamp(line, 1, static_cast<int>(lines.size())) - 1;
    const std::string_view text = lines[static_cast<size_t>(at)];
    const int within =
        at + 1 == line ? std::clamp(column - 1, 0, static_cast<int>(text.size())) : static_cast<int>(text.size());
    const Location& function = snippet.location;
    if (function.file) {
        const Lines file = lines_of(function.file->text);
        const int first = function.file->first_line;
        const auto start = beginning(lines, file, function.line - first);
        if (start && static_cast<size_t>(*start + at) < file.size()) {
            const std::string_view whole = file[static_cast<size_t>(*start + at)];
            const std::string_view part = trimmed(text);
            const size_t where = part.empty() ? 0 : whole.find(part);
            int begin = 0;
            if (where != std::string_view::npos) {
                begin = static_cast<int>(where) + within - static_cast<int>(part.empty() ? 0 : text.find(part));
            }
            return {function.file, *start + at + first, begin, *start + at + first, begin + 1};
        }
    }
    const std::string name = "snippet of " + (function.file ? function.file->path : std::string("a function"));
    const auto alone = std::make_shared<SourceFile>(SourceFile{name, std::string(source), 1});
    return {alone, at + 1, within, at + 1, within + 1};
}

}  // namespace weft::codegen
