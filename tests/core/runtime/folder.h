// A temporary folder for tests, removed with everything in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weft::testing {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        path_ = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
        if (mkdtemp(path_.data()) == nullptr) path_.clear();
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

}  // namespace weft::testing
