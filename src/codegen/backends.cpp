// The table of backends. What a backend needs is opened when the first compile asks for it.
#include <dlfcn.h>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/build_id.h"
#include "codegen/cxx/host.h"
#include "codegen/cxx/maca.h"

namespace weft::codegen {
namespace {

std::string codegen_library() {
    const std::string self = library_path();
    const auto slash = self.rfind('/');
    return (slash == std::string::npos ? "" : self.substr(0, slash + 1)) + "libweft_codegen.so";
}

// The libraries and the processor of one process do not change, and asking the processor is slow in virtual machines.
const std::string& libraries_key() {
    static const std::string key = build_id(codegen_library()) + " " + own_build_id();
    return key;
}

std::string llvm_cpu_key() {
    static const std::string key = libraries_key() + " " + cpu_key();
    return key;
}
std::string llvm_nvptx_key() { return libraries_key(); }

// What the library's function of that name gives; may be null.
Backend* open_llvm(const char* function) {
    const std::string path = codegen_library();
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) {
        const char* reason = dlerror();
        throw UserError(ErrorKind::Unsupported,
                        std::string("the compiler does not load: ") + (reason != nullptr ? reason : path.c_str()));
    }
    using Open = Backend* (*)();
    const auto open = reinterpret_cast<Open>(dlsym(handle, function));
    WEFT_CHECK(open != nullptr, path + " has no " + function);
    return open();
}

Backend& open_llvm_cpu() {
    static Backend* const backend = open_llvm("weft_codegen_cpu_backend");
    return *backend;
}

Backend& open_llvm_nvptx() {
    static Backend* const backend = open_llvm("weft_codegen_nvptx_backend");
    if (backend == nullptr) {
        throw UserError(ErrorKind::Unsupported,
                        "this build of Weft makes no code for NVIDIA GPUs: libdevice was missing when it was built");
    }
    return *backend;
}

}  // namespace

const char* gpu_backend(std::string_view architecture) {
    return architecture.starts_with("xcore") ? kMacaBackend : kGpuBackend;
}

const std::vector<BackendInfo>& backends() {
    static const std::vector<BackendInfo> all = {
        {"llvm-cpu", llvm_cpu_key, true, open_llvm_cpu},
        {"cxx-host", cxx::host_key, true, cxx::open_host},
        {kGpuBackend, llvm_nvptx_key, false, open_llvm_nvptx},
        {kMacaBackend, cxx::maca_key, false, cxx::open_maca},
    };
    return all;
}

const BackendInfo& backend(const std::string& name) {
    std::string known;
    for (const BackendInfo& info : backends()) {
        if (info.name == name) return info;
        known += (known.empty() ? "" : ", ") + info.name;
    }
    throw UserError(ErrorKind::Value, "unknown backend " + name + "; there are " + known);
}

}  // namespace weft::codegen
