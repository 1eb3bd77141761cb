// Without standard headers: they would take most of the compile's time.
#include "codegen/cxx/prelude.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "embedded/cxx_headers.h"
#include "embedded/device_headers.h"
#include "embedded/snippet_headers.h"

namespace weft::codegen::cxx {
namespace {

std::string_view contents(std::string_view header) {
    for (const auto& headers : {embedded::cxx_headers(), embedded::device_headers(), embedded::snippet_headers()}) {
        for (const auto& [name, text] : headers) {
            if (name == header) return text;
        }
    }
    WEFT_CHECK(false, "no header " + std::string(header));
}

// Headers as one text, in which each stands once.
class Text {
  public:
    void include(std::string_view header) {
        if (!there_.insert(std::string(header)).second) return;
        constexpr std::string_view kInclude = "#include \"";
        std::string_view rest = contents(header);
        while (!rest.empty()) {
            const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
            rest.remove_prefix(line.size());
            if (line.starts_with(kInclude)) {
                include(line.substr(kInclude.size(), line.rfind('"') - kInclude.size()));
            } else if (!line.starts_with("#pragma once")) {
                text_ += line;
            }
        }
        text_ += '\n';
    }
    void add(std::string_view text) { text_ += text; }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
    std::set<std::string> there_;
};

// The compiler of a GPU has functions for all of them.
std::string maths(Flavour flavour) {
    std::string out = "namespace weft {\n";
    const auto define = [&](std::string_view kind, std::string_view rest) {
        out += "WEFT_MATH_" + std::string(is_gpu(flavour) ? "Library" : kind) + std::string(rest) + "\n";
    };
#define MATH(Name, name, operands, kind) define(#kind, "_" #operands "(" #name ")");
#include "ir/math.def"
#undef MATH
    return out + "}  // namespace weft\n\n";
}

std::string c_maths() {
    std::string out = "extern \"C\" {\n";
    const auto declare = [&](std::string_view name, int operands) {
        for (const bool is_double : {false, true}) {
            const std::string type = is_double ? "double" : "float";
            out += type + " " + std::string(name) + (is_double ? "" : "f") + "(" + type +
                   (operands == 2 ? ", " + type : "") + ");\n";
        }
    };
#define MATH(Name, name, operands, kind) declare(#name, operands);
#include "ir/math.def"
#undef MATH
    declare("fmod", 2);
    return out + "}\n";
}

// The host's functions are variables of their names, set by weft_bind when the library is loaded.
std::string host_functions() {
    std::string out;
    std::string binding;
#define SYMBOL(name, result, parameters)                        \
    out += "static " #result " (*" #name ")" #parameters ";\n"; \
    binding += "    if ((" #name " = (decltype(" #name "))find(\"" #name "\")) == nullptr) return \"" #name "\";\n";
#include "codegen/host_symbols.def"
#undef SYMBOL
    return out +
           "extern \"C\" __attribute__((visibility(\"default\"))) const char* weft_bind(void* (*find)(const char*)) "
           "{\n" +
           binding + "    return nullptr;\n}\n";
}

void host(Text& text) {
    text.include("types.h");
    text.include("maths.h");
    text.add(c_maths());
    text.add(host_functions());
    text.add("#define WEFT_HOST_CXX 1\n\n");
    text.include("host.h");
    text.include("values.h");
    text.add(maths(Flavour::Host));
    text.include("host_items.h");
    text.include("stacks.h");
}

void gpu(Text& text, Flavour flavour, const Parts& parts) {
    text.add("#define WEFT_VENDOR 1\n#define WEFT_DEVICE __device__\n\n");
    text.include("gpu.h");
    text.include("values.h");
    text.add(maths(flavour));
    text.include("gpu_items.h");
    if (parts.failures || parts.stacks) text.include("gpu_failures.h");
    if (!parts.stacks) return;
    text.include("gpu_stacks.h");
    text.include("stacks.h");
}

}  // namespace

std::string prelude(Flavour flavour, const Parts& parts) {
    Text text;
    if (is_gpu(flavour)) {
        gpu(text, flavour, parts);
    } else {
        host(text);
    }
    for (const auto& [name, contents] : embedded::device_headers()) {
        // Textures are the host's here; what is left is about other compilers.
        const bool wanted = name != "textures.h" && name != "gpu_runtime.h" && name != "maths.h";
        if (parts.library && (wanted || !is_gpu(flavour))) text.include(name);
    }
    return text.take();
}

std::string snippet_prelude(Flavour flavour) {
    Text text;
    text.include(is_gpu(flavour) ? "arrays.h" : "host_threads.h");
    return text.take();
}

}  // namespace weft::codegen::cxx
