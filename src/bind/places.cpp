#include "bind/places.h"

#include <nanobind/stl/string.h>

#include <cstring>

namespace nb = nanobind;

namespace weft::bind {
namespace {

// The folder of the package, with a separator at its end.
const std::string& package_folder() {
    static const std::string folder = [] {
        const auto file = nb::cast<std::string>(nb::module_::import_("warp").attr("__file__"));
        return file.substr(0, file.rfind('/') + 1);
    }();
    return folder;
}

bool in_package(const nb::object& code) {
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.ptr())->co_filename);
    return file != nullptr && std::strncmp(file, package_folder().c_str(), package_folder().size()) == 0;
}

}  // namespace

UserPlace::UserPlace() {
    nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    while (frame.is_valid()) {
        auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
        nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
        if (!in_package(code)) {
            code_ = std::move(code);
            line_ = PyFrame_GetLineNumber(raw);
            return;
        }
        frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
    }
}

std::string UserPlace::str() const {
    if (!code_.is_valid()) return {};
    return nb::cast<std::string>(code_.attr("co_filename")) + ":" + std::to_string(line_);
}

}  // namespace weft::bind
