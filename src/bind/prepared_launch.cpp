#include "bind/prepared_launch.h"

#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>

#include "bind/exports.h"
#include "bind/instances.h"
#include "bind/launch.h"
#include "bind/values.h"
#include "runtime/cuda/clusters.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

bool is_number(PyObject* object) {
    return object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object);
}

bool is_value(PyObject* object) {
    const auto* value = instance<ValueObject>(object);
    return value != nullptr && !value->type().contains_array() && !value->type().is(ir::TypeKind::Struct);
}

runtime::KernelInstance& chosen(nb::handle kernel, Arguments& arguments, const Where& where) {
    return instance_of(kernel, arguments, where.options.block_dim);
}

}  // namespace

PreparedLaunch::PreparedLaunch(nb::handle kernel, Arguments& arguments, const codegen::LaunchShape& shape,
                               const Where& where)
    : kernel_(nb::borrow(kernel)),
      made_(&kernel_of(kernel)),
      code_(&chosen(kernel, arguments, where).forward()),
      block_(made_->name(), code_->block_bytes()),
      shape_(shape),
      where_(where) {
    pack_all(block_, arguments, *code_, where.device);
    for (size_t i = 0; i < arguments.count(); ++i) {
        if (is_value(arguments[i])) values_.push_back({nb::borrow(arguments[i]), code_->parameters()[i].offset});
    }
}

bool PreparedLaunch::takes(const Arguments& arguments) {
    for (size_t i = 0; i < arguments.count(); ++i) {
        if (!is_number(arguments[i]) && !is_value(arguments[i]) && as_array(arguments[i]) == nullptr) return false;
    }
    return true;
}

bool PreparedLaunch::run(void* stream) const {
    if (launches_are_watched() || &kernel_of(kernel_) != made_) return false;
    for (const auto& [object, offset] : values_) {
        const auto* value = instance<ValueObject>(object.ptr());
        if (std::memcmp(value->data(), block_.data() + offset, value->size()) != 0) return false;
    }
    Where where = where_;
    if (stream != nullptr) where.options.stream = stream;
    run_or_record(kernel_, *code_, block_, shape_, where);
    return true;
}

void export_prepared_launch(nb::module_& m) {
    nb::class_<PreparedLaunch>(m, "PreparedLaunch", "A launch whose arguments are packed.")
        .def("run", [](const PreparedLaunch& self) { return self.run(nullptr); })
        .def("run_on", [](const PreparedLaunch& self, uintptr_t stream) {
            return self.run(reinterpret_cast<void*>(stream));  // NOLINT(performance-no-int-to-ptr)
        });
    m.def(
        "check_dimensions",
        [](nb::handle kernel, nb::handle dim, runtime::Device& device, int block_dim, int max_blocks) {
            const auto* gpu = dynamic_cast<runtime::cuda::CudaDevice*>(&device);
            const int cluster = kernel_of(kernel).options().cluster;
            if (gpu == nullptr || cluster == 1 || !has_clusters(*gpu)) return;
            const codegen::LaunchShape shape = read_shape(dim.ptr());
            int64_t items = 1;
            for (int d = 0; d < shape.ndim; ++d) items *= shape.dims[d];
            runtime::cuda::check_clusters(kernel_of(kernel).name(), cluster, items, {block_dim, max_blocks, nullptr});
        },
        nb::arg("kernel"), nb::arg("dim"), nb::arg("device"), nb::arg("block_dim"), nb::arg("max_blocks"),
        "Refuses what a launch would refuse of the number of blocks.");
    m.def(
        "prepare_launch",
        [](nb::handle kernel, nb::handle dim, nb::handle given, runtime::Device& device, int block_dim,
           int wanted_block_dim, int max_blocks) -> std::unique_ptr<PreparedLaunch> {
            Arguments arguments(given.ptr(), nullptr);
            if (!PreparedLaunch::takes(arguments)) return nullptr;
            codegen::LaunchShape shape = read_shape(dim.ptr());
            if (wanted_block_dim > 0) shape.block_dim = wanted_block_dim;
            Where where{device, {}};
            where.options.block_dim = block_dim;
            where.options.max_blocks = max_blocks;
            return std::make_unique<PreparedLaunch>(kernel, arguments, shape, where);
        },
        nb::arg("kernel"), nb::arg("dim"), nb::arg("arguments"), nb::arg("device"), nb::arg("block_dim"),
        nb::arg("wanted_block_dim"), nb::arg("max_blocks"),
        "Packs a launch's arguments; None where they have to be looked at again at each launch.");
}

}  // namespace weft::bind
