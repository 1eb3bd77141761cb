// _core.Type: the types of the IR.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/exports.h"
#include "builtins/array_kinds.h"
#include "builtins/pattern.h"
#include "builtins/textures.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "ir/type.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

ir::Scalar scalar_of(ir::Type type) {
    if (!type.is_scalar()) throw UserError(ErrorKind::Type, "expected a scalar type, found " + type.str());
    return type.element();
}

std::string kind_name(ir::Type type) {
    switch (type.kind()) {
        case ir::TypeKind::Void:
            return "void";
        case ir::TypeKind::Scalar:
            return "scalar";
        case ir::TypeKind::Vec:
            return "vec";
        case ir::TypeKind::Mat:
            return "mat";
        case ir::TypeKind::Quat:
            return "quat";
        case ir::TypeKind::Transform:
            return "transform";
        case ir::TypeKind::Struct:
            return "struct";
        case ir::TypeKind::Tuple:
            return "tuple";
        case ir::TypeKind::Array:
            return "array";
        case ir::TypeKind::Ref:
            return "ref";
        case ir::TypeKind::Stack:
            return "stack";
    }
    return "";
}

}  // namespace

void export_types(nb::module_& m) {
    nb::class_<ir::Type> type(m, "Type", "A type of the kernel language; equal types are equal objects.");
    type.def_static(
            "scalar", [](const std::string& name) { return ir::parse_type(name); }, nb::arg("name"))
        .def_static("vec", [](int length, ir::Type e) { return ir::Type::vec(length, scalar_of(e)); })
        .def_static("mat", [](int rows, int columns, ir::Type e) { return ir::Type::mat(rows, columns, scalar_of(e)); })
        .def_static("quat", [](ir::Type e) { return ir::Type::quat(scalar_of(e)); })
        .def_static("transform", [](ir::Type e) { return ir::Type::transform(scalar_of(e)); })
        .def_static("array", [](ir::Type e, int ndim) { return ir::Type::array(e, ndim); })
        .def_static("array_of_kind",
                    [](const std::string& word, ir::Type e, int ndim) {
                        return builtins::array_type(builtins::array_kind_of(word), e, ndim);
                    })
        .def_static("texture", &builtins::texture_type, nb::arg("ndim"))
        .def_static("ref", [](ir::Type target) { return ir::Type::ref(target); })
        .def_static("tuple", [](const std::vector<ir::Type>& parts) { return ir::Type::tuple(parts); })
        .def_static("struct",
                    [](const std::string& name, const std::vector<std::pair<std::string, ir::Type>>& fields,
                       int alignment, bool packed) {
                        std::vector<ir::Type::Field> list;
                        list.reserve(fields.size());
                        for (const auto& [field, field_type] : fields) list.push_back({field, field_type});
                        return ir::Type::structure(name, list, alignment, packed);
                    })
        .def_static("parse", [](const std::string& text) { return ir::parse_type(text); })
        .def_prop_ro("kind", &kind_name)
        .def_prop_ro("element", [](ir::Type t) { return t.element_type(); })
        .def_prop_ro("target", [](ir::Type t) { return t.target(); })
        .def_prop_ro("ndim", [](ir::Type t) { return t.ndim(); })
        .def_prop_ro(
            "size", [](ir::Type t) { return ir::size_of(t); }, "Bytes of a value in memory.")
        .def("part", [](ir::Type t, int index) { return t.part(index); })
        .def_prop_ro("part_count", [](ir::Type t) { return t.part_count(); })
        .def_prop_ro("rows", [](ir::Type t) { return t.rows(); })
        .def_prop_ro("columns", [](ir::Type t) { return t.columns(); })
        .def_prop_ro("offsets",
                     [](ir::Type t) {
                         std::vector<int64_t> offsets;
                         for (int i = 0; i < t.part_count(); ++i) offsets.push_back(ir::offset_of(t, i));
                         return offsets;
                     })
        .def_prop_ro("is_differentiable", [](ir::Type t) { return t.is_differentiable(); })
        .def_prop_ro("contains_array", [](ir::Type t) { return t.contains_array(); })
        .def_prop_ro("user_name", [](ir::Type t) { return builtins::user_name(t); })
        .def(
            "__eq__",
            [](ir::Type a, nb::handle b) { return nb::isinstance<ir::Type>(b) && a == nb::cast<ir::Type>(b); },
            nb::arg().none())
        .def("__hash__", [](ir::Type t) { return std::hash<ir::Type>()(t); })
        .def("__str__", [](ir::Type t) { return t.str(); })
        .def("__repr__", [](ir::Type t) { return "Type(" + t.str() + ")"; });
}

}  // namespace weft::bind
