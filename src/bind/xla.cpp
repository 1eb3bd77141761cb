// Calls from XLA (runtime/xla): launches of kernels that need no Python, and functions of Python. jax_calls.py
// registers the handlers with JAX.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bind/exports.h"
#include "bind/kernels.h"
#include "bind/pack.h"
#include "runtime/launch.h"
#include "runtime/runtime.h"
#include "runtime/xla/kernel_call.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using runtime::KernelInstance;
using runtime::xla::ArraySource;
using runtime::xla::Buffer;
using runtime::xla::Execution;
using runtime::xla::KernelCall;

// Keeps Python objects for as long as the process runs Python.
std::shared_ptr<void> keep(nb::object object) {
    return {object.release().ptr(), [](void* p) {
                if (Py_IsInitialized() == 0) return;
                const nb::gil_scoped_acquire gil;
                Py_DECREF(static_cast<PyObject*>(p));
            }};
}

// ---- kernels ----

// What a call of a kernel is made of, as Python gives it.
struct KernelCallParts {
    nb::object kernel;
    std::vector<ir::Type> types;  // of the parameters, where the kernel is generic
    nb::list arguments;           // for each parameter (input, output), with None for none; or a value
    nb::object gradients;         // likewise, of an adjoint; else None
    int host_block_dim = 1;
    int gpu_block_dim = 256;
};

std::optional<ArraySource> source_of(nb::handle argument) {
    if (argument.is_none()) return std::nullopt;
    const auto part = [&](int i) { return argument[i].is_none() ? -1 : nb::cast<int>(argument[i]); };
    return ArraySource{part(0), part(1)};
}

KernelInstance& instance_of(const KernelCallParts& parts, int block_dim) {
    runtime::Kernel& kernel = kernel_of(parts.kernel);
    const nb::gil_scoped_release release;
    return kernel.instance(parts.types, block_dim);
}

runtime::Code& code_of(KernelInstance& instance, bool adjoint) {
    const nb::gil_scoped_release release;
    return adjoint ? instance.adjoint() : instance.forward();
}

// Where the arrays of the code's parameters come from.
std::vector<std::optional<ArraySource>> sources_of(const KernelCallParts& parts, KernelInstance& instance,
                                                   const runtime::Code& code) {
    std::vector<std::optional<ArraySource>> out(code.parameters().size());
    const size_t own = nb::len(parts.arguments);
    for (size_t i = 0; i < own; ++i) {
        if (code.parameters()[i].type.is(ir::TypeKind::Array)) out[i] = source_of(parts.arguments[i]);
    }
    if (parts.gradients.is_none()) return out;
    const auto& wanted = instance.gradient_parameters();
    for (size_t k = 0; k < wanted.size(); ++k) out[own + k] = source_of(parts.gradients[wanted[k]]);
    return out;
}

// The bytes of the arguments, with values that are no arrays in their places.
std::vector<std::byte> packed_values(const KernelCallParts& parts, const runtime::Code& code) {
    ArgumentBlock block(code.name(), code.block_bytes());
    std::memset(block.data(), 0, static_cast<size_t>(code.block_bytes()));
    for (size_t i = 0; i < nb::len(parts.arguments); ++i) {
        const runtime::Parameter& parameter = code.parameters()[i];
        if (parameter.type.is(ir::TypeKind::Array)) continue;
        const nb::object value = parts.arguments[i];
        block.pack(value.ptr(), parameter, *runtime::devices().front());
    }
    return {block.data(), block.data() + code.block_bytes()};
}

codegen::LaunchShape shape_of(const std::vector<int64_t>& dims, int block_dim) {
    codegen::LaunchShape shape;
    if (dims.size() > 4) {
        throw UserError(ErrorKind::Launch, "a launch has at most 4 dimensions, found " + std::to_string(dims.size()));
    }
    shape.ndim = dims.empty() ? 1 : static_cast<int32_t>(dims.size());
    std::ranges::copy(dims, shape.dims);
    if (block_dim > 0) shape.block_dim = block_dim;
    return shape;
}

void refuse_lost_values(KernelInstance& instance) {
    const ad::AdjointNeeds& needs = instance.needs();
    if (needs.restored.empty() && needs.results == 0) return;
    throw UserError(ErrorKind::Gradient,
                    "the adjoint of kernel '" + instance.name() + "' needs values that the kernel " +
                        (needs.results > 0 ? "gets from atomics" : "overwrites") + ": JAX cannot keep them");
}

std::shared_ptr<KernelCall> make_kernel_call(const nb::object& kernel, const std::vector<ir::Type>& types,
                                             const nb::list& arguments, const nb::object& gradients,
                                             const std::vector<int64_t>& dims, int host_block_dim, int gpu_block_dim,
                                             int asked_block_dim) {
    const bool adjoint = !gradients.is_none();
    const auto parts = std::make_shared<KernelCallParts>(
        KernelCallParts{kernel, types, arguments, gradients, host_block_dim, gpu_block_dim});
    KernelInstance& instance = instance_of(*parts, host_block_dim);
    const codegen::LaunchShape shape = shape_of(dims, asked_block_dim);
    runtime::item_count(instance.forward(), shape);  // refuses what a launch would
    const runtime::Code& code = code_of(instance, adjoint);
    if (adjoint) refuse_lost_values(instance);
    std::vector<std::optional<ArraySource>> sources = sources_of(*parts, instance, code);
    packed_values(*parts, code);  // refuses values that do not fit
    const std::shared_ptr<void> kept = keep(nb::make_tuple(kernel, arguments, gradients));
    // The objects are `kept`'s: what the call's threads destroy holds none.
    const auto bare = std::shared_ptr<KernelCallParts>(new KernelCallParts(*parts), [kept](KernelCallParts* p) {
        if (Py_IsInitialized() == 0) return;
        const nb::gil_scoped_acquire gil;
        delete p;
    });
    const auto resolve = [bare, adjoint](bool host) {
        const nb::gil_scoped_acquire gil;
        const int block_dim = host ? bare->host_block_dim : bare->gpu_block_dim;
        KernelInstance& found = instance_of(*bare, block_dim);
        return KernelCall::Target{&found, packed_values(*bare, code_of(found, adjoint)), block_dim};
    };
    return std::make_shared<KernelCall>(instance.name(), resolve, std::move(sources), shape, adjoint, kept);
}

// ---- functions of Python ----

const char* dtype_name(runtime::xla::DataType type) {
    using namespace runtime::xla;
    switch (type) {
        case kPred:
            return "bool";
        case kS8:
            return "int8";
        case kS16:
            return "int16";
        case kS32:
            return "int32";
        case kS64:
            return "int64";
        case kU8:
            return "uint8";
        case kU16:
            return "uint16";
        case kU32:
            return "uint32";
        case kU64:
            return "uint64";
        case kF16:
            return "float16";
        case kF32:
            return "float32";
        case kF64:
            return "float64";
        case kBF16:
            return "bfloat16";
    }
    throw UserError(ErrorKind::Type,
                    "XLA passed numbers of type " + std::to_string(type) + ", which Warp does not have");
}

// (address, shape, name of the dtype) of each.
nb::list buffer_list(std::span<const Buffer* const> buffers) {
    nb::list out;
    for (const Buffer* buffer : buffers) {
        nb::list shape;
        for (int64_t d = 0; d < buffer->rank; ++d) shape.append(buffer->dims[d]);
        out.append(
            nb::make_tuple(reinterpret_cast<uintptr_t>(buffer->data), nb::tuple(shape), dtype_name(buffer->dtype)));
    }
    return out;
}

nb::object number_of(runtime::xla::DataType type, const void* at) {
    using namespace runtime::xla;
    const auto read = [at]<typename T>(T) {
        T value;
        std::memcpy(&value, at, sizeof(value));
        return nb::cast(value);
    };
    switch (type) {
        case kPred:
            return read(bool());
        case kS8:
            return read(int8_t());
        case kS16:
            return read(int16_t());
        case kS32:
            return read(int32_t());
        case kS64:
            return read(int64_t());
        case kU8:
            return read(uint8_t());
        case kU16:
            return read(uint16_t());
        case kU32:
            return read(uint32_t());
        case kU64:
            return read(uint64_t());
        case kF32:
            return read(float());
        case kF64:
            return read(double());
        default:
            throw UserError(ErrorKind::Type, std::string("an attribute cannot have the type ") + dtype_name(type));
    }
}

// The attributes of a call that are numbers or texts.
nb::dict attribute_dict(const runtime::xla::Attributes& attributes) {
    nb::dict out;
    for (int64_t i = 0; i < attributes.size; ++i) {
        const nb::str name(attributes.names[i]->data, attributes.names[i]->size);
        if (attributes.kinds[i] == runtime::xla::kScalarAttribute) {
            const auto& scalar = *static_cast<const runtime::xla::Scalar*>(attributes.values[i]);
            out[name] = number_of(scalar.dtype, scalar.value);
        } else if (attributes.kinds[i] == runtime::xla::kStringAttribute) {
            const auto& text = *static_cast<const runtime::xla::ByteSpan*>(attributes.values[i]);
            out[name] = nb::str(text.data, text.size);
        } else {
            throw UserError(ErrorKind::Type,
                            std::string("attribute '") + name.c_str() + "' of the call is neither a number nor a text");
        }
    }
    return out;
}

class PythonCall : public runtime::xla::Call {
  public:
    explicit PythonCall(nb::object function) : function_(keep(std::move(function))) {}
    void run(const Execution& execution) override {
        const nb::gil_scoped_acquire gil;
        std::string failure;
        try {
            nb::handle(static_cast<PyObject*>(function_.get()))(
                nb::cast(&execution.device, nb::rv_policy::reference), reinterpret_cast<uintptr_t>(execution.stream),
                buffer_list(execution.inputs), buffer_list(execution.outputs), attribute_dict(*execution.attributes));
            return;
        } catch (const nb::python_error& error) {
            failure = error.what();  // with the traceback; the error itself must end here, where Python is held
        }
        throw UserError(ErrorKind::Runtime, failure);
    }

  private:
    std::shared_ptr<void> function_;
};

}  // namespace

void export_xla(nb::module_& m) {
    nb::class_<KernelCall>(m, "XlaKernelCall", "A launch that XLA makes.")
        .def("prepare", &KernelCall::prepare, nb::arg("device"), nb::call_guard<nb::gil_scoped_release>(),
             "Compiles and loads it for a device.");
    m.def("xla_kernel_call", &make_kernel_call, nb::arg("kernel"), nb::arg("types"), nb::arg("arguments"),
          nb::arg("gradients").none(), nb::arg("dims"), nb::arg("host_block_dim"), nb::arg("gpu_block_dim"),
          nb::arg("asked_block_dim"),
          "Makes a launch for XLA. `arguments`: for each parameter the numbers of the input and the output that it is "
          "(None: none), or a value; `gradients`: likewise for an adjoint.");
    m.def(
        "xla_register", [](const std::shared_ptr<KernelCall>& call) { return runtime::xla::add_call(call); },
        "The number by which XLA's handlers know a call from now on.");
    m.def(
        "xla_register_function",
        [](nb::object function) { return runtime::xla::add_call(std::make_shared<PythonCall>(std::move(function))); },
        "The same for a function (device, stream, inputs, outputs, attributes).");
    m.def(
        "xla_handler",
        [](bool cuda, bool recordable) {
            auto* handler = reinterpret_cast<void*>(runtime::xla::handler(cuda, recordable));
            return nb::steal(PyCapsule_New(handler, nullptr, nullptr));
        },
        nb::arg("cuda"), nb::arg("recordable"), "The handler for JAX to register.");
    m.def(
        "xla_handle",
        [](uintptr_t frame, bool cuda, bool recordable, nb::object function) {
            PythonCall call(std::move(function));
            const nb::gil_scoped_release release;
            return reinterpret_cast<uintptr_t>(
                runtime::xla::handle(reinterpret_cast<runtime::xla::CallFrame*>(frame), cuda, recordable, &call));
        },
        "What a handler of its own for one function does with the frame at this address; the address of XLA's error.");
}

}  // namespace weft::bind
