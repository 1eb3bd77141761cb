#include "bind/numbers.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/error.h"
#include "base/small_float.h"
#include "builtins/pattern.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

template <typename T>
void put(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof(T));
}

template <typename T>
T get(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

// The number inside one of the package's scalars (`wp.int8(3)`), else the object itself.
nb::object unwrapped(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("_weft_scalar_");
    if (PyObject* value = PyObject_GetAttr(object, name)) return nb::steal(value);
    PyErr_Clear();
    return nb::borrow(object);
}

bool is_plain(PyObject* object) { return PyFloat_CheckExact(object) || PyLong_CheckExact(object); }

void write_integer(std::byte* to, ir::Scalar type, uint64_t bits) {
    switch (ir::scalar_bits(type)) {
        case 8:
            put(to, static_cast<uint8_t>(bits));
            break;
        case 16:
            put(to, static_cast<uint16_t>(bits));
            break;
        case 32:
            put(to, static_cast<uint32_t>(bits));
            break;
        default:
            put(to, bits);
    }
}

bool write_integer(PyObject* number, ir::Scalar type, std::byte* to, Conversion conversion) {
    const int bits = ir::scalar_bits(type);
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (conversion == Conversion::Wrap) {
        write_integer(to, type, PyLong_AsUnsignedLongLongMask(number));
        return true;
    }
    bool fits;
    if (overflow == 0) {
        const long long low = ir::is_signed_int(type) ? std::numeric_limits<long long>::min() >> (64 - bits) : -1;
        fits = value >= low && (bits == 64 || value < 1LL << bits);
    } else {
        // Beyond the signed 64 bits: only what 64 unsigned bits hold.
        fits = false;
        if (bits == 64 && overflow > 0) {
            (void)PyLong_AsUnsignedLongLong(number);
            fits = PyErr_Occurred() == nullptr;
            PyErr_Clear();
        }
    }
    if (!fits) {
        const nb::str text(nb::handle{number});
        throw UserError(ErrorKind::Value,
                        std::string(text.c_str()) + " does not fit in " + builtins::user_name(ir::Type::scalar(type)));
    }
    write_integer(to, type, PyLong_AsUnsignedLongLongMask(number));
    return true;
}

void write_float(std::byte* to, ir::Scalar type, double value) {
    switch (type) {
        case ir::Scalar::F64:
            put(to, value);
            break;
        case ir::Scalar::F32:
            put(to, static_cast<float>(value));
            break;
        case ir::Scalar::F16:
            put(to, f16_from_double(value));
            break;
        default:
            put(to, bf16_from_double(value));
    }
}

}  // namespace

// Whether it is an array of at least one dimension: NumPy before 2.4 took those of one element for numbers.
static bool has_dimensions(PyObject* object) {
    const nb::object ndim = nb::getattr(nb::handle(object), "ndim", nb::none());
    return PyLong_Check(ndim.ptr()) != 0 && PyLong_AsLong(ndim.ptr()) > 0;
}

bool write_number(PyObject* object, ir::Scalar type, std::byte* to, Conversion conversion) {
    nb::object holder;
    if (!is_plain(object)) {
        holder = unwrapped(object);
        object = holder.ptr();
    }
    if (ir::is_float(type)) {
        if (PyFloat_CheckExact(object)) {
            write_float(to, type, PyFloat_AS_DOUBLE(object));
            return true;
        }
        // float() would take strings too.
        const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
        if (methods == nullptr || (methods->nb_float == nullptr && methods->nb_index == nullptr)) return false;
        if (!PyFloat_Check(object) && !PyLong_Check(object) && has_dimensions(object)) return false;
        const double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            return false;
        }
        write_float(to, type, value);
        return true;
    }
    if (type == ir::Scalar::Bool) {
        if (object == Py_None || PyUnicode_Check(object) || PyBytes_Check(object)) return false;
        const PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
        if (methods == nullptr || (methods->nb_bool == nullptr && methods->nb_index == nullptr)) return false;
        const int truth = PyObject_IsTrue(object);
        if (truth < 0) {
            PyErr_Clear();
            return false;
        }
        put(to, static_cast<uint8_t>(truth));
        return true;
    }
    if (PyLong_CheckExact(object)) return write_integer(object, type, to, conversion);
    if (!PyIndex_Check(object)) return false;
    PyObject* index = PyNumber_Index(object);
    if (index == nullptr) {
        PyErr_Clear();
        return false;
    }
    const nb::object keep = nb::steal(index);
    return write_integer(index, type, to, conversion);
}

nb::object read_number(ir::Scalar type, const std::byte* from) {
    switch (type) {
        case ir::Scalar::Bool:
            return nb::bool_(get<uint8_t>(from) != 0);
        case ir::Scalar::I8:
            return nb::int_(get<int8_t>(from));
        case ir::Scalar::I16:
            return nb::int_(get<int16_t>(from));
        case ir::Scalar::I32:
            return nb::int_(get<int32_t>(from));
        case ir::Scalar::I64:
            return nb::int_(get<int64_t>(from));
        case ir::Scalar::U8:
            return nb::int_(get<uint8_t>(from));
        case ir::Scalar::U16:
            return nb::int_(get<uint16_t>(from));
        case ir::Scalar::U32:
            return nb::int_(get<uint32_t>(from));
        case ir::Scalar::U64:
            return nb::int_(get<uint64_t>(from));
        case ir::Scalar::F16:
            return nb::float_(f16_to_double(get<uint16_t>(from)));
        case ir::Scalar::BF16:
            return nb::float_(bf16_to_double(get<uint16_t>(from)));
        case ir::Scalar::F32:
            return nb::float_(static_cast<double>(get<float>(from)));
        case ir::Scalar::F64:
            return nb::float_(get<double>(from));
    }
    return nb::none();
}

}  // namespace weft::bind
