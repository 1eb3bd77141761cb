#include "codegen/cxx/snippet_checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codegen/snippet_errors.h"
#include "codegen/snippet_place.h"
#include "ir/snippet_header.h"
#include "ir/snippet_words.h"
#include "opt/snippet_access.h"

namespace weft::codegen::cxx {
namespace {

using Words = std::vector<std::string_view>;

bool is_of_blocks(std::string_view word) {
    constexpr auto kWords =
        std::to_array<std::string_view>({"threadIdx", "blockIdx", "blockDim", "gridDim", "__shared__", "__ballot_sync",
                                         "__any_sync", "__all_sync", "__syncwarp", "__activemask"});
    return std::ranges::find(kWords, word) != kWords.end() || word.starts_with("__syncthreads") ||
           word.starts_with("__shfl_");
}

// Functions of a wave whose first argument says which lanes take part.
bool takes_mask(std::string_view word) {
    return word == "__syncwarp" ||
           ((word.starts_with("__shfl_") || word.starts_with("__ballot_") || word.starts_with("__any_") ||
             word.starts_with("__all_") || word.starts_with("__match_") || word.starts_with("__reduce_")) &&
            word.ends_with("_sync"));
}

std::string lower(std::string_view word) {
    std::string out(word);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

// A number of 32 bits, all of them set. `-1` and `~0` are numbers with a sign, which widen to 64 set bits.
bool is_narrow_mask(const Words& words, size_t begin, size_t end) {
    while (end > begin + 1 && words[begin] == "(" && words[end - 1] == ")") {
        ++begin;
        --end;
    }
    const auto is = [&](std::initializer_list<std::string_view> wanted) {
        return std::equal(words.begin() + static_cast<std::ptrdiff_t>(begin),
                          words.begin() + static_cast<std::ptrdiff_t>(end), wanted.begin(), wanted.end());
    };
    if (is({"~", "0u"}) || is({"~", "0U"}) || is({"UINT_MAX"}) || is({"unsigned", "(", "-", "1", ")"}) ||
        is({"unsigned", ")", "-", "1"}) || is({"(", "unsigned", ")", "-", "1"})) {
        return true;
    }
    if (end != begin + 1) return false;
    std::string number = lower(words[begin]);
    while (!number.empty() && (number.back() == 'u' || number.back() == 'l')) number.pop_back();
    return number == "0xffffffff" || number == "4294967295";
}

// The end of the argument that begins at `at`.
size_t argument_end(const Words& words, size_t at) {
    int depth = 0;
    for (; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (depth == 0 && (word == "," || word == ")")) return at;
        if (word == "(" || word == "[" || word == "{") ++depth;
        if (word == ")" || word == "]" || word == "}") --depth;
    }
    return at;
}

// Where a name is given a number of 32 set bits in the same snippet: `NAME = 0xffffffff`, `#define NAME 0xffffffff`.
bool is_named_narrow_mask(const Words& words, std::string_view name) {
    for (size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] != name) continue;
        if (words[i + 1] == "=") {
            const size_t end = std::min(
                argument_end(words, i + 2),
                static_cast<size_t>(std::find(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(), ";") -
                                    words.begin()));
            if (is_narrow_mask(words, i + 2, end)) return true;
        }
        if (i > 0 && words[i - 1] == "define" && is_narrow_mask(words, i + 1, i + 2)) return true;
    }
    return false;
}

class Checker {
  public:
    Checker(const ir::Op& op, Flavour flavour)
        : op_(op), flavour_(flavour), source_(ir::SnippetHeader(op.text).source), words_(ir::snippet_words(source_)) {}

    void check() const {
        const ir::SnippetHeader header(op_.text);
        const bool returns = !header.results.empty() && header.results.front() == "return";
        if (returns && std::ranges::find(words_, "return") == words_.end()) {
            throw at(source_.substr(source_.size()), "non-void function does not return a value");
        }
        const bool asks_for_maca = std::ranges::find(words_, "__MACA_ARCH__") != words_.end();
        for (size_t i = 0; i + 1 < words_.size(); ++i) {
            if (words_[i] == "#" && words_[i + 1] == "include") {
                throw at(words_[i], "it includes a header")
                    .with_note(
                        "native snippets include no headers: numbers, mathematics, vectors, arrays and atomics are "
                        "there");
            }
            if (flavour_ == Flavour::Maca && !asks_for_maca) check_for_maca(i);
        }
    }

  private:
    void check_for_maca(size_t i) const {
        const std::string_view word = words_[i];
        if (word == "asm" || word == "__asm__" || word == "__asm") {
            throw at(word, "it has inline assembly, which is NVIDIA's and not this GPU's")
                .with_note("write it in C++, or leave it out where __MACA_ARCH__ is defined");
        }
        if (!takes_mask(word) || words_[i + 1] != "(") return;
        const size_t begin = i + 2;
        const size_t end = argument_end(words_, begin);
        const bool narrow =
            is_narrow_mask(words_, begin, end) ||
            (end == begin + 1 && ir::is_letter(words_[begin].front()) && is_named_narrow_mask(words_, words_[begin]));
        if (!narrow) return;
        throw at(words_[begin], "a mask of 32 bits leaves out half of the 64 lanes of this GPU's waves")
            .with_note("a mask of all lanes, of 32 and of 64, is -1 or ~0ull");
    }

    UserError at(std::string_view word, const std::string& what) const {
        const auto offset = static_cast<size_t>(word.data() - source_.data());
        const std::string_view before = source_.substr(0, offset);
        const auto line = static_cast<int>(std::ranges::count(before, '\n'));
        const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
        return {ErrorKind::Syntax, "the native snippet does not compile: " + what,
                snippet_place(op_, line + 1, static_cast<int>(offset - start) + 1)};
    }

    const ir::Op& op_;
    Flavour flavour_;
    std::string_view source_;
    Words words_;
};

bool may_change_memory(const ir::Op& op) {
    const auto lasts = [](std::string_view word) {
        return word == "printf" || word == "static" || word == "__shared__";
    };
    return std::ranges::count(opt::written_by_snippet(op), true) > 0 ||
           std::ranges::any_of(ir::snippet_words(ir::SnippetHeader(op.text).source), lasts);
}

template <class Visit>
void each_snippet(const ir::Module& module, const Visit& visit) {
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::Snippet) visit(op);
        });
    }
}

}  // namespace

bool asks_for_blocks(const ir::Module& module) {
    bool out = false;
    each_snippet(module, [&](const ir::Op& op) {
        out = out || std::ranges::any_of(ir::snippet_words(ir::SnippetHeader(op.text).source), is_of_blocks);
    });
    return out;
}

void check_snippets(const ir::Module& module, Flavour flavour) {
    each_snippet(module, [&](const ir::Op& op) {
        Checker(op, flavour).check();
        if (op.snippet_use() == ir::SnippetUse::Repeat && may_change_memory(op)) throw repeated_snippet_error(op);
    });
}

}  // namespace weft::codegen::cxx
