#include "runtime/cpu/image_loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/cpu/object_loader.h"

namespace weft::runtime {
namespace {

class ObjectImage final : public LoadedImage {
  public:
    explicit ObjectImage(std::string_view bytes) : object_(bytes, host_symbol) {}
    void* find(std::string_view symbol) const override { return object_.find(symbol); }

  private:
    LoadedObject object_;
};

// Name of the function with which a shared library takes the addresses of what it calls.
constexpr const char* kBind = "weft_bind";

class LibraryImage final : public LoadedImage {
  public:
    explicit LibraryImage(std::string_view bytes) {
        // The loader takes a path that it knows for the library that it knows: no path may come twice, so it cannot be
        // that of a file in memory, which is the number of a descriptor.
        static std::atomic<int> count = 0;
        std::error_code error;
        const auto folder = std::filesystem::temp_directory_path(error);
        std::string path = (error ? std::string("/tmp") : folder.string()) + "/weft-" + std::to_string(getpid()) + "-" +
                           std::to_string(count.fetch_add(1)) + "-XXXXXX";
        const int file = mkostemp(path.data(), O_CLOEXEC);
        if (file < 0) throw InternalError("no place for a compiled library: " + path);
        size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
            if (n <= 0) break;
            done += static_cast<size_t>(n);
        }
        if (done == bytes.size()) handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        const char* reason = done == bytes.size() && handle_ == nullptr ? dlerror() : "cannot be written";
        const std::string problem = reason != nullptr ? reason : "unknown";
        unlink(path.c_str());
        close(file);
        if (handle_ == nullptr) throw InternalError("a compiled library does not load: " + problem);
        using Bind = const char* (*)(void* (*)(const char*));
        const auto bind = reinterpret_cast<Bind>(dlsym(handle_, kBind));
        const char* missing = bind == nullptr ? kBind : bind([](const char* name) { return host_symbol(name); });
        if (missing != nullptr) {
            const std::string name = missing;
            dlclose(handle_);
            throw InternalError("a compiled library asks for unknown function " + name);
        }
    }

    ~LibraryImage() override { dlclose(handle_); }
    LibraryImage(const LibraryImage&) = delete;
    LibraryImage& operator=(const LibraryImage&) = delete;

    void* find(std::string_view symbol) const override { return dlsym(handle_, std::string(symbol).c_str()); }

  private:
    void* handle_ = nullptr;
};

}  // namespace

namespace cpu {

std::unique_ptr<LoadedImage> load_image(const codegen::Image& image) {
    if (image.format == codegen::ImageFormat::Object) return std::make_unique<ObjectImage>(image.bytes);
    WEFT_CHECK(image.format == codegen::ImageFormat::SharedLibrary, "an image for another machine");
    return std::make_unique<LibraryImage>(image.bytes);
}

}  // namespace cpu
}  // namespace weft::runtime
