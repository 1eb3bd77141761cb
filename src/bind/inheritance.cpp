#include "bind/inheritance.h"

#include <utility>

namespace weft::bind {
namespace {

initproc original = nullptr;

// nanobind reads the bases while it sets up the class: the one that gives the layout is all it sees.
int init_type(PyObject* self, PyObject* args, PyObject* kwargs) {
    auto* type = reinterpret_cast<PyTypeObject*>(self);
    if (PyTuple_GET_SIZE(type->tp_bases) < 2) return original(self, args, kwargs);
    PyObject* layout = PyTuple_Pack(1, reinterpret_cast<PyObject*>(type->tp_base));
    if (layout == nullptr) return -1;
    PyObject* bases = std::exchange(type->tp_bases, layout);
    const int result = original(self, args, kwargs);
    type->tp_bases = bases;
    Py_DECREF(layout);
    return result;
}

}  // namespace

void allow_common_bases(nanobind::handle type) {
    PyTypeObject* meta = Py_TYPE(type.ptr());
    if (meta->tp_init == init_type) return;
    original = std::exchange(meta->tp_init, init_type);
}

}  // namespace weft::bind
