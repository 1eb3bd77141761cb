#include "bind/kernels.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "bind/compile_ahead.h"
#include "bind/exports.h"
#include "bind/objects.h"
#include "bind/source_questions.h"
#include "codegen/compile.h"
#include "ir/text.h"
#include "runtime/cuda/clusters.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/map_kernel.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using runtime::Code;
using runtime::KernelInstance;

nb::list stage_list(const std::vector<codegen::StageTime>& times) {
    nb::list list;
    for (const codegen::StageTime& time : times) list.append(nb::make_tuple(time.stage, time.milliseconds));
    return list;
}

// With the GIL released: lowers, and asks for the compile of one direction.
Code& code_of(runtime::Kernel& kernel, const std::vector<ir::Type>& types, bool adjoint, int block_dim = 1) {
    KernelInstance& instance = kernel.instance(types, block_dim);
    return adjoint ? instance.adjoint() : instance.forward();
}

// Type, dimensions, which of them have one element, the word of the array's kind.
using OperandDescription = std::tuple<ir::Type, int, std::vector<bool>, std::string>;

// A kernel of class `cls` that applies `callee` (an object that a kernel could call) to operands by element, and the
// types of its results.
nb::tuple make_map_kernel(nb::handle callee, const std::string& name, int ndim,
                          const std::vector<OperandDescription>& descriptions, nb::handle cls,
                          const std::string& backend, const std::vector<std::string>& out_words, bool derivative) {
    frontend::Binding binding = read_binding(callee);
    // The kernel must not keep the function's object, which keeps the kernel.
    if (std::holds_alternative<std::shared_ptr<const frontend::OverloadSet>>(binding)) {
        binding = std::shared_ptr<const frontend::OverloadSet>(
            nb::cast<FunctionObject&>(callee.attr("_weft_function_")).overloads);
    }
    std::vector<runtime::MapOperand> operands;
    for (const auto& [type, dimensions, single, word] : descriptions) {
        operands.push_back({type, dimensions, single, builtins::array_kind_of(word)});
    }
    std::vector<builtins::ArrayKind> out_kinds;
    for (const std::string& word : out_words) out_kinds.push_back(builtins::array_kind_of(word));
    runtime::MapKernel made;
    {
        const nb::gil_scoped_release release;
        made = runtime::make_map_kernel(binding, name, operands, ndim, out_kinds, derivative);
    }
    nb::object object = cls(name, nb::none());
    KernelObject& kernel = nb::cast<KernelObject&>(object);
    kernel.options.backend = backend;
    kernel.made.push_back(std::make_unique<runtime::Kernel>(name, made.source, kernel.options));
    return nb::make_tuple(object, made.results);
}

// The kernel of class `cls` that computes a kernel's instance together with its tangent.
nb::object tangent_kernel(nb::handle self, const std::vector<ir::Type>& types, nb::handle cls) {
    runtime::Kernel& kernel = kernel_of(self);
    KernelInstance* instance = nullptr;
    {
        const nb::gil_scoped_release release;
        instance = &kernel.instance(types);
    }
    nb::object& found = nb::inst_ptr<KernelObject>(self)->tangents[instance];
    if (!found.is_valid()) {
        std::unique_ptr<runtime::Kernel> tangent;
        {
            const nb::gil_scoped_release release;
            tangent = std::make_unique<runtime::Kernel>(instance->tangent());
        }
        nb::object object = cls(tangent->name(), nb::none());
        KernelObject& made = nb::cast<KernelObject&>(object);
        made.options = kernel.options();
        made.made.push_back(std::move(tangent));
        // Another thread may have been first.
        if (!found.is_valid()) found = std::move(object);
    }
    return found;
}

// How often settings that kernels depend on have changed.
int& settings_count() {
    static int count = 0;
    return count;
}

}  // namespace

runtime::Kernel& kernel_of(nb::handle object) {
    auto& self = *nb::inst_ptr<KernelObject>(object);
    const int settings = settings_count();
    if (self.kernel != nullptr && self.settings == settings) return *self.kernel;
    const bool defined = nb::hasattr(object, "_definition");
    if (defined) object.attr("_definition")();
    const auto fits = [&](const auto& kernel) { return !defined || kernel->options() == self.options; };
    const auto found = std::ranges::find_if(self.made, fits);
    if (found == self.made.end()) {
        // The object has the kernel.
        const auto read = [kernel = object.ptr()] {
            const nb::gil_scoped_acquire gil;
            const nb::object function = nb::handle(kernel).attr("_source")();
            return std::shared_ptr<const frontend::FunctionSource>(nb::cast<const FunctionObject&>(function).source);
        };
        self.made.push_back(
            std::make_unique<runtime::Kernel>(self.name, read, self.options, make_memory(object, self.options)));
        self.kernel = self.made.back().get();
    } else {
        self.kernel = found->get();
    }
    self.settings = settings;
    return *self.kernel;
}

const std::vector<frontend::ParameterInfo>& signature_of(runtime::Kernel& kernel) {
    const nb::gil_scoped_release release;
    return kernel.signature();
}

void export_kernels(nb::module_& m) {
    nb::class_<runtime::KernelOptions>(m, "KernelSettings", "What _configure() was told.")
        .def_prop_ro("fast_math", [](const runtime::KernelOptions& o) { return o.codegen.fast_math; })
        .def_ro("checks", &runtime::KernelOptions::checks);
    nb::class_<KernelObject>(m, "Kernel", nb::is_weak_referenceable(), "A kernel: its source, and what was made of it.")
        .def(
            "__init__",
            [](KernelObject* self, const std::string& name, const nb::object& defaults) {
                new (self) KernelObject(name, defaults);
            },
            nb::arg("name"), nb::arg("defaults").none())
        .def(
            "_configure",
            [](KernelObject& self, bool enable_backward, int max_unroll, bool assertions, bool checks, bool verify_fp,
               bool fast_math, bool contract, int optimize, int lanes, bool line_info, bool fuse_on_gpu,
               bool deterministic, const std::string& backend, int max_threads, int min_blocks, int max_registers,
               const std::string& architecture_suffix, int cluster_dim) {
                if (lanes < 0 || lanes > 16 || (lanes & (lanes - 1)) != 0) {
                    throw UserError(ErrorKind::Value, "warp.config.cpu_lanes must be 0, 1, 2, 4, 8 or 16, found " +
                                                          std::to_string(lanes));
                }
                self.options = {enable_backward,
                                max_unroll,
                                assertions,
                                checks,
                                verify_fp,
                                backend,
                                {fast_math, contract, optimize, lanes, line_info},
                                deterministic,
                                fuse_on_gpu,
                                architecture_suffix,
                                cluster_dim};
                self.options.codegen.max_threads = max_threads;
                self.options.codegen.min_blocks = min_blocks;
                self.options.codegen.max_registers = max_registers;
            },
            nb::kw_only(), nb::arg("enable_backward") = true, nb::arg("max_unroll") = 16, nb::arg("assertions") = false,
            nb::arg("checks") = false, nb::arg("verify_fp") = false, nb::arg("fast_math") = false,
            nb::arg("contract") = false, nb::arg("optimize") = 2, nb::arg("lanes") = 0, nb::arg("line_info") = false,
            nb::arg("fuse_on_gpu") = true, nb::arg("deterministic") = false, nb::arg("backend") = "",
            nb::arg("max_threads") = 0, nb::arg("min_blocks") = 0, nb::arg("max_registers") = 0,
            nb::arg("architecture_suffix") = "", nb::arg("cluster_dim") = 1, "To be called by _definition().")
        .def_prop_rw(
            "_settings", [](const KernelObject& self) { return self.options; },
            [](KernelObject& self, const runtime::KernelOptions& options) { self.options = options; })
        .def(
            "_forget",
            [](KernelObject& self) {
                for (auto& made : self.made) self.earlier.push_back(std::move(made));
                self.made.clear();
                self.kernel = nullptr;
            },
            "The source, and what it refers to, is looked at again when the kernel is next needed.")
        .def("_tangent", &tangent_kernel, nb::arg("types"), nb::arg("cls"),
             "The kernel that computes this one and its tangent; its parameters: ad/forward.h.")
        .def("_is_compiled",
             [](const KernelObject& self) {
                 if (self.kernel == nullptr) return false;
                 const nb::gil_scoped_release release;
                 return self.kernel->is_compiled();
             })
        .def("_instances",
             [](const KernelObject& self) {
                 nb::list instances;
                 if (self.kernel == nullptr) return instances;
                 std::vector<std::vector<ir::Type>> types;
                 {
                     const nb::gil_scoped_release release;
                     types = self.kernel->instance_types();
                 }
                 for (const auto& list : types) instances.append(nb::tuple(nb::cast(list)));
                 return instances;
             })
        .def_prop_ro("_name", [](const KernelObject& k) { return k.name; })
        .def_prop_ro("_enable_backward", [](const KernelObject& k) { return k.options.enable_backward; })
        .def("_signature",
             [](nb::handle self) {
                 nb::list list;
                 for (const frontend::ParameterInfo& parameter : signature_of(kernel_of(self))) {
                     const bool exact = parameter.type.is_exact();
                     list.append(nb::make_tuple(parameter.name, exact ? nb::cast(parameter.type.exact) : nb::none(),
                                                parameter.type.str()));
                 }
                 return list;
             })
        .def(
            "_load",
            [](nb::handle self, const std::vector<ir::Type>& types, bool adjoint, bool wait, int block_dim,
               runtime::Device* device) {
                runtime::Kernel& kernel = kernel_of(self);
                const nb::gil_scoped_release release;
                Code& code = code_of(kernel, types, adjoint, block_dim);
                runtime::Device& target = device != nullptr ? *device : *runtime::devices().front();
                code.loaded(target);
                if (wait) target.prepare(code);
            },
            nb::arg("types") = std::vector<ir::Type>(), nb::arg("adjoint") = false, nb::arg("wait") = true,
            nb::arg("block_dim") = 1, nb::arg("device").none() = nb::none())
        .def(
            "_gpu_properties",
            [](nb::handle self, const std::vector<ir::Type>& types, runtime::cuda::CudaDevice& device, int block_dim) {
                using runtime::cuda::CudaDevice;
                runtime::Kernel& kernel = kernel_of(self);
                const nb::gil_scoped_release release;
                Code& code = code_of(kernel, types, false, block_dim);
                return std::pair(device.attribute_of(code, CudaDevice::kRegisters),
                                 device.attribute_of(code, CudaDevice::kLocalBytes));
            },
            "Registers of a thread, and bytes of its local memory.")
        .def(
            "_largest_cluster",
            [](nb::handle self, runtime::cuda::CudaDevice& device, int block_dim, int dynamic_shared_bytes) {
                runtime::Kernel& kernel = kernel_of(self);
                const nb::gil_scoped_release release;
                return runtime::cuda::largest_cluster(device, code_of(kernel, {}, false, block_dim), block_dim,
                                                      dynamic_shared_bytes);
            },
            "The most blocks that a cluster can have on this device.")
        .def("_suggested_block",
             [](nb::handle self, const std::vector<ir::Type>& types, runtime::cuda::CudaDevice& device) {
                 runtime::Kernel& kernel = kernel_of(self);
                 const nb::gil_scoped_release release;
                 return device.suggested_block(code_of(kernel, types, false));
             })
        .def("_is_loaded_on",
             [](const KernelObject& self, const runtime::cuda::CudaDevice& device) {
                 if (self.kernel == nullptr) return false;
                 const nb::gil_scoped_release release;
                 return self.kernel->is_loaded_on(device.ordinal());
             })
        .def("_block_dims",
             [](const KernelObject& self) {
                 nb::list sizes;
                 if (self.kernel == nullptr) return sizes;
                 std::set<int> found;
                 {
                     const nb::gil_scoped_release release;
                     found = self.kernel->block_dims();
                 }
                 for (const int size : found) sizes.append(size);
                 return sizes;
             })
        .def(
            "_times",
            [](nb::handle self, const std::vector<ir::Type>& types, bool adjoint) {
                runtime::Kernel& kernel = kernel_of(self);
                double lower = 0;
                std::shared_ptr<runtime::LoadedKernel> loaded;
                {
                    const nb::gil_scoped_release release;
                    lower = kernel.instance(types).lower_milliseconds();
                    Code& code = code_of(kernel, types, adjoint);
                    code.wait();
                    loaded = code.loaded();
                }
                nb::list list = stage_list(loaded->times());
                list.insert(0, nb::make_tuple("lower", lower));
                return nb::make_tuple(list, loaded->from_cache());
            },
            nb::arg("types") = std::vector<ir::Type>(), nb::arg("adjoint") = false,
            "Milliseconds a stage, and whether the code came from the cache.")
        .def(
            "_dump",
            [](nb::handle self, const std::string& kind, const std::vector<ir::Type>& types, bool adjoint,
               const std::string& wanted, bool gathered, const std::string& gpu) -> std::string {
                runtime::Kernel& kernel = kernel_of(self);
                const nb::gil_scoped_release release;
                KernelInstance::Gathered* parts = gathered ? kernel.instance(types).gathered() : nullptr;
                if (gathered && parts == nullptr) return "";
                Code& code = gathered ? *parts->main : code_of(kernel, types, adjoint);
                if (kind == "source-ir") return ir::print(code.module());
                const runtime::KernelOptions& options = kernel.options();
                const std::string& name = !wanted.empty()            ? wanted
                                          : !options.backend.empty() ? options.backend
                                                                     : codegen::backends().front().name;
                const codegen::Options of_code =
                    gpu.empty()
                        ? options.codegen
                        : runtime::options_for_gpu(options.codegen, options.fuse_on_gpu, gpu, code.gpu_plan().usual());
                return codegen::dump(code.module(), codegen::backend(name).open(), of_code, kind);
            },
            nb::arg("kind"), nb::arg("types") = std::vector<ir::Type>(), nb::arg("adjoint") = false,
            nb::arg("backend") = "", nb::arg("gathered") = false, nb::arg("gpu") = "",
            "What the kernel is compiled to; `gathered`: its adjoint as a gather, empty where it is none; `gpu`: the "
            "architecture, where the backend is of GPUs.")
        .def(
            "_store",
            [](nb::handle self, const std::vector<ir::Type>& types, bool adjoint, const std::string& directory,
               const std::string& gpu) {
                runtime::Kernel& kernel = kernel_of(self);
                const nb::gil_scoped_release release;
                Code& code = code_of(kernel, types, adjoint);
                const runtime::KernelOptions& options = kernel.options();
                const runtime::DiskCache target(directory, std::numeric_limits<int64_t>::max());
                const runtime::Compiler& compiler = runtime::Runtime::get().compiler();
                if (gpu.empty()) {
                    compiler.store(code.lazy_module(), options.backend, options.codegen, target);
                    return;
                }
                for (const runtime::GpuForm& form : code.gpu_forms(gpu)) {
                    compiler.store(code.lazy_module(), form.backend, form.options, target);
                }
            },
            nb::arg("types"), nb::arg("adjoint"), nb::arg("directory"), nb::arg("gpu") = "",
            "Writes the compiled code to a folder, for add_image_folder(); `gpu`: that of this architecture.")
        .def(
            "_access",
            [](nb::handle self, const std::vector<ir::Type>& types, bool adjoint) {
                runtime::Kernel& kernel = kernel_of(self);
                std::vector<std::pair<bool, bool>> access;
                {
                    const nb::gil_scoped_release release;
                    for (const runtime::Parameter& parameter : code_of(kernel, types, adjoint).parameters()) {
                        access.emplace_back(parameter.access.read, parameter.access.write);
                    }
                }
                nb::list list;
                for (const auto& [read, write] : access) list.append(nb::make_tuple(read, write));
                return list;
            },
            nb::arg("types") = std::vector<ir::Type>(), nb::arg("adjoint") = false,
            "(read, written) for the arrays of each parameter.");
    m.def("make_map_kernel", &make_map_kernel, nb::arg("callee"), nb::arg("name"), nb::arg("ndim"), nb::arg("operands"),
          nb::arg("cls"), nb::arg("backend") = "", nb::arg("out_kinds") = std::vector<std::string>(),
          nb::arg("derivative") = false);
    m.def("set_compile_ahead", &set_compile_ahead);
    m.def("settings_changed", [] { ++settings_count(); }, "Kernels read their settings again.");
    m.def("backend_names", [] {
        std::vector<std::string> names;
        for (const codegen::BackendInfo& info : codegen::backends()) names.push_back(info.name);
        return names;
    });
    m.def("dump_kinds", [](const std::string& name) {
        std::vector<std::string> kinds = {"source-ir", "ir"};
        for (const std::string& kind : codegen::backend(name).open().dump_kinds()) kinds.push_back(kind);
        return kinds;
    });
}

}  // namespace weft::bind
