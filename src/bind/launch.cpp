// launch(), as the package exports it, and the launch of adjoints. A plain C function with vectorcall: the way from
// Python to the kernel is what a launch costs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "base/error.h"
#include "bind/arguments.h"
#include "bind/errors.h"
#include "bind/exports.h"
#include "bind/graphs.h"
#include "bind/kernels.h"
#include "bind/launch.h"
#include "bind/pack.h"
#include "bind/places.h"
#include "bind/values.h"
#include "ir/layout.h"
#include "runtime/array_places.h"
#include "runtime/launch.h"
#include "runtime/launch_record.h"
#include "runtime/runtime.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using codegen::LaunchShape;
using runtime::Code;
using runtime::KernelInstance;
using runtime::LaunchRecord;

constexpr int kMaxBlockDim = 1024;

// The active tape, or null; whether it keeps what launches on arrays without gradients need too.
PyObject* g_tape = nullptr;
bool g_tape_wants_all = false;
// Forward mode, or null: launches go to it instead (tangents.py).
PyObject* g_forward = nullptr;
// The devices by name; the package sets it when it is imported.
PyObject* g_devices = nullptr;
// Called before and after each launch (kernel, dim, arguments, device, adjoint, after), or null.
PyObject* g_observer = nullptr;

// The block size that a launch on the CPU has when `wanted` is asked for; 0 or less: the default.
int block_dim_of(long long wanted) {
    if (wanted > kMaxBlockDim) {
        throw UserError(ErrorKind::Value, "block_dim must be at most " + std::to_string(kMaxBlockDim) +
                                              " on CPU, found " + std::to_string(wanted));
    }
    return cpu_blocks() && wanted > 1 ? static_cast<int>(wanted) : 1;
}

int block_dim_of(PyObject* given) {
    if (given == nullptr || given == Py_None) return 1;
    const nb::object index = nb::steal(PyNumber_Index(given));
    if (!index.is_valid()) throw nb::python_error();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    return block_dim_of(overflow > 0 ? std::numeric_limits<long long>::max() : value);
}

}  // namespace

void run_or_record(nb::handle kernel, Code& code, const ArgumentBlock& block, const LaunchShape& shape,
                   const Where& where) {
    if (runtime::Graph* graph = recording(); graph != nullptr && where.device.capabilities().synchronous) {
        (void)runtime::item_count(code, shape);  // refuses what a launch would
        block.before_write();                    // tapes are told what will be overwritten
        graph->add_launch(code, block.data(), shape, {block.written(), block.memory(), block.keep(kernel)});
        return;
    }
    if (where.device.keeps()) where.device.keep(block.keep(kernel));
    const nb::gil_scoped_release release;
    block.before_write();
    where.device.launch(code, block.data(), shape, where.options);
}

bool launches_are_watched() { return g_tape != nullptr || g_forward != nullptr || g_observer != nullptr; }

namespace {

void launch_forward(nb::handle kernel, KernelInstance& instance, const Arguments& arguments, const LaunchShape& shape,
                    const Where& where) {
    Code& code = instance.forward();
    ArgumentBlock block(instance.name(), code.block_bytes());
    pack_all(block, arguments, code, where.device);
    run_or_record(kernel, code, block, shape, where);
}

// Those of a struct, found in the bytes that it was packed to.
void add_members(nb::handle argument, size_t index, const runtime::Parameter& parameter, const std::byte* block,
                 std::vector<LaunchRecord::Given>& given) {
    std::vector<runtime::ArrayPlace> places;
    runtime::find_arrays(parameter.type, parameter.offset, places);
    size_t next = 0;
    for (const nb::handle member : argument.attr("_weft_arrays")()) {
        const runtime::Array* array = as_array(member.ptr());
        if (array == nullptr || array->storage() == nullptr) continue;
        int64_t offset = -1;
        std::array<std::byte, size_t{8} * (1 + 2 * runtime::Array::kMaxDims)> bytes;
        array->write_descriptor(bytes.data());
        for (size_t k = next; k < places.size() && offset < 0; ++k) {
            const auto [place, type] = places[k];
            if (type.ndim() != array->ndim()) continue;
            const auto size = static_cast<size_t>(ir::descriptor_size(type.ndim()));
            if (std::memcmp(bytes.data(), block + place, size) != 0) continue;
            offset = place;
            next = k + 1;
        }
        given.push_back({index, *array, offset, true});
    }
}

std::vector<LaunchRecord::Given> given_arrays(const Arguments& arguments, const Code& code, const std::byte* block) {
    std::vector<LaunchRecord::Given> given;
    const auto& parameters = code.parameters();
    given.reserve(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
        if (!parameters[i].type.contains_array()) continue;
        if (const runtime::Array* array = as_array(arguments[i])) {
            if (array->storage() != nullptr) given.push_back({i, *array, parameters[i].offset});
        } else if (nb::hasattr(arguments[i], "_weft_arrays")) {
            add_members(arguments[i], i, parameters[i], block, given);
        }
    }
    return given;
}

// The arrays of a launch for its record; none when nothing has a gradient.
std::vector<LaunchRecord::Given> arrays_to_record(const Arguments& arguments, const Code& code,
                                                  const std::byte* block) {
    std::vector<LaunchRecord::Given> given = given_arrays(arguments, code, block);
    const auto has_gradient = [](const LaunchRecord::Given& g) { return g.array.gradient() != nullptr; };
    if (!g_tape_wants_all && std::ranges::none_of(given, has_gradient)) given.clear();
    return given;
}

// The kernel whose adjoint is right for these arrays, some of which may overlap.
KernelInstance& differentiable(KernelInstance& instance, const std::vector<LaunchRecord::Given>& given,
                               const runtime::Overlaps& overlaps) {
    if (overlaps.empty()) return instance;
    const nb::gil_scoped_release release;
    return LaunchRecord::instance_for(instance, given, overlaps);
}

// Arrays of other libraries become arrays of ours, which the tape keeps.
void convert_arrays(Arguments& arguments, const Code& code) {
    for (size_t i = 0; i < arguments.count(); ++i) {
        const ir::Type type = code.parameters()[i].type;
        if (!type.is(ir::TypeKind::Array) || arguments[i] == Py_None || as_array(arguments[i]) != nullptr) continue;
        const nb::object made = nb::handle(hooks().convert_array)(nb::handle(arguments[i]), type.target(), type.ndim());
        if (as_array(made.ptr()) != nullptr) arguments.replace(i, made);
    }
}

// A launch on a tape: what its derivative needs is saved when it is overwritten, by this launch or later.
std::shared_ptr<LaunchRecord> launch_recorded(nb::handle kernel, KernelInstance& instance, Arguments& arguments,
                                              const LaunchShape& shape, const Where& where) {
    Code* code = &instance.forward();
    convert_arrays(arguments, *code);
    ArgumentBlock block(instance.name(), code->block_bytes());
    pack_all(block, arguments, *code, where.device);
    const bool backward = instance.options().enable_backward;
    std::vector<LaunchRecord::Given> given;
    if (backward) given = arrays_to_record(arguments, *code, block.data());
    runtime::Overlaps overlaps = LaunchRecord::overlaps(given, code->parameters());
    KernelInstance& derived = differentiable(instance, given, overlaps);
    const auto record = std::make_shared<LaunchRecord>(
        derived, std::move(given), std::span(block.data(), static_cast<size_t>(code->block_bytes())), shape,
        recording() != nullptr, std::move(overlaps));
    record->set_blocks(where.options.block_dim, where.options.max_blocks);
    if (record->must_prepare()) {
        const nb::gil_scoped_release release;
        record->before_launch();
        if (record->log() != nullptr) code = &record->forward();
    }
    if (record->log() == nullptr) {
        run_or_record(kernel, *code, block, shape, where);
    } else {
        ArgumentBlock longer(instance.name(), code->block_bytes());
        pack_all(longer, arguments, *code, where.device);
        longer.pack(*record->log(), code->parameters().back());
        run_or_record(kernel, *code, longer, shape, where);
    }
    record->watch(&UserPlace::shared);
    return record;
}

// The gradient that goes with an argument: its own, where it is an array; the argument itself makes those of structs.
nb::object own_gradient(PyObject* argument) {
    if (const runtime::Array* array = as_array(argument)) {
        return array->gradient() ? nb::handle(argument).attr("_grad") : nb::object(nb::none());
    }
    return nb::hasattr(argument, "_gradient") ? nb::borrow(argument) : nb::object(nb::none());
}

// An array in place of a gradient that an adjoint uses up.
runtime::Array copy_of(const runtime::Array& original) {
    const runtime::Array made(original.element(), original.shape(), original.device(), false);
    perform(runtime::CopyStep{made, original});
    return made;
}

// `gradients`: for each argument the gradient to use; where it has none, or there are none, the argument's own, unless
// `given_only`. `record`: of the launch, or null: then gradients of what the kernel only writes are left as they are.
void launch_adjoint(nb::handle kernel, KernelInstance& instance, const Arguments& arguments, const nb::tuple& gradients,
                    bool given_only, const LaunchShape& shape, const Where& where, LaunchRecord* record) {
    Code* code = nullptr;
    {
        const nb::gil_scoped_release release;
        code = &instance.adjoint();
    }
    ArgumentBlock block(instance.name(), code->block_bytes());
    const auto& parameters = code->parameters();
    const size_t own = arguments.count();
    const ad::AdjointNeeds& needs = instance.needs();
    if (record != nullptr) {
        for (const runtime::Array& array : record->write_arguments(block.data())) block.hold(array);
    } else {
        for (size_t i = 0; i < own; ++i) block.pack(arguments[i], parameters[i], where.device);
        if (!needs.restored.empty() || needs.results > 0) {
            throw UserError(ErrorKind::Gradient, "the adjoint of kernel '" + instance.name() +
                                                     "' needs values that the kernel " +
                                                     (needs.results > 0 ? "gets from atomics" : "overwrites") +
                                                     ": record the launch with a Tape");
        }
        const std::vector<LaunchRecord::Given> given = given_arrays(arguments, instance.forward(), block.data());
        const runtime::Overlaps overlaps = LaunchRecord::overlaps(given, instance.forward().parameters());
        if (&differentiable(instance, given, overlaps) != &instance) {
            throw UserError(ErrorKind::Gradient, "the adjoint of kernel '" + instance.name() +
                                                     "' needs values of arrays that overlap in memory, one of which "
                                                     "the kernel writes: record the launch with a Tape");
        }
    }
    std::vector<const runtime::Array*> made(own);
    const auto& wanted = instance.gradient_parameters();
    for (size_t k = 0; k < wanted.size(); ++k) {
        const auto of = static_cast<size_t>(wanted[k]);
        nb::object gradient;
        if (of < gradients.size()) gradient = nb::borrow(gradients[of]);
        const bool missing = !gradient.is_valid() || gradient.is_none();
        if (missing) gradient = given_only ? nb::object(nb::none()) : own_gradient(arguments[of]);
        runtime::Parameter parameter = parameters[own + k];
        parameter.name = "gradient of " + parameters[of].name;
        const runtime::Array* array = as_array(gradient.ptr());
        const runtime::Access access = instance.forward().parameters()[of].access;
        if (record == nullptr && !given_only && array != nullptr && array->storage() != nullptr && access.write &&
            !access.read && &array->device() == &where.device) {
            block.pack(copy_of(*array), parameter);
            continue;
        }
        block.pack_gradient(gradient.ptr(), parameter, where.device);
        made[of] = as_array(gradient.ptr());
    }
    if (needs.results > 0) block.pack(*record->log(), parameters.back());
    for (Code* part : runtime::adjoint_codes(instance, block.data(), shape)) {
        run_or_record(kernel, *part, block, shape, where);
    }
    if (record != nullptr && !needs.extremes.empty()) record->clear_replaced(made);
}

// Runs a kernel of make_map_kernel() on plain values; returns its results.
nb::list call_kernel(nb::handle kernel, const nb::list& values, const std::vector<ir::Type>& results) {
    Arguments arguments(values.ptr(), nullptr);
    runtime::Kernel& made = kernel_of(kernel);
    KernelInstance* instance = made.single();
    if (instance == nullptr) {
        const nb::gil_scoped_release release;
        instance = &made.instance({});
    }
    Code& code = instance->forward();
    ArgumentBlock block(instance->name(), code.block_bytes());
    runtime::Device& device = *runtime::devices().front();
    for (size_t i = 0; i < arguments.count(); ++i) block.pack(arguments[i], code.parameters()[i], device);
    nb::list out;
    for (size_t i = 0; i < results.size(); ++i) {
        ValueObject value(results[i]);
        block.pack_pointer(value.data(), code.parameters()[arguments.count() + i]);
        out.append(nb::cast(std::move(value)));  // moved: the bytes stay where they are
    }
    {
        const nb::gil_scoped_release release;
        runtime::run_on_host(code, block.data(), LaunchShape());
    }
    return out;
}

runtime::Device& device_of(PyObject* device) {
    if (device == nullptr || device == Py_None) return runtime::Runtime::get().default_device();
    if (PyUnicode_CheckExact(device)) {
        PyObject* named = PyDict_GetItemWithError(g_devices, device);
        if (named != nullptr) return nb::cast<runtime::Device&>(nb::handle(named));
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
    }
    if (!nb::isinstance<runtime::Device>(nb::handle(device))) {
        const nb::object resolved = nb::handle(hooks().resolve_device)(nb::handle(device));
        return nb::cast<runtime::Device&>(resolved);
    }
    return nb::cast<runtime::Device&>(nb::handle(device));
}

// Refuses what a launch would refuse as this argument; of a parameter that is generic, nothing.
void check_argument(nb::handle kernel, size_t index, nb::handle argument, nb::handle device) {
    runtime::Kernel& made = kernel_of(kernel);
    const frontend::ParameterInfo& parameter = signature_of(made).at(index);
    if (!parameter.type.is_exact()) return;
    ArgumentBlock block(made.name(), ir::size_of(parameter.type.exact));
    block.pack(argument.ptr(), {parameter.name, parameter.type.exact, 0, {}}, device_of(device.ptr()));
}

// ---- the C function ----

constexpr std::array kNames = {"kernel",      "dim",        "inputs",    "outputs",   "adj_inputs",
                               "adj_outputs", "device",     "stream",    "adjoint",   "record_tape",
                               "record_cmd",  "max_blocks", "block_dim", "_block_dim"};
enum Name {
    Kernel,
    Dim,
    Inputs,
    Outputs,
    AdjInputs,
    AdjOutputs,
    DeviceName,
    Stream,
    Adjoint,
    RecordTape,
    RecordCmd,
    MaxBlocks,
    BlockDim,
    ResolvedBlockDim  // as a launch had it that is repeated: settings are not asked again
};
using Values = std::array<PyObject*, kNames.size()>;

bool read_values(Values& values, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    static const auto names = [] {
        std::array<PyObject*, kNames.size()> interned{};
        for (size_t i = 0; i < kNames.size(); ++i) interned[i] = PyUnicode_InternFromString(kNames[i]);
        return interned;
    }();
    if (count > static_cast<Py_ssize_t>(ResolvedBlockDim)) {
        PyErr_SetString(PyExc_TypeError, "launch() takes at most 13 positional arguments");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = args[i];
    const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
    for (Py_ssize_t i = 0; i < named; ++i) {
        PyObject* keyword = PyTuple_GET_ITEM(keywords, i);
        size_t index = 0;
        while (index < names.size() && names[index] != keyword) ++index;
        if (index == names.size()) {
            index = 0;
            while (index < names.size() && PyUnicode_Compare(names[index], keyword) != 0) ++index;
        }
        if (index == names.size()) {
            PyErr_Format(PyExc_TypeError, "launch() got an unexpected keyword argument '%U'", keyword);
            return false;
        }
        if (values[index] != nullptr) {
            PyErr_Format(PyExc_TypeError, "launch() got multiple values for argument '%U'", keyword);
            return false;
        }
        values[index] = args[count + i];
    }
    for (const Name required : {Kernel, Dim}) {
        if (values[required] == nullptr) {
            PyErr_Format(PyExc_TypeError, "launch() missing required argument: '%s'", kNames[required]);
            return false;
        }
    }
    return true;
}

bool truth(PyObject* value, bool otherwise) { return value == nullptr ? otherwise : PyObject_IsTrue(value) == 1; }

nb::tuple dims_of(const LaunchShape& shape) {
    nb::list dims;
    for (int i = 0; i < shape.ndim; ++i) dims.append(shape.dims[i]);
    return nb::tuple(dims);
}

void observe(nb::handle kernel, const LaunchShape& shape, const Arguments& arguments, runtime::Device& device,
             bool adjoint, bool after) {
    const nb::object observer = nb::borrow(g_observer);
    observer(kernel, dims_of(shape), arguments.tuple(), nb::cast(&device, nb::rv_policy::reference), adjoint, after);
}

[[noreturn]] void refuse_in_forward_mode() {
    throw UserError(ErrorKind::Gradient,
                    "forward mode does not see through adjoints: use wp.hvp() for second derivatives");
}

int number_of(PyObject* value, int otherwise, int least, const char* name) {
    if (value == nullptr || value == Py_None) return otherwise;
    const long number = PyLong_AsLong(value);
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (number < least || number > INT32_MAX) {
        throw UserError(ErrorKind::Value, std::string("Error launching kernel, ") + name + " must be at least " +
                                              std::to_string(least) + ", found " + std::to_string(number));
    }
    return static_cast<int>(number);
}

Where where_of(const Values& values) {
    PyObject* stream = values[Stream];
    const bool has_stream = stream != nullptr && stream != Py_None;
    const nb::object device = has_stream ? nb::object(nb::handle(stream).attr("device")) : nb::object();
    Where where{device_of(has_stream ? device.ptr() : values[DeviceName]), {}};
    if (has_stream) {
        where.options.stream = reinterpret_cast<void*>(nb::cast<uintptr_t>(nb::handle(stream).attr("cuda_stream")));
    }
    if (values[ResolvedBlockDim] != nullptr) {
        where.options.block_dim = static_cast<int>(PyLong_AsLong(values[ResolvedBlockDim]));
    } else if (where.device.capabilities().host_memory) {
        where.options.block_dim = block_dim_of(values[BlockDim]);
    } else {
        const int wanted = number_of(values[BlockDim], 0, std::numeric_limits<int>::min(), "block_dim");
        if (wanted > 0) where.options.block_dim = wanted;  // else the default
    }
    where.options.max_blocks = number_of(values[MaxBlocks], 0, 0, "max_blocks");
    return where;
}

nb::object launch_with(const Values& values) {
    const nb::handle kernel(values[Kernel]);
    if (!nb::isinstance<KernelObject>(kernel)) {
        throw UserError(ErrorKind::Launch,
                        std::string("Error launching kernel, can only launch functions decorated with @wp.kernel: "
                                    "found '") +
                            class_name(values[Kernel]) + "'");
    }
    LaunchShape shape = read_shape(values[Dim]);
    const Where where = where_of(values);
    // Snippets see blocks of the size that was asked for, whatever wp.block_dim() is.
    if (values[BlockDim] != nullptr && PyLong_Check(values[BlockDim])) {
        const long threads = PyLong_AsLong(values[BlockDim]);
        if (threads > 0 && threads <= kMaxBlockDim) shape.block_dim = static_cast<int32_t>(threads);
    }
    runtime::Device& device = where.device;
    const int block_dim = where.options.block_dim;
    Arguments arguments(values[Inputs], values[Outputs]);
    if (truth(values[RecordCmd], false)) {
        const nb::object none = nb::none();
        return nb::handle(hooks().record_command)(
            kernel, nb::handle(values[Dim]), arguments.tuple(),
            values[DeviceName] == nullptr ? none : nb::borrow(values[DeviceName]),
            Arguments(values[AdjInputs], values[AdjOutputs]).tuple(), truth(values[Adjoint], false), block_dim,
            values[BlockDim] == nullptr ? none : nb::borrow(values[BlockDim]), where.options.max_blocks);
    }
    const bool adjoint = truth(values[Adjoint], false);
    if (g_forward != nullptr && adjoint) refuse_in_forward_mode();
    if (g_forward != nullptr) {
        if (block_dim != 1 && device.capabilities().host_memory)
            throw UserError(ErrorKind::Unsupported, "forward mode has blocks of one thread only");
        instance_of(kernel, arguments, block_dim);  // adds the defaults
        nb::handle(g_forward).attr("_launch")(kernel, dims_of(shape), arguments.tuple(),
                                              nb::cast(&device, nb::rv_policy::reference));
        return nb::none();
    }
    if (g_observer != nullptr) observe(kernel, shape, arguments, device, adjoint, false);
    KernelInstance& instance = instance_of(kernel, arguments, block_dim);
    if (adjoint) {
        const nb::tuple gradients = Arguments(values[AdjInputs], values[AdjOutputs]).tuple();
        launch_adjoint(kernel, instance, arguments, gradients, false, shape, where, nullptr);
    } else if (g_tape == nullptr || !truth(values[RecordTape], true)) {
        launch_forward(kernel, instance, arguments, shape, where);
    } else {
        const std::shared_ptr<LaunchRecord> record = launch_recorded(kernel, instance, arguments, shape, where);
        const nb::object tape = nb::borrow(g_tape);
        tape.attr("_record_launch")(kernel, dims_of(shape), arguments.tuple(),
                                    nb::cast(&device, nb::rv_policy::reference), nb::cast(record), block_dim);
    }
    if (g_observer != nullptr) observe(kernel, shape, arguments, device, adjoint, true);
    return nb::none();
}

PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
    Values values{};
    if (!read_values(values, args, count, keywords)) return nullptr;
    try {
        return launch_with(values).release().ptr();
    } catch (...) {
        set_python_error(std::current_exception());
        return nullptr;
    }
}

PyMethodDef g_launch = {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&launch)),
                        METH_FASTCALL | METH_KEYWORDS,
                        "launch(kernel, dim, inputs=(), outputs=(), adj_inputs=(), adj_outputs=(), device=None, "
                        "stream=None, adjoint=False, "
                        "record_tape=True, record_cmd=False, max_blocks=0, block_dim=None)\n--\n\n"
                        "Runs a kernel once for each item of `dim` (an int, or up to four of them).\n\n"
                        "`inputs` and `outputs`, in this order, are the kernel's arguments. With `adjoint=True` its "
                        "adjoint runs instead, on\n"
                        "the gradients of the arguments (or `adj_inputs`, `adj_outputs`). `record_cmd=True` returns a "
                        "Launch and runs nothing."};

}  // namespace

void export_launch(nb::module_& m) {
    nb::class_<LaunchRecord>(m, "LaunchRecord", "What a tape keeps of a launch.")
        .def_prop_ro("has_members", &LaunchRecord::has_members, "Whether structs with arrays were given.");
    m.def(
        "launch_adjoint",
        [](nb::handle kernel, nb::handle dim, nb::handle arguments, runtime::Device& device,
           const std::shared_ptr<LaunchRecord>& record, const std::optional<nb::tuple>& gradients) {
            if (g_forward != nullptr) refuse_in_forward_mode();
            Arguments given(arguments.ptr(), nullptr);
            KernelInstance& instance = record ? record->instance() : instance_of(kernel, given, 1);
            LaunchShape shape = read_shape(dim.ptr());
            if (record) shape.block_dim = record->block_dim();
            launch_adjoint(kernel, instance, given, gradients.value_or(nb::tuple()), gradients.has_value(), shape,
                           Where{device, record ? record->blocks() : runtime::LaunchOptions()}, record.get());
        },
        nb::arg("kernel"), nb::arg("dim"), nb::arg("arguments"), nb::arg("device"), nb::arg("record"),
        nb::arg("gradients") = nb::none(),
        "Runs the adjoint of a recorded launch on the gradients of its arguments, or on `gradients`: one for each.");
    m.def("user_place", [] { return UserPlace().str(); }, "The innermost line of the program outside the package.");
    m.def("call_kernel", &call_kernel, nb::arg("kernel"), nb::arg("values"), nb::arg("results"),
          "Runs a kernel of make_map_kernel() on plain values; returns a Value for each result.");
    m.def("check_argument", &check_argument, nb::arg("kernel"), nb::arg("index"), nb::arg("argument").none(),
          nb::arg("device"), "Refuses what a launch would refuse.");
    m.def("set_cpu_blocks", &set_cpu_blocks);
    m.def(
        "block_dim", [](nb::handle wanted) { return block_dim_of(wanted.ptr()); }, nb::arg("wanted").none(),
        "The size of blocks that a launch has when this one is asked for (None: the default).");
    nb::setattr(m, "launch", nb::steal(PyCFunction_NewEx(&g_launch, nullptr, m.attr("__name__").ptr())));
    const auto replace = [](PyObject*& slot, const nb::object& object) {
        PyObject* old = slot;
        slot = object.is_none() ? nullptr : nb::object(object).release().ptr();
        Py_XDECREF(old);
    };
    m.def(
        "set_tape",
        [replace](const nb::object& tape) {
            g_tape_wants_all = nb::hasattr(tape, "_records_all");
            replace(g_tape, tape);
        },
        nb::arg("tape").none(), "The tape that records launches from now on.");
    m.def(
        "set_forward", [replace](const nb::object& forward) { replace(g_forward, forward); }, nb::arg("forward").none(),
        "Forward mode, which gets launches from now on; None: they run.");
    m.def("get_forward", [] { return g_forward == nullptr ? nb::object(nb::none()) : nb::borrow(g_forward); });
    m.def(
        "set_launch_observer",
        [](const nb::object& observer) {
            Py_XDECREF(g_observer);
            g_observer = observer.is_none() ? nullptr : nb::object(observer).release().ptr();
        },
        nb::arg("observer").none(), "What is called before and after each launch; None: nothing.");
    m.def(
        "matches",
        [](const std::string& pattern, ir::Type type) {
            builtins::Matches matches;
            return static_cast<bool>(type) && builtins::match(builtins::parse_pattern(pattern), type, matches);
        },
        "Whether a type fits the text of a pattern.");
    m.def("get_tape", [] { return g_tape == nullptr ? nb::object(nb::none()) : nb::borrow(g_tape); });
    m.def(
        "type_of_argument", [](nb::handle argument) { return type_of_argument(argument.ptr()); },
        "The type that an argument has for a generic kernel.");
    m.def("set_hooks", [](const nb::object& convert_array, const nb::object& resolve_device,
                          const nb::object& record_command, const nb::object& convert_value) {
        hooks() = {nb::object(convert_array).release().ptr(), nb::object(resolve_device).release().ptr(),
                   nb::object(record_command).release().ptr(), nb::object(convert_value).release().ptr()};
    });
    m.def(
        "set_device_names", [](const nb::dict& devices) { g_devices = nb::object(devices).release().ptr(); },
        "The devices by their names, so that launches find them there; resolve_device knows the others.");
}

}  // namespace weft::bind
