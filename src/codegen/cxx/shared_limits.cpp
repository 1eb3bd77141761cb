#include "codegen/cxx/shared_limits.h"

#include <cctype>
#include <vector>

#include "ir/snippet_words.h"

namespace weft::codegen::cxx {
namespace {

using Words = std::vector<std::string_view>;

bool is_name(std::string_view word) {
    return ir::is_letter(word.front()) && std::isdigit(static_cast<unsigned char>(word.front())) == 0;
}

// The names that the words from `begin` to a semicolon at `end` declare; arrays of unknown size are not among them.
std::vector<std::string> declared(const Words& words, size_t begin, size_t end) {
    std::vector<std::string> out;
    std::string name;
    bool sized = true;
    bool named = false;  // what follows a name is its size, or its value
    int depth = 0;
    const auto finish = [&] {
        if (!name.empty() && sized) out.push_back(name);
        sized = true;
        named = false;
    };
    for (size_t i = begin; i < end; ++i) {
        const std::string_view word = words[i];
        if (word == "[" && depth == 0) {
            named = true;
            sized = sized && words[i + 1] != "]";
        }
        if (word == "=" || word == "{") named = named || depth == 0;
        if (word == "," && depth == 0) finish();
        if (word == "<" || word == "(" || word == "[" || word == "{") ++depth;
        if (word == ">" || word == ")" || word == "]" || word == "}") --depth;
        if (word == ">>") depth -= 2;
        if (depth == 0 && !named && is_name(word)) name = word;
    }
    finish();
    return out;
}

}  // namespace

std::string with_shared_limit(std::string_view source, int64_t most) {
    const Words words = ir::snippet_words(source);
    std::string out;
    size_t copied = 0;
    std::vector<std::vector<std::string>> scopes(1);
    for (size_t i = 0; i < words.size(); ++i) {
        if (words[i] == "{") scopes.emplace_back();
        if (words[i] == "}" && scopes.size() > 1) scopes.pop_back();
        if (words[i] != "__shared__") continue;
        size_t end = i;
        while (end < words.size() && words[end] != ";") ++end;
        if (end == words.size()) break;
        for (std::string& name : declared(words, i + 1, end)) scopes.back().push_back(std::move(name));
        std::string sum;
        for (const auto& scope : scopes) {
            for (const std::string& name : scope) sum += (sum.empty() ? "sizeof(" : " + sizeof(") + name + ")";
        }
        const auto behind = static_cast<size_t>(words[end].data() - source.data()) + 1;
        out += source.substr(copied, behind - copied);
        copied = behind;
        if (!sum.empty()) {
            out += " static_assert(" + sum + " <= " + std::to_string(most) + ", \"more __shared__ memory than the " +
                   std::to_string(most) + " bytes that a block has\");";
        }
        i = end;
    }
    return out + std::string(source.substr(copied));
}

}  // namespace weft::codegen::cxx
