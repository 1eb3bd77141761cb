#include "bind/compile_ahead.h"

#include "base/error.h"
#include "bind/kernels.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

// Jobs for each thread: one that runs, one that follows.
constexpr size_t kJobs = 2;

bool g_enabled = true;

void prepare(nb::handle candidate, int block_dim) {
    try {
        runtime::Kernel& kernel = kernel_of(candidate);
        const nb::gil_scoped_release release;
        kernel.prepare(block_dim);
    } catch (const nb::python_error&) {
        // Its own launch tells.
    } catch (const UserError&) {
    }
}

}  // namespace

void set_compile_ahead(bool enabled) { g_enabled = enabled; }

void compile_ahead(nb::handle kernel, runtime::Code& code, int block_dim) {
    runtime::Compiler& compiler = runtime::Runtime::get().compiler();
    // With one thread the others would be in the way.
    if (!g_enabled || compiler.threads() < 2 || !runtime::Runtime::get().default_device().capabilities().host_memory)
        return;
    const std::shared_ptr<runtime::LoadedKernel> waited_for = code.loaded();
    {
        const nb::gil_scoped_release release;
        if (!waited_for->must_be_compiled()) return;
    }
    for (nb::handle candidate : nb::list(kernel.attr("_following")())) {
        if (waited_for->ready() || compiler.pending() > kJobs * compiler.threads()) return;
        KernelObject& object = *nb::inst_ptr<KernelObject>(candidate);
        if (std::exchange(object.compiled_ahead, true)) continue;
        prepare(candidate, block_dim);
    }
}

}  // namespace weft::bind
