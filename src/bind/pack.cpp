#include "bind/pack.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "bind/instances.h"
#include "bind/values.h"
#include "builtins/array_kinds.h"
#include "builtins/pattern.h"
#include "ir/layout.h"
#include "runtime/device.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using runtime::Array;
using runtime::Parameter;

std::string described(ir::Type type) {
    return builtins::array_word(builtins::array_kind(type)) + "(ndim=" + std::to_string(builtins::array_ndim(type)) +
           ", dtype=" + builtins::class_name(builtins::array_element(type)) + ")";
}

// A number for a vector or the like.
bool is_plain_number(PyObject* object) {
    return PyLong_Check(object) != 0 || PyFloat_Check(object) != 0 || PyNumber_Check(object) != 0;
}

}  // namespace

Hooks& hooks() {
    static Hooks instance;
    return instance;
}

const char* class_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

Array* as_array(PyObject* object) { return instance<Array>(object); }

bool is_fixed_array(PyObject* object) {
    const nb::object family = nb::getattr(nb::handle(object), "_weft_array_family_", nb::none());
    return PyUnicode_Check(family.ptr()) != 0 && PyUnicode_CompareWithASCIIString(family.ptr(), "fixedarray") == 0;
}

ir::Type type_of_argument(PyObject* argument) {
    if (PyBool_Check(argument)) return ir::boolean();
    if (PyLong_CheckExact(argument)) return ir::i32();
    if (PyFloat_CheckExact(argument)) return ir::f32();
    if (const Array* array = instance<Array>(argument)) {
        return array->element() ? ir::Type::array(array->element(), array->ndim()) : ir::Type();
    }
    if (const ValueObject* value = instance<ValueObject>(argument)) return value->type();
    const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(argument)));
    const nb::object found = nb::getattr(type, "_weft_type_", nb::none());
    if (nb::isinstance<ir::Type>(found)) return nb::cast<ir::Type>(found);
    // Arrays with indices: each has the type of its own dtype and dimensions.
    if (!nb::hasattr(type, "_weft_array_family_")) return {};
    const nb::object own = nb::getattr(argument, "_weft_type_", nb::none());
    return nb::isinstance<ir::Type>(own) ? nb::cast<ir::Type>(own) : ir::Type();
}

ArgumentBlock::ArgumentBlock(const std::string& kernel, int64_t bytes) : kernel_(kernel), data_(inline_) {
    if (bytes > kInline) {
        heap_ = std::make_unique<std::byte[]>(static_cast<size_t>(bytes));
        data_ = heap_.get();
    }
}

void ArgumentBlock::refuse(PyObject* argument, const Parameter& parameter, const std::string& why) const {
    const ir::Type type = parameter.type;
    std::string message = "Error launching kernel '" + kernel_ + "', argument '" + parameter.name + "' expects ";
    const Array* array = instance<Array>(argument);
    if (is_fixed_array(argument)) {
        message += described(type) + ": a fixedarray lives in kernels only";
    } else if (type.is(ir::TypeKind::Array) && array != nullptr && array->element()) {
        if (array->element() != type.target()) {
            message += "an array with dtype=" + builtins::class_name(type.target()) +
                       " but passed array has dtype=" + builtins::class_name(array->element());
        } else if (array->ndim() != type.ndim()) {
            message += "an array with " + std::to_string(type.ndim()) + " dimension(s) but the passed array has " +
                       std::to_string(array->ndim()) + " dimension(s)";
        } else {
            message += described(type);
        }
    } else if (builtins::is_array_like(type)) {
        message += "an array of type " + described(type) + ", but passed value has type " + class_name(argument);
    } else if (type.is(ir::TypeKind::Struct)) {
        message += type.name() + " but got " + (argument == Py_None ? "None" : class_name(argument));
    } else if (type.is_uniform() && argument != Py_None && is_plain_number(argument) && !PySequence_Check(argument)) {
        message += builtins::class_name(type) + " but got a single value of type " + class_name(argument) +
                   ". Construct the value explicitly, e.g.: " + builtins::class_name(type) + "(...)";
    } else if (type.is_uniform()) {
        message += builtins::class_name(type) + ". Failed to convert argument for param " + parameter.name + " to " +
                   builtins::class_name(type);
    } else {
        message += builtins::class_name(type) + ": unable to pack a value of type " + class_name(argument);
    }
    if (!why.empty()) message += " (" + why + ")";
    throw UserError(ErrorKind::Launch, message);
}

void ArgumentBlock::pack(PyObject* argument, const Parameter& parameter, runtime::Device& device) {
    if (parameter.type.is(ir::TypeKind::Array)) {
        pack_array(argument, parameter, device);
        return;
    }
    const bool is_struct = parameter.type.is(ir::TypeKind::Struct);
    // Vectors that are members may have been changed in place.
    if (is_struct && nb::hasattr(argument, "_refresh")) nb::handle(argument).attr("_refresh")();
    if (is_struct && nb::hasattr(argument, "_packed")) {
        const nb::object packed = nb::handle(argument).attr("_packed")();
        if (!pack_value(packed.ptr(), parameter)) refuse(argument, parameter);
    } else if (!pack_value(argument, parameter)) {
        nb::object converted;
        if (parameter.type.is_uniform() && hooks().convert_value != nullptr) {
            converted = nb::handle(hooks().convert_value)(nb::handle(argument), parameter.type, parameter.name);
        }
        if (!converted.is_valid() || converted.is_none() || !pack_value(converted.ptr(), parameter)) {
            refuse(argument, parameter);
        }
    }
    if (is_struct && parameter.has_textures) hold_textures(argument, parameter, device);
    if (is_struct && parameter.type.contains_array()) {
        for (const nb::handle member : nb::handle(argument).attr("_weft_arrays")()) {
            alive_.add(nb::borrow(member));
            if (parameter.access.write) written_.add(instance<Array>(member.ptr()));
        }
    }
}

void ArgumentBlock::hold_textures(PyObject* argument, const Parameter& parameter, const runtime::Device& device) {
    for (const nb::handle texture : nb::handle(argument).attr("_weft_textures")()) {
        const nb::object own = texture.attr("device");
        if (own.is_none()) refuse(argument, parameter, "a member that is a texture has not been set");
        const auto& home = nb::cast<const runtime::Device&>(own);
        if (&home != &device) {
            refuse(argument, parameter,
                   "the texture is on device '" + home.alias() + "', the launch on '" + device.alias() + "'");
        }
        alive_.add(nb::borrow(texture));
    }
}

void ArgumentBlock::pack_array(PyObject* argument, const Parameter& parameter, runtime::Device& device) {
    std::byte* to = data_ + parameter.offset;
    if (argument == Py_None) {
        std::memset(to, 0, static_cast<size_t>(ir::size_of(parameter.type)));
        return;
    }
    const Array* array = instance<Array>(argument);
    nb::object converted;
    if (array == nullptr && hooks().convert_array != nullptr) {
        converted =
            nb::handle(hooks().convert_array)(nb::handle(argument), parameter.type.target(), parameter.type.ndim());
        array = instance<Array>(converted.ptr());
    }
    if (array == nullptr || !array->element() || array->element() != parameter.type.target() ||
        array->ndim() != parameter.type.ndim()) {
        refuse(argument, parameter);
    }
    if (array->storage() == nullptr) refuse(argument, parameter, "an annotation has no memory");
    if (&array->device() != &device) {
        refuse(argument, parameter,
               "the array is on device '" + array->device().alias() + "', the launch on '" + device.alias() + "'");
    }
    const auto is_wide = [](int64_t n) { return n != static_cast<int32_t>(n); };
    if (parameter.narrow_extents && std::ranges::any_of(array->shape(), is_wide)) {
        refuse(argument, parameter, "the kernel reads its shape, or slices it, and int32 cannot hold its extents");
    }
    if (parameter.narrow_strides && std::ranges::any_of(array->strides(), is_wide)) {
        refuse(argument, parameter, "the kernel reads its strides, and int32 cannot hold them");
    }
    array->write_descriptor(to);
    alive_.add(converted.is_valid() ? std::move(converted) : nb::borrow(argument));
    if (parameter.access.write) written_.add(array);
}

bool ArgumentBlock::pack_value(PyObject* argument, const Parameter& parameter) {
    try {
        return write_value(argument, parameter.type, data_ + parameter.offset);
    } catch (const UserError& error) {
        throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel_ + "', argument '" + parameter.name +
                                               "': " + error.message());
    }
}

void ArgumentBlock::pack_gradient(PyObject* argument, const Parameter& parameter, runtime::Device& device) {
    std::memset(data_ + parameter.offset, 0, static_cast<size_t>(ir::size_of(parameter.type)));
    if (argument == Py_None) return;
    if (!parameter.type.is(ir::TypeKind::Array)) {
        // A struct with arrays makes a struct of their gradients.
        const nb::object gradient = nb::handle(argument).attr("_gradient")();
        if (!pack_value(gradient.ptr(), parameter)) refuse(argument, parameter);
        alive_.add(gradient);
        return;
    }
    Parameter written = parameter;
    written.access.write = true;
    pack_array(argument, written, device);
}

void ArgumentBlock::pack_pointer(std::byte* element, const Parameter& parameter) {
    const int64_t one = 1;
    const int64_t stride = ir::size_of(parameter.type.target());
    std::byte* to = data_ + parameter.offset;
    std::memcpy(to, static_cast<const void*>(&element), sizeof(element));
    std::memcpy(to + ir::descriptor_shape_offset(0), &one, sizeof(one));
    std::memcpy(to + ir::descriptor_stride_offset(1, 0), &stride, sizeof(stride));
}

void ArgumentBlock::pack(const Array& array, const Parameter& parameter) {
    array.write_descriptor(data_ + parameter.offset);
    hold(array);
}

void ArgumentBlock::hold(const Array& array) { alive_.add(nb::cast(Array(array))); }

std::vector<Array> ArgumentBlock::written() const {
    std::vector<Array> arrays;
    written_.each([&](const Array* array) { arrays.push_back(*array); });
    return arrays;
}

std::vector<std::shared_ptr<runtime::Storage>> ArgumentBlock::memory() const {
    std::vector<std::shared_ptr<runtime::Storage>> storages;
    alive_.each([&](const nb::object& object) {
        for (const Array* array = instance<Array>(object.ptr()); array != nullptr; array = array->gradient().get()) {
            if (array->storage() != nullptr) storages.push_back(array->storage());
        }
    });
    return storages;
}

std::shared_ptr<void> ArgumentBlock::keep(nb::handle kernel) const {
    nb::list objects;
    objects.append(kernel);
    alive_.each([&](const nb::object& object) { objects.append(object); });
    return {objects.release().ptr(), [](void* p) {
                if (Py_IsInitialized() == 0) return;
                const nb::gil_scoped_acquire gil;
                Py_DECREF(static_cast<PyObject*>(p));
            }};
}

void ArgumentBlock::before_write() const {
    written_.each([](const Array* array) { array->before_write(); });
}

}  // namespace weft::bind
