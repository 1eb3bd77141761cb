// C++ errors become Python exceptions: a UserError of the class that the package registers for its kind, an
// InternalError a WarpInternalError. Attributes: message, kind, filename, lineno, offset, end_lineno, end_offset, text,
// notes.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>

#include "base/error.h"
#include "bind/errors.h"
#include "bind/exports.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

constexpr std::array<const char*, 9> kKinds = {"syntax", "name",     "type",        "argument", "value",
                                               "launch", "gradient", "unsupported", "runtime"};
constexpr const char* kInternal = "internal";

PyObject* g_classes = nullptr;  // kind -> exception class; lives as long as the process

nb::object exception_class(const char* kind) {
    if (g_classes != nullptr) {
        if (PyObject* found = PyDict_GetItemString(g_classes, kind)) return nb::borrow(found);
    }
    return nb::borrow(PyExc_RuntimeError);
}

void raise(const UserError& error) {
    const char* kind = kKinds.at(static_cast<size_t>(error.kind()));
    const nb::object type = exception_class(kind);
    nb::object value = type(nb::str(error.what()));
    const Location& at = error.location();
    nb::setattr(value, "message", nb::cast(error.message()));
    nb::setattr(value, "kind", nb::str(kind));
    nb::setattr(value, "notes", nb::cast(error.notes()));
    const nb::object none = nb::none();
    nb::setattr(value, "filename", at && at.file ? nb::cast(at.file->path) : none);
    nb::setattr(value, "lineno", at ? nb::cast(at.line) : none);
    nb::setattr(value, "offset", at ? nb::cast(at.column) : none);
    nb::setattr(value, "end_lineno", at ? nb::cast(at.end_line) : none);
    nb::setattr(value, "end_offset", at ? nb::cast(at.end_column) : none);
    nb::setattr(value, "text", at && at.file ? nb::cast(std::string(at.file->line(at.line))) : none);
    PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void set_python_error(const std::exception_ptr& pointer) {
    try {
        std::rethrow_exception(pointer);
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const nb::builtin_exception& error) {
        PyErr_SetString(error.type() == nb::exception_type::index_error   ? PyExc_IndexError
                        : error.type() == nb::exception_type::value_error ? PyExc_ValueError
                        : error.type() == nb::exception_type::type_error  ? PyExc_TypeError
                                                                          : PyExc_RuntimeError,
                        error.what());
    } catch (const UserError& error) {
        raise(error);
    } catch (const InternalError& error) {
        PyErr_SetString(exception_class(kInternal).ptr(), error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(exception_class(kInternal).ptr(), error.what());
    }
}

void export_errors(nb::module_& m) {
    m.def(
        "set_error_classes",
        [](const nb::dict& classes) {
            Py_XDECREF(g_classes);
            g_classes = nb::object(classes).release().ptr();
        },
        nb::arg("classes"), "Which exception class stands for each kind of error.");
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const UserError& error) {
            raise(error);
        } catch (const InternalError& error) {
            PyErr_SetString(exception_class(kInternal).ptr(), error.what());
        }
    });
}

}  // namespace weft::bind
