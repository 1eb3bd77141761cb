// _core.Kernel, the base of the package's Kernel. Its source is read when it is first needed.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "runtime/kernel.h"

namespace weft::bind {

struct KernelObject {
    std::string name;
    runtime::KernelOptions options;
    nanobind::object defaults;  // a tuple for the last parameters, or None
    std::unique_ptr<runtime::Kernel> kernel;
};

// The runtime's kernel of a _core.Kernel, read from its source if that has not been done; needs the GIL.
runtime::Kernel& kernel_of(nanobind::handle object);
// Its parameters; called with the GIL, which is released meanwhile.
const std::vector<frontend::ParameterInfo>& signature_of(runtime::Kernel& kernel);

}  // namespace weft::bind
