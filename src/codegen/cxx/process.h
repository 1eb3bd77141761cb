// Compilers as programs: where they are, and what they say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::codegen::cxx {

// The path of a program: a name is looked for in the folders of PATH. Empty where there is none that can be run.
std::string find_program(const std::string& name);
// The value of a variable of the environment; empty where it is not set.
std::string environment(const char* name);

// A folder of its own, which goes with the object.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

void write_file(const std::string& path, std::string_view text);
// Empty where there is no such file.
std::string read_file(const std::string& path);

// Runs a program, its output going to the file `log`; gives the exit status.
int run(const std::vector<std::string>& command, const std::string& log);

}  // namespace weft::codegen::cxx
