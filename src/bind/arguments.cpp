#include "bind/arguments.h"

#include <algorithm>
#include <ranges>

#include "base/error.h"
#include "bind/compile_ahead.h"
#include "builtins/pattern.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using codegen::LaunchShape;
using runtime::Code;
using runtime::KernelInstance;

constexpr int kMaxLaunchDims = 4;

bool g_cpu_blocks = false;

// Adds the defaults of the last parameters where arguments are missing.
void complete(Arguments& arguments, const KernelObject& kernel, size_t wanted) {
    if (arguments.count() < wanted && !kernel.defaults.is_none()) {
        const size_t defaults = nb::len(kernel.defaults);
        for (size_t i = arguments.count(); i < wanted && i + defaults >= wanted; ++i) {
            arguments.add(PyTuple_GET_ITEM(kernel.defaults.ptr(), static_cast<Py_ssize_t>(i + defaults - wanted)));
        }
    }
    if (arguments.count() != wanted) {
        throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel.name + "', passed " +
                                               std::to_string(arguments.count()) + " arguments but kernel requires " +
                                               std::to_string(wanted));
    }
}

KernelInstance& generic_instance(runtime::Kernel& kernel, const Arguments& arguments, int block_dim) {
    std::vector<ir::Type> types;
    const auto& signature = signature_of(kernel);
    builtins::Matches matches;
    for (size_t i = 0; i < signature.size(); ++i) {
        const frontend::ParameterInfo& parameter = signature[i];
        if (parameter.type.is_exact()) {
            types.push_back(parameter.type.exact);
            continue;
        }
        const ir::Type type = type_of_argument(arguments[i]);
        if (is_fixed_array(arguments[i])) {
            throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel.name() + "', argument '" +
                                                   parameter.name + "': a fixedarray lives in kernels only");
        }
        if (!type || !builtins::match(parameter.type, type, matches)) {
            throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel.name() + "': argument '" +
                                                   parameter.name + "' expects " + parameter.type.str() +
                                                   (type ? ", type mismatch: found " + builtins::user_name(type)
                                                         : std::string(". Unable to infer its type, got '") +
                                                               class_name(arguments[i]) + "'"));
        }
        types.push_back(type);
    }
    const nb::gil_scoped_release release;
    return kernel.instance(types, block_dim);
}

}  // namespace

Arguments::Arguments(PyObject* inputs, PyObject* outputs) {
    for (PyObject* given : {inputs, outputs}) {
        if (given == nullptr || given == Py_None) continue;
        if (PyDict_Check(given)) throw UserError(ErrorKind::Launch, "arguments are given by position, not by name");
        nb::object fast = nb::steal(PySequence_Fast(given, "inputs and outputs must be sequences"));
        if (!fast.is_valid()) throw nb::python_error();
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
            add(PySequence_Fast_GET_ITEM(fast.ptr(), i));
        }
        holders_[holder_count_++] = std::move(fast);
    }
}

nb::tuple Arguments::tuple() const {
    PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(count_));
    for (size_t i = 0; i < count_; ++i) {
        PyTuple_SET_ITEM(out, static_cast<Py_ssize_t>(i), nb::borrow((*this)[i]).release().ptr());
    }
    return nb::steal<nb::tuple>(out);
}

namespace {

KernelInstance& chosen_instance(runtime::Kernel& kernel, const KernelObject& object, Arguments& arguments,
                                int block_dim) {
    if (kernel.has_memory()) {
        KernelInstance* known = nullptr;
        {
            const nb::gil_scoped_release release;
            known = kernel.known(block_dim);
        }
        if (known != nullptr) {
            complete(arguments, object, known->forward().parameters().size());
            return *known;
        }
    }
    const auto& signature = signature_of(kernel);
    complete(arguments, object, signature.size());
    const auto is_exact = [](const frontend::ParameterInfo& parameter) { return parameter.type.is_exact(); };
    if (!std::ranges::all_of(signature, is_exact)) return generic_instance(kernel, arguments, block_dim);
    const nb::gil_scoped_release release;
    return kernel.instance({}, block_dim);
}

}  // namespace

KernelInstance& instance_of(nb::handle kernel_object, Arguments& arguments, int block_dim) {
    KernelObject& object = *nb::inst_ptr<KernelObject>(kernel_object);
    runtime::Kernel& kernel = kernel_of(kernel_object);
    // Where blocks count on the CPU too, the kernel keeps account of their sizes.
    KernelInstance* single = block_dim == 1 ? kernel.single() : g_cpu_blocks ? nullptr : kernel.for_all_blocks();
    if (single != nullptr) {
        complete(arguments, object, single->forward().parameters().size());
        return *single;
    }
    KernelInstance& chosen = chosen_instance(kernel, object, arguments, block_dim);
    if (kernel.has_memory() && chosen.forward().ready() == nullptr) {
        object.compiled_ahead = true;
        compile_ahead(kernel_object, chosen.forward(), block_dim);
    }
    return chosen;
}

LaunchShape read_shape(PyObject* dim) {
    LaunchShape shape;
    const auto extent = [](PyObject* number) {
        const nb::object index = nb::steal(PyNumber_Index(number));
        if (!index.is_valid()) throw nb::python_error();
        const long long value = PyLong_AsLongLong(index.ptr());
        if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
        return static_cast<int64_t>(value);
    };
    if (PyLong_Check(dim)) {
        shape.dims[0] = extent(dim);
        return shape;
    }
    const bool sequence = PySequence_Check(dim) != 0 && PyUnicode_Check(dim) == 0 && PyObject_Size(dim) >= 0;
    if (!sequence) {
        PyErr_Clear();
        shape.dims[0] = extent(dim);
        return shape;
    }
    const nb::object items = nb::steal(PySequence_Fast(dim, "the launch's dim must be an int or a sequence of ints"));
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
    if (count > kMaxLaunchDims) {
        throw UserError(ErrorKind::Launch, "a launch has at most 4 dimensions, found " + std::to_string(count));
    }
    shape.ndim = count == 0 ? 1 : static_cast<int32_t>(count);
    for (Py_ssize_t i = 0; i < count; ++i) shape.dims[i] = extent(PySequence_Fast_GET_ITEM(items.ptr(), i));
    return shape;
}

void pack_all(ArgumentBlock& block, const Arguments& arguments, const Code& code, runtime::Device& device) {
    for (size_t i = 0; i < arguments.count(); ++i) block.pack(arguments[i], code.parameters()[i], device);
}

bool cpu_blocks() { return g_cpu_blocks; }

void set_cpu_blocks(bool enabled) { g_cpu_blocks = enabled; }

}  // namespace weft::bind
