"""Turns files into a C++ source that holds their bytes, and the header that declares it.

usage: embed.py NAME OUT.cpp OUT.h [FILE...]

`weft::embedded::NAME()` returns one (name, contents) pair a file, in the order given; the name is the
file's own, without folders.
"""

import sys
from pathlib import Path

HEADER = """// Written by tools/embed.py.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace weft::embedded {{

std::span<const std::pair<std::string_view, std::string_view>> {name}();

}}  // namespace weft::embedded
"""

SOURCE = """// Written by tools/embed.py.
#include "embedded/{name}.h"

#include <array>

#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace weft::embedded {{

std::span<const std::pair<std::string_view, std::string_view>> {name}() {{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, {count}> files{braces};
    return files;
}}

}}  // namespace weft::embedded
"""

# A three-digit octal escape ends by itself, whatever byte follows it.
BYTES = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\n" if b == 10 else f"\\{b:03o}" for b in range(256)]


def literal(data: bytes) -> str:
    """`data` as a C++ string literal, one piece a line of text or 200 bytes."""
    pieces = [data[i : i + 200] for i in range(0, len(data), 200)] or [b""]
    return "\n        ".join('"' + "".join(BYTES[b] for b in piece) + '"' for piece in pieces)


def main(name: str, source: str, header: str, *files: str) -> None:
    entries = []
    for file in map(Path, files):
        data = file.read_bytes()
        contents = f"std::string_view({literal(data)}, {len(data)})"
        entries.append(f'    std::pair{{std::string_view("{file.name}"),\n        {contents}}}')
    braces = "{{\n    " + ",\n    ".join(entries) + "}}" if entries else "{}"
    Path(header).parent.mkdir(parents=True, exist_ok=True)
    Path(header).write_text(HEADER.format(name=name))
    Path(source).write_text(SOURCE.format(name=name, count=len(entries), braces=braces))


if __name__ == "__main__":
    main(*sys.argv[1:])
