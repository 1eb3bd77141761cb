#include "bind/attributes.h"

#include <unordered_map>

namespace nb = nanobind;

namespace weft::bind {
namespace {

// Whether a class is known not to have an attribute. Python itself makes an exception, with its text, to say so.
[[maybe_unused]] bool is_class_without(PyObject* object, PyObject* name) {
    if (!PyType_Check(object) || Py_TYPE(object)->tp_getattro != PyType_Type.tp_getattro) return false;
    return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name) == nullptr &&
           _PyType_Lookup(Py_TYPE(object), name) == nullptr;
}

}  // namespace

nb::handle kept_name(const char* literal) {
    static std::unordered_map<const char*, PyObject*> names;  // under the GIL; kept for ever
    PyObject*& name = names[literal];
    if (name == nullptr) name = PyUnicode_InternFromString(literal);
    return name;
}

nb::object attribute_or_null(nb::handle object, nb::handle name) {
    PyObject* found = nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    const int result = PyObject_GetOptionalAttr(object.ptr(), name.ptr(), &found);
#else
    if (is_class_without(object.ptr(), name.ptr())) return {};
    const int result = _PyObject_LookupAttr(object.ptr(), name.ptr(), &found);
#endif
    if (result < 0) PyErr_Clear();
    return nb::steal(found);
}

nb::object attribute_or_null(nb::handle object, const std::string& name) {
    return attribute_or_null(object, nb::steal(PyUnicode_InternFromString(name.c_str())));
}

}  // namespace weft::bind
