// _core.Device, and which devices there are.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/exports.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {

void export_devices(nb::module_& m) {
    using runtime::Device;
    nb::class_<Device>(m, "Device", nb::dynamic_attr(), nb::is_weak_referenceable(), "A device that kernels run on.")
        .def_prop_ro("alias", [](const Device& d) { return d.alias(); })
        .def_prop_ro("name", [](const Device& d) { return d.description(); })
        .def_prop_ro("ordinal", [](const Device& d) { return d.ordinal(); })
        .def_prop_ro("is_cpu", [](const Device& d) { return d.capabilities().host_memory; })
        .def_prop_ro("is_synchronous", [](const Device& d) { return d.capabilities().synchronous; })
        .def_prop_ro("total_memory", [](const Device& d) { return d.total_memory(); })
        .def_prop_ro("free_memory", [](const Device& d) { return d.free_memory(); })
        .def(
            "_synchronize", [](Device& d) { d.synchronize(); }, nb::call_guard<nb::gil_scoped_release>())
        .def("__str__", [](const Device& d) { return d.alias(); })
        .def("__repr__", [](const Device& d) { return "'" + d.alias() + "'"; });
    m.def("devices", [] {
        nb::list list;
        for (runtime::Device* device : runtime::devices()) list.append(nb::cast(device, nb::rv_policy::reference));
        return list;
    });
    m.def("get_default_device", [] { return &runtime::Runtime::get().default_device(); }, nb::rv_policy::reference);
    m.def("set_default_device", [](runtime::Device& device) { runtime::Runtime::get().set_default_device(device); });
}

}  // namespace weft::bind
