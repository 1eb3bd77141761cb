// What NVIDIA GPUs have beyond other devices: attributes, streams, events, captured graphs. Their Python classes are in
// python/warp/streams.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "bind/exports.h"
#include "runtime/cuda/conditional.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/recent_launches.h"
#include "runtime/cuda/stream.h"

namespace nb = nanobind;

namespace weft::bind {

using runtime::cuda::Conditional;
using runtime::cuda::CudaDevice;
using runtime::cuda::Event;
using runtime::cuda::MemoryKind;
using runtime::cuda::PoolAttribute;
using runtime::cuda::Stream;
using runtime::cuda::StreamGraph;
using runtime::cuda::StreamHandle;

namespace {

uintptr_t number(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }

void export_cuda_device(nb::module_& m) {
    nb::class_<CudaDevice, runtime::Device>(m, "CudaDevice", "An NVIDIA GPU.")
        .def_prop_ro("_architecture", &CudaDevice::architecture)
        .def("_attribute", &CudaDevice::attribute, "A value by the driver's number for it (CUdevice_attribute).")
        .def_prop_ro("context", [](CudaDevice& d) { return number(d.context()); })
        .def_prop_ro("has_context", &CudaDevice::has_context)
        .def_prop_ro("uuid", &CudaDevice::uuid)
        .def_prop_ro("pci_bus_id", &CudaDevice::pci_bus_id)
        .def_prop_rw(
            "_stream", [](CudaDevice& d) { return number(d.stream()); },
            [](CudaDevice& d, uintptr_t stream) { d.set_stream(reinterpret_cast<StreamHandle>(stream)); })
        .def("_pool_attribute", [](CudaDevice& d, int n) { return pool_attribute(d, PoolAttribute{n}); })
        .def("_set_pool_attribute",
             [](CudaDevice& d, int n, uint64_t value) { set_pool_attribute(d, PoolAttribute{n}, value); })
        .def("_can_access", &runtime::cuda::can_access)
        .def("_has_pool_access", &runtime::cuda::has_pool_access)
        .def("_set_pool_access", &runtime::cuda::set_pool_access)
        .def("_set_peer_access", &runtime::cuda::set_peer_access)
        .def("_allocate",
             [](CudaDevice& d, int kind, int64_t bytes) { return runtime::cuda::allocate(d, MemoryKind{kind}, bytes); })
        .def("_free",
             [](CudaDevice& d, int kind, uintptr_t memory) { runtime::cuda::free_memory(d, MemoryKind{kind}, memory); })
        .def("_ipc_handle",
             [](CudaDevice& d, uintptr_t memory) {
                 const std::string bytes = runtime::cuda::ipc_handle(d, runtime::cuda::Address{memory});
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def("_open_memory",
             [](CudaDevice& d, const nb::bytes& handle) {
                 return runtime::cuda::open_memory(d, {handle.c_str(), handle.size()});
             })
        .def("_close_memory", &runtime::cuda::close_memory)
        .def_prop_rw("is_mempool_enabled", &CudaDevice::uses_pool, &CudaDevice::set_uses_pool);
    m.def("cuda_driver_version", [] {
        const runtime::cuda::Driver* driver = runtime::cuda::find_driver();
        return driver == nullptr ? 0 : driver->version;
    });
    m.def(
        "gpu_vendor",
        [] {
            const runtime::cuda::Driver* driver = runtime::cuda::find_driver();
            return driver == nullptr ? std::string() : driver->vendor.name;
        },
        "\"CUDA\", \"MACA\", or nothing where no driver serves.");
    m.def("cuda_memory_kind", [](uintptr_t address) { return static_cast<int>(runtime::cuda::memory_kind(address)); });
    m.def("set_verify_cuda", &runtime::cuda::set_verifies_launches);
    m.def("cuda_profiler", [](bool start) {
        runtime::cuda::check(
            start ? runtime::cuda::driver().cuProfilerStart() : runtime::cuda::driver().cuProfilerStop(),
            "switching the profiler");
    });
    m.def(
        "cuda_problem", [] { return runtime::cuda::driver_problem(); }, "Why there is no CUDA; empty where there is.");
}

}  // namespace

void export_cuda(nb::module_& m) {
    export_cuda_device(m);
    const auto free_gil = nb::call_guard<nb::gil_scoped_release>();
    nb::class_<Event>(m, "CudaEvent", nb::is_weak_referenceable(), "A mark in a stream of a GPU.")
        .def("__init__", [](Event* self, CudaDevice& device, bool timing,
                            bool interprocess) { new (self) Event(device, timing, interprocess); })
        .def_static("_borrow",
                    [](CudaDevice& device, uintptr_t handle) {
                        return std::make_unique<Event>(device, reinterpret_cast<runtime::cuda::EventHandle>(handle),
                                                       false);
                    })
        .def_static("_open",
                    [](CudaDevice& device, const nb::bytes& handle) {
                        return std::make_unique<Event>(
                            device, runtime::cuda::open_event(device, {handle.c_str(), handle.size()}), true);
                    })
        .def("_ipc_handle",
             [](const Event& e) {
                 const std::string bytes = runtime::cuda::ipc_handle(e.device(), e.handle());
                 return nb::bytes(bytes.data(), bytes.size());
             })
        .def_prop_ro("cuda_event", [](const Event& e) { return number(e.handle()); })
        .def_prop_ro("enable_timing", &Event::has_timing)
        .def_prop_ro("is_complete", &Event::is_complete)
        .def("_synchronize", &Event::synchronize, free_gil)
        .def("_since", &Event::since);
    nb::class_<Stream>(m, "CudaStream", nb::is_weak_referenceable(), "A queue of work of a GPU.")
        .def("__init__", [](Stream* self, CudaDevice& device, int priority) { new (self) Stream(device, priority); })
        .def_static(
            "_borrow",
            [](CudaDevice& device, uintptr_t handle) {
                return std::make_unique<Stream>(device, reinterpret_cast<StreamHandle>(handle));
            },
            "Somebody else's stream.")
        .def_prop_ro("cuda_stream", [](const Stream& s) { return number(s.handle()); })
        .def_prop_ro("priority", &Stream::priority)
        .def_prop_ro("is_complete", &Stream::is_complete)
        .def_prop_ro("is_capturing", &Stream::is_capturing)
        .def("_synchronize", &Stream::synchronize, free_gil)
        .def("_record", &Stream::record, nb::arg("event"), nb::arg("external") = false)
        .def("_wait", &Stream::wait, nb::arg("event"), nb::arg("external") = false)
        .def("_begin_capture", [](const Stream& s, int mode, bool external) {
            return StreamGraph::begin(s, static_cast<runtime::cuda::CaptureMode>(mode), external);
        });
    nb::class_<Conditional>(m, "CudaConditional", "A node of a captured graph that runs its body by a value in memory.")
        .def("__init__", [](Conditional* self, const Stream& stream, uintptr_t condition, bool loop,
                            bool flip) { new (self) Conditional(stream, condition, loop, flip); })
        .def("_begin", &Conditional::begin)
        .def("_end", &Conditional::end)
        .def_static("_is_supported", &Conditional::is_supported);
    nb::class_<StreamGraph>(m, "CudaGraph", nb::is_weak_referenceable(), "Work recorded from a stream.")
        .def("_end", &StreamGraph::end)
        .def("_add_to", &StreamGraph::add_to)
        .def("_instantiate", &StreamGraph::instantiate, free_gil)
        .def("_launch", &StreamGraph::launch, free_gil)
        .def("_write_dot", &StreamGraph::write_dot);
}

}  // namespace weft::bind
