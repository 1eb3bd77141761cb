// _core.Function: a function of the user as the front end takes it, made from the source file, Python's tree of it, and
// the function object. _core.OverloadSet: all functions of one name. _core.SourceFile: a file's text, shared.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bind/exports.h"
#include "bind/objects.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using frontend::FunctionSource;
using frontend::OverloadSet;

FunctionObject make_function(const std::string& name, const std::shared_ptr<SourceFile>& file, nb::handle definition,
                             const nb::object& function, const std::shared_ptr<OverloadSet>& overloads) {
    auto source = std::make_shared<FunctionSource>();
    source->name = name;
    source->file = file;
    source->tree = read_tree(definition, file);
    source->environment = make_environment(function);
    evaluate_statics(*source);
    overloads->functions.push_back(source);
    return {source, overloads};
}

}  // namespace

void export_functions(nb::module_& m) {
    nb::class_<SourceFile>(m, "SourceFile", "The text of a file.")
        .def(
            "__init__",
            [](SourceFile* self, const std::string& path, const std::string& text, int first_line) {
                new (self) SourceFile{path, text, first_line};
            },
            nb::arg("path"), nb::arg("text"), nb::arg("first_line") = 1)
        .def_prop_ro("path", [](const SourceFile& f) { return f.path; })
        .def_prop_ro("text", [](const SourceFile& f) { return f.text; });

    nb::class_<OverloadSet>(m, "OverloadSet", "All functions of one name.")
        .def("__init__", [](OverloadSet* self, const std::string& name) { new (self) OverloadSet{name, {}}; })
        .def(
            "arrange",
            [](OverloadSet& set, const std::vector<const FunctionObject*>& functions) {
                std::vector<std::shared_ptr<const FunctionSource>> wanted;
                for (const FunctionObject* function : functions) wanted.push_back(function->source);
                // Another thread may be reading what is right already.
                if (set.functions != wanted) set.functions = std::move(wanted);
            },
            "Makes it consist of these, in this order.");

    nb::class_<FunctionObject>(m, "Function", "A function of the user, for the front end.")
        .def(
            "__init__",
            [](FunctionObject* self, const std::string& name, const std::shared_ptr<SourceFile>& file,
               nb::handle definition, const nb::object& function, const std::shared_ptr<OverloadSet>& overloads) {
                new (self) FunctionObject(make_function(name, file, definition, function, overloads));
            },
            nb::arg("name"), nb::arg("file"), nb::arg("definition"), nb::arg("function"), nb::arg("overloads"))
        .def(
            "set_native",
            [](FunctionObject& f, const std::string& forward, std::optional<std::string> adjoint,
               std::optional<std::string> replay) {
                f.source->native = frontend::NativeSnippet{forward, std::move(adjoint), std::move(replay)};
            },
            nb::arg("forward"), nb::arg("adjoint").none(), nb::arg("replay").none())
        .def("set_gradient",
             [](FunctionObject& f, const FunctionObject& gradient) { f.source->gradient = gradient.source; })
        .def("set_replay",
             [](const FunctionObject& f, const FunctionObject& replay) { f.source->replay = replay.source; })
        .def_prop_ro("name", [](const FunctionObject& f) { return f.source->name; });
}

}  // namespace weft::bind
