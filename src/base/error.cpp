#include "base/error.h"

#include <algorithm>

namespace weft {

std::string render(std::string_view message, const Location& location, const std::vector<std::string>& notes) {
    std::string out(message);
    if (location) {
        const std::string path = location.file ? location.file->path : "<unknown>";
        out += "\n  File \"" + path + "\", line " + std::to_string(location.line);
        std::string_view line = location.file ? location.file->line(location.line) : std::string_view{};
        if (!line.empty()) {
            const auto indent = std::min(line.find_first_not_of(" \t"), line.size());
            const int start = std::max(location.column, static_cast<int>(indent));
            const bool one_line = location.end_line == location.line || location.end_line == 0;
            const int end = one_line ? location.end_column : static_cast<int>(line.size());
            out += "\n    " + std::string(line.substr(indent));
            out += "\n    " + std::string(static_cast<size_t>(start) - indent, ' ');
            out += std::string(static_cast<size_t>(std::max(1, end - start)), '^');
        }
    }
    for (const auto& note : notes) out += "\n  " + note;
    return out;
}

UserError::UserError(ErrorKind kind, std::string message, Location location)
    : UserError(kind, std::move(message), std::move(location), {}) {}

UserError::UserError(ErrorKind kind, std::string message, Location location, std::vector<std::string> notes)
    : std::runtime_error(render(message, location, notes)),
      kind_(kind),
      message_(std::move(message)),
      location_(std::move(location)),
      notes_(std::move(notes)) {}

UserError UserError::with_note(std::string note) const {
    auto notes = notes_;
    notes.push_back(std::move(note));
    return {kind_, message_, location_, std::move(notes)};
}

UserError UserError::at(const Location& location) const {
    return location_ ? *this : UserError{kind_, message_, location, notes_};
}

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
    const std::string_view path(file);
    const auto source = path.rfind("src/");
    throw InternalError("internal error: " + message + " [" + condition + "] at " +
                        std::string(source == std::string_view::npos ? path : path.substr(source)) + ":" +
                        std::to_string(line));
}

}  // namespace weft
