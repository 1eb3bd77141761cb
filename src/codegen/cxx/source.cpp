#include "codegen/cxx/source.h"

#include <regex>

#include "base/error.h"
#include "codegen/cxx/emit.h"
#include "codegen/cxx/prelude.h"
#include "codegen/cxx/shared_limits.h"
#include "codegen/cxx/snippet_checks.h"
#include "codegen/shared_memory.h"
#include "codegen/snippet_errors.h"
#include "codegen/snippet_text.h"

namespace weft::codegen::cxx {
namespace {

Parts parts_of(const ir::Module& module) {
    Parts out;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            out.failures |= op.code == ir::Opcode::Assert || (op.code == ir::Opcode::Snippet && op.snippet_asserts());
            out.stacks |= op.code == ir::Opcode::StackNew;
            out.library |= op.code == ir::Opcode::Native;
        });
    }
    return out;
}

constexpr int64_t kMostSharedOnMaca = int64_t{64} << 10;

std::string snippets_of(const ir::Module& module, Flavour flavour, bool with_prelude, bool places) {
    SnippetRewrite rewrite;
    if (is_gpu(flavour)) {
        rewrite = [most = flavour == Flavour::Maca ? kMostSharedOnMaca : kMostShared](std::string_view source) {
            return with_shared_limit(source, most);
        };
    }
    const SnippetText text = snippet_text(module, places, rewrite);
    if (text.snippets.empty()) return {};
    return "\n" + (with_prelude ? snippet_prelude(flavour) : std::string()) + text.source;
}

const char* title(Flavour flavour) {
    switch (flavour) {
        case Flavour::Host:
            return "// Weft: C++ for the host\n\n";
        case Flavour::Cuda:
            return "// Weft: C++ for CUDA\n\n";
        case Flavour::Maca:
            return "// Weft: C++ for MACA\n\n";
    }
    WEFT_CHECK(false, "unknown flavour");
}

// "FILE:LINE:COLUMN: error: TEXT" of GCC and clang, "FILE(LINE): error: TEXT" of nvcc; where GCC says from where a
// template was asked for, "FILE:LINE:COLUMN:   required from here".
std::vector<CompilerMessage> messages_of(const std::string& log) {
    static const std::regex line(
        R"(^(?:(.+?)(?::(\d+)(?::(\d+))?:|\((\d+)\):)\s*)?(?:(fatal error|error|note)(?: #[\w-]+)?:\s*(.*)|(required from here.*))$)");
    std::vector<CompilerMessage> out;
    for (size_t begin = 0; begin < log.size();) {
        const size_t end = std::min(log.find('\n', begin), log.size());
        std::smatch match;
        const std::string text = log.substr(begin, end - begin);
        begin = end + 1;
        if (!std::regex_match(text, match, line)) continue;
        const auto number = [&](int group) { return match[group].matched ? std::stoi(match[group].str()) : 0; };
        CompilerMessage message;
        message.is_note = match[7].matched || match[5].str() == "note";
        message.file = match[1].str();
        message.line = number(2) + number(4);
        message.column = number(3);
        message.text = match[7].matched ? match[7].str() : match[6].str();
        out.push_back(std::move(message));
    }
    return out;
}

// The function that the linker missed: "undefined reference to `mystery(float)'".
std::string undefined_in(const std::string& log) {
    static const std::regex reference(R"(undefined (?:reference to|symbol:) [`']?([^'\n]+?)'?\n)");
    std::smatch match;
    if (!std::regex_search(log, match, reference)) return {};
    std::string name = match[1].str();
    if (const auto at = name.find("weft_snippet_"); at != std::string::npos)
        name.erase(at, name.find("::", at) + 2 - at);
    return name;
}

}  // namespace

std::string readable(const ir::Module& module, Flavour flavour, const Options& options) {
    return emit(module, flavour, options) + snippets_of(module, flavour, false, true);
}

std::string source(const ir::Module& module, Flavour flavour, const Options& options, bool places) {
    check_snippets(module, flavour);
    return title(flavour) + prelude(flavour, parts_of(module)) + "\n" + emit(module, flavour, options) +
           snippets_of(module, flavour, true, places);
}

void throw_compiler_error(const ir::Module& module, const std::string& compiler, const std::string& log) {
    const SnippetText text = snippet_text(module);
    if (!text.snippets.empty()) {
        const std::vector<CompilerMessage> messages = messages_of(log);
        for (const CompilerMessage& message : messages) {
            if (is_of_snippet(message, text)) throw snippet_error(messages, text);
        }
        if (const std::string name = undefined_in(log); !name.empty()) {
            throw UserError(
                ErrorKind::Name,
                "the native snippet calls `" + name + "`, which is not there: it has what it defines itself",
                text.snippets.front()->location);
        }
    }
    throw InternalError(compiler + " refuses generated code:\n" + log.substr(0, 4000));
}

}  // namespace weft::codegen::cxx
