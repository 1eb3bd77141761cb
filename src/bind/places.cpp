#include "bind/places.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
#include <utility>

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

// Finding the line takes longer than finding the instruction.
int position_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030b0000
    return PyFrame_GetLasti(frame);
#else
    return PyFrame_GetLineNumber(frame);
#endif
}

int line_of(const nb::object& code, int position) {
#if PY_VERSION_HEX >= 0x030b0000
    return PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(code.ptr()), position);
#else
    (void)code;
    return position;
#endif
}

}  // namespace

UserPlace::Position UserPlace::innermost() {
    nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
    while (frame.is_valid()) {
        auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
        nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
        if (!in_package(code)) return {std::move(code), position_of(raw)};
        frame = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
    }
    return {};
}

UserPlace::UserPlace() : UserPlace(innermost()) {}

UserPlace::UserPlace(Position position) : code_(std::move(position.code)), at_(position.at) {}

UserPlace::~UserPlace() {
    if (Py_IsInitialized() == 0) {
        (void)code_.release();
        return;
    }
    const nb::gil_scoped_acquire gil;
    code_.reset();
}

std::string UserPlace::str() const {
    const nb::gil_scoped_acquire gil;
    if (!code_.is_valid()) return {};
    return nb::cast<std::string>(code_.attr("co_filename")) + ":" + std::to_string(line_of(code_, at_));
}

std::shared_ptr<const runtime::ProgramPlace> UserPlace::shared() {
    // They keep code alive, of which a program may make ever more: so forgotten from time to time.
    constexpr size_t kMost = 1024;
    static auto& known = *new std::map<std::pair<PyObject*, int>, std::shared_ptr<const UserPlace>>();
    static auto& last = *new std::shared_ptr<const UserPlace>();
    // Most often the innermost frame is where the last call came from.
    if (PyFrameObject* frame = PyEval_GetFrame();
        frame != nullptr && last != nullptr && position_of(frame) == last->at_) {
        const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
        if (code.is(last->code_)) return last;
    }
    Position position = innermost();
    const std::pair key(position.code.ptr(), position.at);
    const auto found = known.find(key);
    if (found != known.end()) return last = found->second;
    if (known.size() >= kMost) known.clear();
    return last = known[key] = std::shared_ptr<const UserPlace>(new UserPlace(std::move(position)));
}

}  // namespace weft::bind
