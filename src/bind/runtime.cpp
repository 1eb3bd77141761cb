// Settings of the runtime: threads, the cache, backends.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/hash.h"
#include "bind/exports.h"
#include "runtime/cpu/stacks.h"
#include "runtime/runtime.h"

extern "C" const char* weft_version();

namespace nb = nanobind;

namespace weft::bind {

void export_runtime(nb::module_& m) {
    m.def("stack_peak_bytes", &runtime::stack_peak_bytes,
          "The most bytes that the stacks of one item's adjoint have had since reset_stack_peak().");
    m.def("reset_stack_peak", &runtime::reset_stack_peak);
    using runtime::DiskCache;
    using runtime::Runtime;
    m.attr("version") = weft_version();
    m.def(
        "sha256", [](const nb::bytes& bytes) { return sha256({bytes.c_str(), bytes.size()}); },
        "The 64 hexadecimal digits.");
    m.def("cpu_threads", [] { return Runtime::get().pool().threads(); });
    m.def("set_cpu_threads", [](int threads) { Runtime::get().pool().set_threads(threads); });
    m.def("set_deterministic", [](bool wanted) { Runtime::get().set_deterministic(wanted); });
    m.def("set_cache", [](const std::string& directory, bool enabled) {
        Runtime::get().set_cache(directory.empty() ? DiskCache::default_directory() : directory, enabled);
    });
    m.def("cache_info", [] {
        nb::dict out;
        const auto cache = Runtime::get().cache();
        out["directory"] = cache ? cache->directory() : std::string();
        out["readable"] = cache && cache->readable();
        out["writable"] = cache && cache->writable();
        out["problem"] = cache ? cache->problem() : std::string("the cache is off");
        return out;
    });
    m.def("add_image_folder", [](const std::string& directory) { Runtime::get().add_folder(directory); });
    m.def("cache_size", [] {
        const auto cache = Runtime::get().cache();
        return cache ? cache->size() : int64_t{0};
    });
    m.def("cache_list", [] {
        nb::list out;
        if (const auto cache = Runtime::get().cache()) {
            for (const DiskCache::Entry& entry : cache->list()) {
                out.append(nb::make_tuple(entry.key, entry.bytes, entry.modified));
            }
        }
        return out;
    });
    m.def("cache_clear", [] {
        const auto cache = Runtime::get().cache();
        return cache ? cache->clear() : int64_t{0};
    });
    m.def("backends", [] {
        nb::list out;
        for (const codegen::BackendInfo& info : codegen::backends()) {
            out.append(nb::make_tuple(info.name, info.target_key()));
        }
        return out;
    });
    m.def("end_compiles", [] { Runtime::get().end_compiles(); }, nb::call_guard<nb::gil_scoped_release>());
    m.def("wait_for_compiles", [] { Runtime::get().compiler().wait_idle(); }, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace weft::bind
