#include "runtime/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "base/error.h"
#include "codegen/backend.h"
#include "runtime/cuda/recent_launches.h"
#include "runtime/maca/driver.h"

namespace weft::runtime::cuda {
namespace {

// Kernels are written for PTX 7.8.
constexpr int kOldest = 11080;

std::string architecture_of(int major, int minor) { return "sm_" + std::to_string(major * 10 + minor); }

OpenedDriver open_nvidia() {
    // Another library may stand in, as tests do.
    const char* wanted = std::getenv("WEFT_CUDA_DRIVER");
    const char* path = wanted != nullptr ? wanted : "libcuda.so.1";
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* reason = dlerror();
        return {nullptr, std::string("no CUDA driver: ") + (reason != nullptr ? reason : path)};
    }
    auto out = std::make_unique<Driver>();
    out->vendor.backend = codegen::kGpuBackend;
    out->vendor.architecture = architecture_of;
    std::string missing;
#define DRIVER(name, symbol, parameters)                                       \
    out->name = reinterpret_cast<decltype(out->name)>(dlsym(library, symbol)); \
    if (out->name == nullptr && missing.empty()) missing = symbol;
#define OPTIONAL(name, symbol, parameters) out->name = reinterpret_cast<decltype(out->name)>(dlsym(library, symbol));
#include "runtime/cuda/driver_functions.def"
#undef OPTIONAL
#undef DRIVER
    if (out->cuDriverGetVersion != nullptr) out->cuDriverGetVersion(&out->version);
    if (out->version < kOldest || !missing.empty()) {
        return {nullptr, "the CUDA driver is too old: it serves CUDA " + std::to_string(out->version / 1000) + "." +
                             std::to_string(out->version % 1000 / 10) + ", 11.8 or newer is needed" +
                             (missing.empty() ? "" : " (it has no " + missing + ")")};
    }
    if (const Result result = out->cuInit(0); result != 0) {
        const char* text = nullptr;
        out->cuGetErrorString(result, &text);
        return {nullptr, std::string("the CUDA driver does not start: ") + (text != nullptr ? text : "unknown error")};
    }
    return {std::move(out), {}};
}

OpenedDriver open() {
    if (std::getenv("WEFT_CUDA_DRIVER") != nullptr && std::getenv("WEFT_MACA_DRIVER") == nullptr) return open_nvidia();
    if (!maca::is_wanted()) {
        OpenedDriver nvidia = open_nvidia();
        if (nvidia.driver != nullptr) return nvidia;
        OpenedDriver maca = maca::open();
        if (maca.driver != nullptr) return maca;
        nvidia.problem += "; " + maca.problem;
        return nvidia;
    }
    OpenedDriver maca = maca::open();
    if (maca.driver != nullptr) return maca;
    OpenedDriver nvidia = open_nvidia();
    nvidia.problem = nvidia.driver != nullptr ? "" : maca.problem + "; " + nvidia.problem;
    return nvidia;
}

OpenedDriver& found() {
    // Never destroyed: devices are used until the process ends.
    static OpenedDriver& instance = *new OpenedDriver(open());
    return instance;
}

}  // namespace

const Driver* find_driver() { return found().driver.get(); }

const std::string& driver_problem() { return found().problem; }

void set_driver_problem(std::string problem) { found().problem = std::move(problem); }

const Driver& driver() {
    const Driver* out = find_driver();
    WEFT_CHECK(out != nullptr, driver_problem());
    return *out;
}

void check(Result result, const char* what) {
    if (result == 0) return;
    const char* name = nullptr;
    const char* text = nullptr;
    driver().cuGetErrorName(result, &name);
    driver().cuGetErrorString(result, &text);
    std::string message = "Warp " + driver().vendor.name + " error " + std::to_string(result) + ": " + what + ": ";
    message += text != nullptr ? text : "unknown error";
    if (name != nullptr) message += std::string(" (") + name + ")";
    if (is_late(result)) throw_late(message);
    throw UserError(ErrorKind::Runtime, message);
}

}  // namespace weft::runtime::cuda
