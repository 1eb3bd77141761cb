#include "codegen/snippet_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/error.h"
#include "base/hash.h"
#include "codegen/cxx/types.h"
#include "codegen/snippet_place.h"
#include "ir/layout.h"
#include "ir/snippet_header.h"

namespace weft::codegen {
namespace {

using ir::Type;
using ir::TypeKind;

std::string number_name(ir::Scalar scalar) {
    switch (scalar) {
        case ir::Scalar::Bool:
            return "bool";
        case ir::Scalar::F16:
            return "wp::float16";
        case ir::Scalar::BF16:
            return "wp::bfloat16";
        case ir::Scalar::F32:
            return "float";
        case ir::Scalar::F64:
            return "double";
        default:
            break;
    }
    return (ir::is_signed_int(scalar) ? "wp::int" : "wp::uint") + std::to_string(ir::scalar_bits(scalar));
}

// The types of one snippet; structs are defined as they are met.
class Types {
  public:
    std::string name(Type type) {
        const auto numbers = [&] { return number_name(type.element()) + ">"; };
        switch (type.kind()) {
            case TypeKind::Scalar:
                return number_name(type.element());
            case TypeKind::Vec:
                return "wp::vec_t<" + std::to_string(type.part_count()) + ", " + numbers();
            case TypeKind::Mat:
                return "wp::mat_t<" + std::to_string(type.rows()) + ", " + std::to_string(type.columns()) + ", " +
                       numbers();
            case TypeKind::Quat:
                return "wp::quat_t<" + numbers();
            case TypeKind::Transform:
                return "wp::transform_t<" + numbers();
            case TypeKind::Array:
                return "wp::array_t<" + name(type.target()) + ">";
            case TypeKind::Struct:
                return structure(type);
            default:
                WEFT_CHECK(false, type.str() + " in a snippet");
        }
    }

    // As it lies in memory.
    std::string stored(Type type) {
        if (!type.is(TypeKind::Array)) return name(type);
        return "weft_native::descriptor<" + name(type.target()) + ", " + std::to_string(type.ndim()) + ">";
    }

    const std::string& definitions() const { return definitions_; }

  private:
    std::string structure(Type type) {
        if (const auto known = structs_.find(type.identity()); known != structs_.end()) return known->second;
        std::string members;
        for (const Type::Field& field : type.fields())
            members += "    " + stored(field.type) + " " + field.name + ";\n";
        std::string name = type.name();
        std::ranges::replace_if(
            name, [](char c) { return !(std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'); }, '_');
        while (!taken_.insert(name).second) name += "_";
        std::string attributes;
        if (type.alignment() > 0) attributes += "alignas(" + std::to_string(ir::align_of(type)) + ") ";
        if (type.packed()) attributes += "__attribute__((packed)) ";
        definitions_ += "struct " + attributes + name + " {\n" + members + "};\n";
        if (type.part_count() > 0) {
            definitions_ += "static_assert(sizeof(" + name + ") == " + std::to_string(ir::size_of(type)) + ");\n";
        }
        return structs_[type.identity()] = name;
    }

    std::map<const void*, std::string> structs_;
    std::set<std::string> taken_;
    std::string definitions_;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
}

// What a failed assert of each line says, as a format of printf. `places`: lines are called those of the file.
std::string assertion_texts(const ir::Op& op, bool places) {
    const std::string_view source = ir::SnippetHeader(op.text).source;
    std::string out = "WEFT_INLINE const char* weft_assertion(int line) {\n";
    int line = 1;
    for (size_t begin = 0; begin <= source.size(); ++line) {
        const size_t end = std::min(source.find('\n', begin), source.size());
        const size_t at = source.substr(begin, end - begin).find("assert");
        if (at != std::string_view::npos) {
            std::string text;
            const Location place = snippet_place(op, line, static_cast<int>(at) + 1);
            for (const char c : "assertion failed" + render("", place, {})) text += c == '%' ? "%%" : std::string(1, c);
            const int called = places && place.file != nullptr ? place.line : line;
            out += "    if (line == " + std::to_string(called) + ") return " + cxx::quoted(text) + ";\n";
        }
        begin = end + 1;
    }
    return out + "    return \"assertion failed in a native snippet\";\n}\n" +
           "#undef assert\n#define assert(condition) ((condition) ? (void)0 : weft_native::assert_failed("
           "weft_assertion(__LINE__), weft_launch, weft_item))\n";
}

// The text with a #line of the user's file before each of its lines.
std::string with_places(const ir::Op& op, std::string_view source) {
    std::string out;
    bool goes_on = false;  // a line that ends in a backslash has the next one in it
    int line = 1;
    for (size_t begin = 0; begin <= source.size(); ++line) {
        const size_t end = std::min(source.find('\n', begin), source.size());
        const std::string_view text = source.substr(begin, end - begin);
        const Location place = snippet_place(op, line, 1);
        if (!goes_on && place && place.file != nullptr) {
            out += "\n#line " + std::to_string(place.line) + " " + cxx::quoted(place.file->path);
        }
        out += "\n" + std::string(text);
        goes_on = text.ends_with('\\');
        begin = end + 1;
    }
    return out;
}

// One snippet: its types, its text as a function, and the function that is called.
std::string definition(const ir::Op& op, size_t index, bool places, const SnippetRewrite& rewrite) {
    const ir::SnippetHeader header(op.text);
    const std::string number = std::to_string(index);
    const bool returns = !header.results.empty() && header.results.front() == "return";
    const bool adjoint = op.snippet_use() == ir::SnippetUse::Adjoint;
    Types types;
    std::string parameters;
    std::string passed;
    std::string setup;
    std::string arguments;
    std::string stores;
    const auto pass = [&](const std::string& type, const std::string& name) {
        parameters += (parameters.empty() ? "" : ", ") + type + " " + name;
        passed += (passed.empty() ? "" : ", ") + name;
    };
    const auto address = [&](const std::string& name) {
        arguments += (arguments.empty() ? "" : ", ") + std::string("void* ") + name;
        return name;
    };
    const auto is_gradient = [&](const std::string& name) {
        return adjoint && name.starts_with("adj_") && contains(header.operands, name.substr(4));
    };
    for (size_t i = 0; i < op.operands.size(); ++i) {
        const Type type = op.operands[i]->type;
        const std::string& name = header.operands.at(i);
        const std::string from = address("weft_" + std::to_string(i));
        if (type.is(TypeKind::Ref)) {
            const std::string target = types.name(type.target());
            setup += "    " + target + "& " + name + " = *(" + target + "*)" + from + ";\n";
            pass(target + "&", name);
        } else if (type.is(TypeKind::Array)) {
            const std::string element = types.name(type.target());
            const bool gradient = is_gradient(name);
            const std::string kind = std::string(gradient ? "wp::adj_array_t<" : "wp::array_t<") + element + ">";
            setup += "    " + kind + " " + name + "(*(" + types.stored(type) + "*)" + from + ");\n";
            if (gradient) setup += "    " + name.substr(4) + ".grad = " + name + ".data;\n";
            pass(kind + "&", name);
        } else {
            const std::string kind = types.name(type);
            setup += "    " + kind + " " + name + " = *(" + kind + "*)" + from + ";\n";
            pass(kind + "&", name);
        }
    }
    std::string result = "void";
    for (size_t i = 0; i < op.results.size(); ++i) {
        const Type type = op.results[i]->type;
        const std::string& name = header.results.at(i);
        const std::string to = address("weft_result_" + std::to_string(i));
        if (i == 0 && returns) {
            result = types.name(type);
            stores += type.is(TypeKind::Array) ? "    *(" + types.stored(type) + "*)" + to + " = weft_returned;\n"
                                               : "    *(" + result + "*)" + to + " = weft_returned;\n";
            continue;
        }
        const std::string kind = types.name(type);
        if (!contains(header.operands, name)) {
            setup += "    " + kind + " " + name + "{};\n";
            pass(kind + "&", name);
        }
        stores += "    *(" + kind + "*)" + to + " = " + name + ";\n";
    }
    // Adjoints of what has none are there to be written to.
    for (size_t i = 0; adjoint && i < op.operands.size(); ++i) {
        const std::string name = "adj_" + header.operands[i];
        const bool own = header.operands[i].starts_with("adj_") || header.operands[i] == "adj_ret";
        if (own || contains(header.operands, name) || contains(header.results, name)) continue;
        const Type type = op.operands[i]->type;
        const std::string kind =
            type.is(TypeKind::Array) ? "wp::adj_array_t<" + types.name(type.target()) + ">" : types.name(type);
        setup += "    " + kind + " " + name + "{};\n";
        pass(kind + "&", name);
    }
    std::string out = "namespace weft_snippet_" + number + " {\n" + types.definitions();
    if (op.snippet_asserts()) {
        arguments += (arguments.empty() ? "" : ", ") + std::string("const void* weft_shape, const wp::int64* weft_at");
        pass("const void*", "weft_launch");
        pass("wp::int64", "weft_item");
        setup += "    const void* weft_launch = weft_shape;\n    const wp::int64 weft_item = *weft_at;\n";
        out += assertion_texts(op, places);
    }
    out += "WEFT_INLINE " + result + " body(" + parameters + ") {\n";
    const std::string source = rewrite ? rewrite(header.source) : std::string(header.source);
    out += places ? with_places(op, source) : "#line 1 \"snippet:" + number + "\"\n" + source;
    out += "\n#line 1 \"end:" + number + "\"\n}\n#undef assert\n#define assert(condition) ((void)0)\n";
    out += "extern \"C\" WEFT_INLINE_ENTRY void " + snippet_symbol(op) + "(" + arguments + ") {\n" + setup + "    ";
    if (returns) out += "const auto& weft_returned = ";
    out += "body(" + passed + ");\n" + stores + "}\n}\n";
    return out;
}

}  // namespace

bool has_checked_snippets(const ir::Module& module) {
    bool found = false;
    for (const auto& function : module.functions) {
        ir::walk(function->body,
                 [&](const ir::Op& op) { found = found || (op.code == ir::Opcode::Snippet && op.snippet_asserts()); });
    }
    return found;
}

std::string snippet_symbol(const ir::Op& snippet) {
    Hasher hasher;
    hasher.add_field(snippet.text);
    for (const int64_t word : snippet.ints) hasher.add_field(std::to_string(word));
    for (const ir::Value* v : snippet.operands) hasher.add_field(v->type.str());
    for (const ir::Value* v : snippet.results) hasher.add_field(v->type.str());
    return "weft_snippet_" + hasher.hex().substr(0, 32);
}

SnippetText snippet_text(const ir::Module& module, bool places, const SnippetRewrite& rewrite) {
    SnippetText out;
    std::set<std::string> made;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code != ir::Opcode::Snippet || !made.insert(snippet_symbol(op)).second) return;
            out.source += definition(op, out.snippets.size(), places, rewrite);
            out.snippets.push_back(&op);
        });
    }
    return out;
}

}  // namespace weft::codegen
