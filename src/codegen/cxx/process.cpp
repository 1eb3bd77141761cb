#include "codegen/cxx/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace weft::codegen::cxx {

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::string find_program(const std::string& name) {
    std::error_code ignored;
    const auto runs = [&](const std::string& path) {
        return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path, ignored);
    };
    if (name.find('/') != std::string::npos) return runs(name) ? name : std::string();
    std::string rest = environment("PATH");
    if (rest.empty()) rest = "/usr/bin:/bin";
    while (!rest.empty()) {
        const auto colon = rest.find(':');
        const std::string candidate = rest.substr(0, colon) + "/" + name;
        if (runs(candidate)) return candidate;
        rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    }
    return {};
}

Folder::Folder() {
    path_ = (std::filesystem::temp_directory_path() / "weft-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
        throw UserError(ErrorKind::Unsupported, "no folder for temporary files: " + path_);
    }
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

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

}  // namespace weft::codegen::cxx
