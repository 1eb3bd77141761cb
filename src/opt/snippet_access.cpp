// The text is not understood, only read word by word: an array is not written if wherever its name stands an element is
// taken by value. All else (a pointer, a reference, a call that may take one, a macro) counts as writing.
#include "opt/snippet_access.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "ir/snippet_header.h"
#include "ir/snippet_words.h"

namespace weft::opt {
namespace {

using Words = std::vector<std::string_view>;

bool is_name(std::string_view word) {
    return ir::is_letter(word[0]) && std::isdigit(static_cast<unsigned char>(word[0])) == 0;
}

bool assigns(std::string_view word) {
    return word == "++" || word == "--" ||
           (word.back() == '=' && word != "==" && word != "!=" && word != "<=" && word != ">=");
}

// What may stand before a parenthesis without taking references to what is inside.
bool takes_values(std::string_view word) {
    constexpr auto kWords = std::to_array<std::string_view>(
        {"if",    "while",  "for",     "switch",  "return", "float",     "double",    "int",    "unsigned", "long",
         "bool",  "sqrt",   "sqrtf",   "sin",     "sinf",   "cos",       "cosf",      "tan",    "exp",      "expf",
         "log",   "logf",   "pow",     "powf",    "abs",    "fabs",      "fabsf",     "floor",  "ceil",     "round",
         "rsqrt", "rsqrtf", "fmin",    "fmax",    "fminf",  "fmaxf",     "min",       "max",    "clamp",    "fma",
         "fmaf",  "dot",    "cross",   "length",  "atan2",  "normalize", "length_sq", "lerp",   "tanh",     "sizeof",
         "int32", "int64",  "float32", "float64", "vec2",   "vec3",      "vec4",      "printf", "assert"});
    return !is_name(word) || std::ranges::find(kWords, word) != kWords.end();
}

class Reader {
  public:
    explicit Reader(std::string_view text) : words_(ir::snippet_words(text)) {}

    bool writes(std::string_view name) const {
        for (size_t i = 0; i < words_.size(); ++i) {
            if (words_[i] == "#") return true;
            const bool member = i > 0 && (words_[i - 1] == "." || words_[i - 1] == "->" || words_[i - 1] == "::");
            if (words_[i] == name && !member && may_write(i)) return true;
        }
        return false;
    }

  private:
    std::string_view word(size_t i) const { return i < words_.size() ? words_[i] : ";"; }

    // Behind the bracket that matches the one at `i`.
    size_t behind(size_t i) const {
        int depth = 0;
        for (; i < words_.size(); ++i) {
            if (word(i) == "(" || word(i) == "[") ++depth;
            if ((word(i) == ")" || word(i) == "]") && --depth == 0) return i + 1;
        }
        return i;
    }

    bool may_write(size_t at) const {
        size_t next = at + 1;
        if (word(next) == ".") {
            const std::string_view member = word(next + 1);
            return member != "shape" && member != "ndim" && member != "size" && member != "strides";
        }
        if (word(next) != "[" && word(next) != "(") return true;
        next = behind(next);
        while (word(next) == "[" || word(next) == "." || (word(next) == "(" && word(next - 1) == "]")) {
            next = word(next) == "." ? next + 2 : behind(next);
        }
        if (assigns(word(next)) || word(next) == "(" || word(next) == "->") return true;
        return taken_before(at);
    }

    // Whether what stands before an element takes its address, changes it, or may take a reference to it.
    bool taken_before(size_t at) const {
        if (at > 0 && (word(at - 1) == "++" || word(at - 1) == "--")) return true;
        const bool address = at > 0 && word(at - 1) == "&";
        if (address && (at < 2 || (!ir::is_letter(word(at - 2)[0]) && word(at - 2) != ")" && word(at - 2) != "]"))) {
            return true;
        }
        int depth = 0;
        for (size_t i = at; i-- > 0;) {
            const std::string_view before = word(i);
            if (before == ";" || before == "{" || before == "}") break;
            if (before == ")" || before == "]") ++depth;
            if (before == "[") --depth;
            if (before == "(" && depth-- == 0) {
                if (i > 0 && !takes_values(word(i - 1))) return true;
                depth = 0;
            }
            // `auto& r = a[i]`, and what is like it.
            const bool named = is_name(word(i + 1)) && (word(i + 2) == "=" || word(i + 2) == "(" || word(i + 2) == ":");
            if ((before == "&" || before == "&&") && named) return true;
        }
        return false;
    }

    Words words_;
};

}  // namespace

std::vector<bool> written_by_snippet(const ir::Op& snippet) {
    const ir::SnippetHeader header(snippet.text);
    const Reader reader(header.source);
    std::vector<bool> out;
    for (size_t i = 0; i < snippet.operands.size(); ++i) {
        const ir::Type type = snippet.operands[i]->type;
        if (type.is(ir::TypeKind::Array)) {
            out.push_back(reader.writes(header.operands.at(i)));
        } else {
            out.push_back(type.contains_array() || type.is(ir::TypeKind::Ref));
        }
    }
    return out;
}

}  // namespace weft::opt
