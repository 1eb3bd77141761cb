#include "codegen/cxx/host.h"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "codegen/build_id.h"
#include "codegen/cxx/process.h"
#include "codegen/cxx/source.h"
#include "codegen/shared_memory.h"
#include "codegen/stages.h"

namespace weft::codegen::cxx {
namespace {

// WEFT_CXX, else the first of the usual names on the path; empty when there is none.
std::string find_compiler() {
    if (const std::string wanted = environment("WEFT_CXX"); !wanted.empty()) return find_program(wanted);
    for (const char* name : {"c++", "g++", "clang++"}) {
        if (std::string found = find_program(name); !found.empty()) return found;
    }
    return {};
}

// Bytes that __shared__ variables take in a library: their section, without what stands at its beginning
// (device/cxx/host_items.h).
int64_t shared_bytes(std::string_view library) {
    constexpr std::string_view kSection("weft_shared", sizeof "weft_shared");  // with its end
    const auto read = [&](auto& out, uint64_t offset) {
        WEFT_CHECK(offset <= library.size() && sizeof out <= library.size() - offset, "a library is cut short");
        std::memcpy(&out, library.data() + offset, sizeof out);
    };
    Elf64_Ehdr header;
    read(header, 0);
    Elf64_Shdr names;
    read(names, header.e_shoff + uint64_t{header.e_shstrndx} * sizeof names);
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        read(section, header.e_shoff + i * sizeof section);
        const uint64_t name = names.sh_offset + section.sh_name;
        if (name >= library.size() || !library.substr(name).starts_with(kSection)) continue;
        return static_cast<int64_t>(section.sh_size) - static_cast<int64_t>(sizeof(uint64_t));
    }
    return 0;
}

class HostBackend final : public Backend {
  public:
    std::vector<std::string> dump_kinds() const override { return {"cxx"}; }

    std::string dump(const ir::Module& module, const Options& options, const std::string&) override {
        return readable(module, Flavour::Host, options);
    }

    Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) override {
        Stages stages(times);
        const std::string compiler = find_compiler();
        if (compiler.empty()) {
            throw UserError(ErrorKind::Unsupported, "no C++ compiler: install g++ or clang++, or set WEFT_CXX");
        }
        const std::string text = source(module, Flavour::Host, options);
        stages.end("emit");
        const Folder folder;
        write_file(folder.file("kernel.cpp"), text);
        const std::string library = folder.file("kernel.so");
        const std::string log = folder.file("log");
        // Wrapping integers, no contraction, no folding of library functions: the same bits as every other backend.
        std::vector<std::string> command = {compiler,
                                            "-std=c++17",
                                            options.optimize == 0 ? "-O0" : "-O1",
                                            "-fPIC",
                                            "-shared",
                                            "-Werror=return-type",
                                            "-fno-fast-math",
                                            "-fno-builtin",
                                            "-fwrapv",
                                            "-fno-strict-aliasing",
                                            "-fno-exceptions",
                                            "-fno-rtti",
                                            "-fno-math-errno",
                                            "-fsigned-char",
                                            "-fvisibility=hidden",
                                            options.contract ? "-ffp-contract=fast" : "-ffp-contract=off",
                                            "-Wl,-z,defs"};
#if defined(__aarch64__)
        // Atomics in place, rather than by functions of libgcc's that ask the C library at start.
        command.emplace_back("-mno-outline-atomics");
#endif
        if (options.line_info) command.emplace_back("-g");
        command.insert(command.end(),
                       {folder.file("kernel.cpp"), "-o", library, "-nodefaultlibs", "-lm", "-lc", "-lgcc"});
        const int status = run(command, log);
        Image image{ImageFormat::SharedLibrary, read_file(library)};
        if (status != 0 || image.bytes.empty()) throw_compiler_error(module, compiler, read_file(log));
        check_shared_memory(module, shared_bytes(image.bytes));
        stages.end("generate");
        return image;
    }
};

}  // namespace

std::string host_key() {
    const std::string path = find_compiler();
    if (path.empty()) return "none";
    std::error_code ignored;
    const std::string file = std::filesystem::canonical(path, ignored).string();
    return file + " " + build_id(file) + " " + own_build_id();
}

Backend& open_host() {
    static HostBackend backend;
    if (find_compiler().empty()) {
        throw UserError(ErrorKind::Unsupported, "no C++ compiler: install g++ or clang++, or set WEFT_CXX");
    }
    return backend;
}

}  // namespace weft::codegen::cxx
