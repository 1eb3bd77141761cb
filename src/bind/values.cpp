// _core.Value: typed bytes with access by element, below the package's vectors, matrices and structs.
#include "bind/values.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "bind/exports.h"
#include "bind/instances.h"
#include "bind/numbers.h"
#include "builtins/pattern.h"
#include "runtime/array.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

std::byte* element(ValueObject& value, int index) {
    if (value.type().is_scalar() && index == 0) return value.data();
    if (index < 0 || index >= value.type().part_count()) throw nb::index_error("index out of range");
    return value.data() + ir::offset_of(value.type(), index);
}

void set_element(ValueObject& value, int index, nb::handle number) {
    std::byte* to = element(value, index);
    const ir::Scalar scalar = value.type().element();
    if (!write_number(number.ptr(), scalar, to, Conversion::Wrap)) {
        throw nb::type_error(("cannot convert '" + std::string(nb::type_name(number.type()).c_str()) + "' to " +
                              builtins::user_name(value.type().element_type()))
                                 .c_str());
    }
}

// A matrix takes its rows or all its numbers; other types take their numbers.
bool write_parts(PyObject* object, ir::Type type, std::byte* to) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || !PySequence_Check(object)) return false;
    PyObject* sequence = PySequence_Fast(object, "");
    if (sequence == nullptr) {
        PyErr_Clear();
        return false;
    }
    const nb::object keep = nb::steal(sequence);
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    PyObject** items = PySequence_Fast_ITEMS(sequence);
    if (count == type.part_count()) {
        for (Py_ssize_t i = 0; i < count; ++i) {
            std::byte* part = to + ir::offset_of(type, static_cast<int>(i));
            if (!write_number(items[i], type.element(), part)) return false;
        }
        return true;
    }
    if (!type.is(ir::TypeKind::Mat) || count != type.rows()) return false;
    const ir::Type row = ir::Type::vec(type.columns(), type.element());
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!write_parts(items[i], row, to + ir::offset_of(type, static_cast<int>(i) * type.columns()))) return false;
    }
    return true;
}

// A structure of ctypes whose class stands for the type.
bool write_buffer(PyObject* object, ir::Type type, std::byte* to) {
    const nb::handle cls(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    const nb::object own = nb::getattr(cls, "_weft_type_", nb::none());
    if (!PyObject_CheckBuffer(object) || !nb::isinstance<ir::Type>(own) || nb::cast<ir::Type>(own) != type)
        return false;
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const bool fits = buffer.len == static_cast<Py_ssize_t>(ir::size_of(type));
    if (fits) std::memcpy(to, buffer.buf, static_cast<size_t>(buffer.len));
    PyBuffer_Release(&buffer);
    return fits;
}

}  // namespace

bool write_value(PyObject* object, ir::Type type, std::byte* to) {
    if (type.is_scalar()) return write_number(object, type.element(), to);
    if (const ValueObject* value = instance<ValueObject>(object)) {
        if (value->type() == type) {
            std::memcpy(to, value->data(), value->size());
            return true;
        }
        if (value->type().kind() != type.kind()) return false;
    }
    if (type.is(ir::TypeKind::Struct)) return write_buffer(object, type, to);
    return type.is_uniform() && write_parts(object, type, to);
}

void export_values(nb::module_& m) {
    nb::class_<ValueObject>(m, "Value", nb::is_weak_referenceable(), "Typed bytes.")
        .def(nb::init<ir::Type>(), nb::arg("type"))
        .def_prop_ro("_type", &ValueObject::type)
        .def_prop_ro("_address", [](ValueObject& v) { return reinterpret_cast<uintptr_t>(v.data()); })
        .def("_get", [](ValueObject& v, int index) { return read_number(v.type().element(), element(v, index)); })
        .def("_set", &set_element)
        .def("_numbers",
             [](ValueObject& v) {
                 const int count = v.type().part_count();
                 nb::list numbers;
                 for (int i = 0; i < count; ++i) numbers.append(read_number(v.type().element(), element(v, i)));
                 return nb::tuple(numbers);
             })
        .def("_assign",
             [](ValueObject& v, const nb::sequence& numbers) {
                 int i = 0;
                 for (const nb::handle number : numbers) set_element(v, i++, number);
             })
        // Parts of a struct: a value, or an array (None: the null array).
        .def("_set_part",
             [](ValueObject& v, int index, nb::handle object) {
                 const ir::Type type = v.type().part(index);
                 if (!write_value(object.ptr(), type, v.data() + ir::offset_of(v.type(), index))) {
                     throw nb::value_error(("expected " + builtins::user_name(type) + ", found '" +
                                            std::string(nb::type_name(object.type()).c_str()) + "'")
                                               .c_str());
                 }
             })
        .def(
            "_set_array",
            [](ValueObject& v, int index, const runtime::Array* array) {
                std::byte* to = v.data() + ir::offset_of(v.type(), index);
                if (array == nullptr) {
                    std::memset(to, 0, static_cast<size_t>(ir::size_of(v.type().part(index))));
                } else {
                    array->write_descriptor(to);
                }
            },
            nb::arg(), nb::arg().none())
        .def("_bytes", [](const ValueObject& v) { return nb::bytes(v.data(), v.size()); })
        .def("_set_bytes",
             [](ValueObject& v, const nb::bytes& bytes) {
                 if (bytes.size() != v.size()) throw nb::value_error("wrong number of bytes");
                 std::memcpy(v.data(), bytes.data(), v.size());
             })
        .def("_copy_from_address", [](ValueObject& v, uintptr_t address) {
            std::memcpy(v.data(), reinterpret_cast<const void*>(address), v.size());
        });
    m.def(
        "convert",
        [](ir::Type type, nb::handle object) {
            ValueObject value(type);
            if (!write_value(object.ptr(), type, value.data())) {
                throw nb::value_error(("cannot convert '" + std::string(nb::type_name(object.type()).c_str()) +
                                       "' to " + builtins::user_name(type))
                                          .c_str());
            }
            return value;
        },
        "A value of the type from a number, a sequence or another value.");
    m.def(
        "round_number",
        [](ir::Type type, nb::handle number) {
            std::byte bytes[8];
            if (!type.is_scalar() || !write_number(number.ptr(), type.element(), bytes, Conversion::Wrap)) {
                throw nb::type_error("not a number of that type");
            }
            return read_number(type.element(), bytes);
        },
        "The number as the scalar type holds it.");
}

}  // namespace weft::bind
