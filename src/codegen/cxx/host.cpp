#include "codegen/cxx/host.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "codegen/build_id.h"
#include "codegen/cxx/emit.h"
#include "codegen/cxx/prelude.h"
#include "embedded/device_headers.h"

namespace weft::codegen::cxx {
namespace {

// WEFT_CXX, else the first of the usual names on the path; empty when there is none.
std::string find_compiler() {
    const char* path = std::getenv("PATH");
    const auto search = [&](const std::string& name) -> std::string {
        if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : std::string();
        std::string rest = path != nullptr ? path : "/usr/bin:/bin";
        while (!rest.empty()) {
            const auto colon = rest.find(':');
            const std::string candidate = rest.substr(0, colon) + "/" + name;
            if (access(candidate.c_str(), X_OK) == 0) return candidate;
            rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
        }
        return {};
    };
    if (const char* wanted = std::getenv("WEFT_CXX"); wanted != nullptr && *wanted != '\0') return search(wanted);
    for (const char* name : {"c++", "g++", "clang++"}) {
        if (std::string found = search(name); !found.empty()) return found;
    }
    return {};
}

class Folder {
  public:
    Folder() {
        path_ = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
        if (mkdtemp(path_.data()) == nullptr)
            throw UserError(ErrorKind::Unsupported, "no folder for temporary files: " + path_);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

void write_file(const std::string& path, std::string_view text) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.close();
    if (!stream) throw UserError(ErrorKind::Unsupported, "cannot write " + path);
}

std::string read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// Runs a program, its output going to `log`; gives the exit status.
int run(const std::vector<std::string>& command, const std::string& log) {
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = 0;
    const int failed = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return 127;
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        // A host program that reaps all children itself leaves no status: the output file tells then.
        if (errno != EINTR) return 0;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

bool calls_device_library(const ir::Module& module) {
    bool found = false;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const ir::Op& op) { found = found || op.code == ir::Opcode::Native; });
    }
    return found;
}

std::string program(const ir::Module& module) {
    std::string text = host_prelude();
    if (calls_device_library(module)) {
        text += "\n";
        for (const auto& [name, contents] : embedded::device_headers()) {
            text += "#include \"" + std::string(name) + "\"\n";
        }
    }
    return text + "\n" + emit(module);
}

class HostBackend final : public Backend {
  public:
    std::vector<std::string> dump_kinds() const override { return {"cxx"}; }

    std::string dump(const ir::Module& module, const Options&, const std::string&) override { return emit(module); }

    Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) override {
        auto start = std::chrono::steady_clock::now();
        const auto stage = [&](const char* what) {
            const auto now = std::chrono::steady_clock::now();
            if (times != nullptr)
                times->push_back({what, std::chrono::duration<double, std::milli>(now - start).count()});
            start = now;
        };
        const std::string compiler = find_compiler();
        if (compiler.empty()) {
            throw UserError(ErrorKind::Unsupported, "no C++ compiler: install g++ or clang++, or set WEFT_CXX");
        }
        const std::string text = program(module);
        stage("emit");
        const Folder folder;
        write_file(folder.file("kernel.cpp"), text);
        for (const auto& [name, contents] : embedded::device_headers()) write_file(folder.file(name), contents);
        const std::string library = folder.file("kernel.so");
        const std::string log = folder.file("log");
        // Wrapping integers, no contraction, no folding of library functions: the same bits as every other backend.
        std::vector<std::string> command = {compiler,
                                            "-std=c++17",
                                            options.optimize == 0 ? "-O0" : "-O1",
                                            "-fPIC",
                                            "-shared",
                                            "-w",
                                            "-fno-fast-math",
                                            "-fno-builtin",
                                            "-fwrapv",
                                            "-fno-strict-aliasing",
                                            "-fno-exceptions",
                                            "-fno-rtti",
                                            "-fno-math-errno",
                                            "-fvisibility=hidden",
                                            options.contract ? "-ffp-contract=fast" : "-ffp-contract=off",
                                            "-I" + folder.path()};
        if (options.line_info) command.emplace_back("-g");
        command.insert(command.end(),
                       {folder.file("kernel.cpp"), "-o", library, "-nodefaultlibs", "-lm", "-lc", "-lgcc"});
        const int status = run(command, log);
        Image image{ImageFormat::SharedLibrary, read_file(library)};
        if (status != 0 || image.bytes.empty()) {
            throw InternalError(compiler + " refuses generated code:\n" + read_file(log).substr(0, 4000));
        }
        stage("generate");
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
