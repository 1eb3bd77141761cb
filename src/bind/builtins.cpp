// The registry of builtins, for the package's objects, the stubs and the tests; and calls of builtins at Python scope.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/exports.h"
#include "builtins/registry.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

nb::dict describe(const builtins::Row& row) {
    nb::list parameters;
    for (const builtins::Parameter& parameter : row.signature().parameters) {
        parameters.append(nb::make_tuple(parameter.name, parameter.type.str(), parameter.default_text));
    }
    nb::list domains;
    for (const builtins::Domain& domain : row.domains) {
        domains.append(nb::make_tuple(domain.low, domain.high, nb::tuple(nb::cast(domain.excluded))));
    }
    const builtins::TypePattern& result = row.signature().result;
    nb::dict out;
    out["parameters"] = parameters;
    out["result"] = result.is_exact() && !result.exact ? std::string() : result.str();
    out["domains"] = domains;
    out["doc"] = row.doc;
    out["group"] = row.group;
    out["differentiable"] = row.differentiable;
    return out;
}

}  // namespace

void export_builtins(nb::module_& m) {
    m.def("builtin_names", [] {
        std::vector<std::string> names;
        for (const builtins::Builtin& builtin : builtins::all()) names.push_back(builtin.name);
        return names;
    });
    m.def(
        "builtin_rows",
        [](const std::string& name) {
            nb::list rows;
            if (const builtins::Builtin* builtin = builtins::find(name)) {
                for (const builtins::Row* row : builtin->rows) rows.append(describe(*row));
            }
            return rows;
        },
        nb::arg("name"), "The overloads of a builtin, as dictionaries.");
}

}  // namespace weft::bind
