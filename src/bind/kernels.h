// _core.Kernel, the base of the package's Kernel. Its source is read when it is first needed; when a setting changes,
// the settings are read again, and there is a kernel for each set of them.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kernel.h"

namespace weft::bind {

struct KernelObject {
    KernelObject(std::string name, nanobind::object defaults) : name(std::move(name)), defaults(std::move(defaults)) {}
    KernelObject(const KernelObject&) = delete;
    KernelObject& operator=(const KernelObject&) = delete;

    std::string name;
    runtime::KernelOptions options;
    nanobind::object defaults;          // a tuple for the last parameters, or None
    runtime::Kernel* kernel = nullptr;  // the one of `made` that belongs to the settings of now
    int settings = 0;                   // what settings_count() was then
    std::vector<std::unique_ptr<runtime::Kernel>> made;
    // Those it had before it was looked at again: recorded launches and other threads may still run them.
    std::vector<std::unique_ptr<runtime::Kernel>> earlier;
    bool compiled_ahead = false;  // or tried to be, or launched
    // The kernel objects of the tangents, by instance.
    std::map<const runtime::KernelInstance*, nanobind::object> tangents;
};

// The runtime's kernel of a _core.Kernel, read from its source if that has not been done; needs the GIL.
runtime::Kernel& kernel_of(nanobind::handle object);
// Its parameters; called with the GIL, which is released meanwhile.
const std::vector<frontend::ParameterInfo>& signature_of(runtime::Kernel& kernel);

}  // namespace weft::bind
