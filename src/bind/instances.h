// The C++ object behind a Python object.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::bind {

// Null when it is of another class. The class is looked up once, so that a check costs a pointer comparison.
template <typename T>
T* instance(PyObject* object) {
    static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(nanobind::type<T>().ptr());
    if (Py_TYPE(object) != type && PyType_IsSubtype(Py_TYPE(object), type) == 0) return nullptr;
    return nanobind::inst_ptr<T>(nanobind::handle(object));
}

}  // namespace weft::bind
