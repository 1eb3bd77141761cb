#include "codegen/snippet_errors.h"

#include <algorithm>

#include "codegen/snippet_place.h"

namespace weft::codegen {
namespace {

constexpr size_t kShown = 4;  // further messages

// The snippet and its line that a message is about; where it is about what follows a snippet, the end of that.
Location place_of(const CompilerMessage& message, const SnippetText& text) {
    const auto colon = message.file.find(':');
    const std::string kind = message.file.substr(0, colon);
    if (colon == std::string::npos || (kind != "snippet" && kind != "end")) return {};
    const ir::Op& op = *text.snippets.at(std::stoul(message.file.substr(colon + 1)));
    return kind == "snippet" ? snippet_place(op, message.line, message.column) : snippet_place(op, 1 << 20, 1);
}

std::string note_of(const CompilerMessage& message, const SnippetText& text) {
    const Location place = place_of(message, text);
    return (message.is_note ? "" : "also: ") + message.text + (place ? ", line " + std::to_string(place.line) : "");
}

}  // namespace

bool is_of_snippet(const CompilerMessage& message, const SnippetText& text) { return bool(place_of(message, text)); }

UserError snippet_error(const std::vector<CompilerMessage>& messages, const SnippetText& text) {
    // The first error in a snippet; what it says of the headers belongs to the call that led there.
    auto first =
        std::ranges::find_if(messages, [&](const CompilerMessage& m) { return !m.is_note && place_of(m, text); });
    if (first == messages.end()) {
        first = std::ranges::find_if(messages, [&](const CompilerMessage& m) { return bool(place_of(m, text)); });
    }
    // Else it is about what was made of the function's parameters, such as one whose name is a word of C++.
    if (first == messages.end()) {
        const std::string reason = messages.empty() ? "no reason given" : messages.front().text;
        return {ErrorKind::Syntax, "the native function does not compile: " + reason, text.snippets.front()->location};
    }
    std::string what = first->is_note ? messages.front().text : first->text;
    std::vector<std::string> notes;
    if (what.find("file not found") != std::string::npos) {
        notes.emplace_back(
            "native snippets include no headers: numbers, mathematics, vectors, arrays and atomics are there");
    }
    for (auto m = first + 1; m != messages.end() && notes.size() < kShown; ++m) {
        if (place_of(*m, text)) notes.push_back(note_of(*m, text));
    }
    UserError error(ErrorKind::Syntax, "the native snippet does not compile: " + what, place_of(*first, text));
    for (std::string& note : notes) error = error.with_note(std::move(note));
    return error;
}

UserError repeated_snippet_error(const ir::Op& snippet) {
    return UserError(ErrorKind::Gradient,
                     "the backward pass needs what this native function returns, but running it again would change "
                     "memory a second time",
                     snippet.location)
        .with_note("give @wp.func_native a replay_snippet that returns the same and changes nothing");
}

}  // namespace weft::codegen
