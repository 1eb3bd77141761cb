#include "codegen/cxx/maca.h"

#include <map>
#include <mutex>

#include "base/error.h"
#include "codegen/build_id.h"
#include "codegen/cxx/process.h"
#include "codegen/cxx/source.h"
#include "codegen/stages.h"

namespace weft::codegen::cxx {
namespace {

constexpr const char* kUsualRoot = "/opt/maca";
constexpr const char* kCompiler = "/mxgpu_llvm/bin/mxcc";
constexpr const char* kBridge = "/tools/cu-bridge";
constexpr const char* kUsualArchitecture = "xcore1000";

// mxcc, else cucc, which translates the options of nvcc and leaves those of mxcc as they are; empty: neither.
std::string find_compiler() {
    if (const std::string wanted = environment("WEFT_MXCC"); !wanted.empty()) return find_program(wanted);
    const std::string root = environment("MACA_PATH");
    const auto in = [](const std::string& folder, const std::string& rest) {
        return folder.empty() ? std::string() : find_program(folder + rest);
    };
    const std::string candidates[] = {in(environment("MACA_CLANG_PATH"), "/mxcc"),
                                      in(root, kCompiler),
                                      find_program("mxcc"),
                                      in(kUsualRoot, kCompiler),
                                      in(environment("CUCC_PATH"), "/bin/cucc"),
                                      in(root, std::string(kBridge) + "/bin/cucc"),
                                      find_program("cucc"),
                                      in(kUsualRoot, std::string(kBridge) + "/bin/cucc")};
    for (const std::string& candidate : candidates) {
        if (!candidate.empty()) return candidate;
    }
    return {};
}

// Where the vendor's files are: MACA_PATH, else as the compiler's place tells; may be empty.
std::string root_of(const std::string& compiler) {
    if (const std::string root = environment("MACA_PATH"); !root.empty()) return root;
    for (const std::string& rest : {std::string(kCompiler), std::string(kBridge) + "/bin/cucc"}) {
        if (compiler.ends_with(rest)) return compiler.substr(0, compiler.size() - rest.size());
    }
    return {};
}

// Asked once a process, of each compiler.
std::string version_of(const std::string& compiler) {
    static std::mutex mutex;
    static std::map<std::string, std::string> known;
    const std::string id = compiler + " " + build_id(compiler);
    const std::lock_guard lock(mutex);
    auto& version = known[id];
    if (version.empty()) {
        const Folder folder;
        const std::string log = folder.file("version");
        const int status = run({compiler, "--version"}, log);
        version = read_file(log);
        version.erase(std::min(version.find('\n'), version.size()));
        if (status != 0 || version.empty()) version = "no version, " + build_id(compiler);
    }
    return version;
}

std::vector<std::string> command(const std::string& compiler, const std::string& source, const std::string& image,
                                 const Options& options) {
    std::vector<std::string> out = {
        compiler,
        source,
        "-x",
        "maca",
        "-device-bin",
        "-o",
        image,
        "--offload-arch=" + (options.architecture.empty() ? kUsualArchitecture : options.architecture),
        options.optimize == 0 ? "-O0" : "-O3",
        "-std=c++17"};
    if (options.fast_math) out.emplace_back("-use-fast-math");
    // Contraction is on unless it is told.
    if (!options.contract && !options.fast_math) out.emplace_back("-fmad=false");
    if (options.line_info) out.emplace_back("-lineinfo");
    if (const std::string root = root_of(compiler); !root.empty()) out.push_back("--maca-path=" + root);
    return out;
}

class MacaBackend final : public Backend {
  public:
    std::vector<std::string> dump_kinds() const override { return {"maca", "cuda"}; }

    std::string dump(const ir::Module& module, const Options& options, const std::string& kind) override {
        return source(module, kind == "cuda" ? Flavour::Cuda : Flavour::Maca, options, true);
    }

    Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) override {
        Stages stages(times);
        const std::string compiler = find_compiler();
        if (compiler.empty()) {
            throw UserError(ErrorKind::Unsupported,
                            "no compiler for MACA: install the vendor's mxcc and set MACA_PATH, or WEFT_MXCC");
        }
        const std::string text = source(module, Flavour::Maca, options);
        stages.end("emit");
        const Folder folder;
        const std::string file = folder.file("kernel.maca");
        const std::string binary = folder.file("kernel.devbin");
        const std::string log = folder.file("log");
        write_file(file, text);
        const int status = run(command(compiler, file, binary, options), log);
        Image image{ImageFormat::MacaBinary, read_file(binary)};
        if (status != 0 || image.bytes.empty()) throw_compiler_error(module, compiler, read_file(log));
        stages.end("generate");
        return image;
    }
};

}  // namespace

std::string maca_key() {
    const std::string compiler = find_compiler();
    if (compiler.empty()) return "none";
    return compiler + " " + version_of(compiler) + " " + build_id(library_path());
}

Backend& open_maca() {
    static MacaBackend backend;
    return backend;
}

}  // namespace weft::codegen::cxx
