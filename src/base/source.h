// Source locations: which file, line and columns a piece of a program came from.
// A Location is a small value carried by every IR op; the file itself is shared and immutable.
// Not here: how an error is rendered (error.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

// The text a kernel was written in. `first_line` is the line number of the text's first line in the file, so that a
// snippet of a file (one function) can be kept instead of the whole.
struct SourceFile {
    std::string path;
    std::string text;
    int first_line = 1;

    // The text of line `line` (numbered as in the file), without its newline; empty when it is not part of the text.
    std::string_view line(int line) const;
};

// Lines count from 1, columns from 0 (as Python's `ast` does), `end_column` is one past the last character.
struct Location {
    std::shared_ptr<const SourceFile> file;
    int line = 0;
    int column = 0;
    int end_line = 0;
    int end_column = 0;

    explicit operator bool() const { return line > 0; }
};

}  // namespace weft
