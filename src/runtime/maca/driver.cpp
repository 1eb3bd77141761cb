#include "runtime/maca/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/gpu_plan.h"
#include "runtime/maca/adapters.h"

namespace weft::runtime::maca {

using namespace cuda;

namespace {

constexpr const char* kLibrary = "libmcruntime.so";
constexpr const char* kUsualPlace = "/opt/maca";
constexpr int kLanes = 64;
constexpr Result kNotSupported = 801;  // mcErrorNotSupported

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
// Stand in for what MACA has not.
#define DRIVER(name, symbol, parameters) \
    Result missing_##name parameters { return kNotSupported; }
#define OPTIONAL(name, symbol, parameters)
#include "runtime/cuda/driver_functions.def"
#undef OPTIONAL
#undef DRIVER
#pragma GCC diagnostic pop

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

bool is_on(const char* name) {
    const std::string value = variable(name);
    return !value.empty() && value != "0" && value != "false" && value != "no";
}

// The names by which the compiler knows the machines: a family each, told by the major number alone.
std::string architecture_of(int major, int minor) {
    switch (major) {
        case 10:
            return "xcore1000";
        case 15:
            return "xcore1500";
        case 16:
            return "xcore1600";
        default:
            throw UserError(ErrorKind::Unsupported, "the MACA device is of version " + std::to_string(major) + "." +
                                                        std::to_string(minor) +
                                                        "; code can be made for 10 (C500, C550), 15 and 16");
    }
}

std::vector<std::string> places() {
    if (const std::string wanted = variable("WEFT_MACA_DRIVER"); !wanted.empty()) return {wanted};
    const std::string root = variable("MACA_PATH");
    return {(root.empty() ? kUsualPlace : root) + "/lib/" + kLibrary, kLibrary};
}

void* open_library(std::string* problem) {
    for (const std::string& place : places()) {
        if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        const char* reason = dlerror();
        *problem += (problem->empty() ? "no MACA runtime: " : "; ") + (reason != nullptr ? std::string(reason) : place);
    }
    return nullptr;
}

// Gives the first symbol that is missing and cannot be done without.
std::string fill(void* library, Driver& table) {
    std::string missing;
#define DRIVER(name, symbol, parameters) table.name = missing_##name;
#define OPTIONAL(name, symbol, parameters)
#include "runtime/cuda/driver_functions.def"
#undef OPTIONAL
#undef DRIVER
    const auto enter = [&](auto& slot, const char* symbol, bool required) {
        void* found = dlsym(library, symbol);
        if (found != nullptr) {
            slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(found);
        } else if (required && missing.empty()) {
            missing = symbol;
        }
    };
#define SAME(name, symbol) enter(table.name, symbol, true);
#define OPTIONAL_SAME(name, symbol) enter(table.name, symbol, false);
#include "runtime/maca/same_functions.def"
#undef OPTIONAL_SAME
#undef SAME
    const std::string adapted = adapt(library, table);
    return missing.empty() ? adapted : missing;
}

}  // namespace

bool is_wanted() { return !variable("WEFT_MACA_DRIVER").empty() || !variable("MACA_PATH").empty(); }

OpenedDriver open() {
    std::string problem;
    void* library = open_library(&problem);
    if (library == nullptr) return {nullptr, problem};
    auto out = std::make_unique<Driver>();
    if (const std::string missing = fill(library, *out); !missing.empty()) {
        return {nullptr, std::string("the MACA runtime is too old: ") + kLibrary + " has no " + missing};
    }
    out->vendor = {.name = "MACA",
                   .prefix = is_on("WEFT_MACA_AS_CUDA") ? "cuda" : "maca",
                   .backend = codegen::kMacaBackend,
                   .architecture = architecture_of,
                   .lanes = kLanes,
                   .promises = false,
                   .variants = false,
                   .clusters = false,
                   .tells_captures = false,
                   .packs_arguments = variable("WEFT_MACA_ARGUMENTS") == "extra",
                   .usual_bound = codegen::kUsualBound,
                   .largest_bound = codegen::kLargestBound};
    const auto failed = [&](const std::string& what, Result result) -> OpenedDriver {
        const char* text = nullptr;
        out->cuGetErrorString(result, &text);
        return {nullptr, "the MACA runtime " + what + ": " + (text != nullptr ? text : "unknown error")};
    };
    if (const Result result = out->cuInit(0); result != 0 && result != kNotSupported) {
        return failed("does not start", result);
    }
    int count = 0;
    if (const Result result = out->cuDeviceGetCount(&count); result != 0) {
        return failed("fails at counting the devices", result);
    }
    if (count == 0) return {nullptr, "the MACA runtime finds no device"};
    out->cuDriverGetVersion(&out->version);
    return {std::move(out), {}};
}

}  // namespace weft::runtime::maca
