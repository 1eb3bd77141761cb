// _core.Graph: recording of launches, copies and fills, and their replay without Python.
#include "bind/graphs.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/error.h"
#include "bind/exports.h"
#include "ir/builder.h"
#include "runtime/graph_file.h"

namespace nb = nanobind;

namespace weft::bind {
namespace {

using runtime::Array;
using runtime::Graph;

// Recordings that are going on, the innermost last: bodies of branches and loops are recorded inside others.
std::vector<std::shared_ptr<Graph>> g_recordings;

Array condition_of(const Array& array) {
    if (array.storage() == nullptr || array.size() < 1 || array.element() != ir::i32()) {
        throw UserError(ErrorKind::Type, "a condition is an array of int32 with one element");
    }
    return array;
}

}  // namespace

Graph* recording() { return g_recordings.empty() ? nullptr : g_recordings.back().get(); }

void perform(runtime::Step step) {
    if (Graph* graph = recording()) {
        graph->add(std::move(step));
        return;
    }
    const nb::gil_scoped_release release;
    runtime::run(step);
}

void export_graphs(nb::module_& m) {
    nb::class_<Graph>(m, "Graph", nb::is_weak_referenceable(), nb::dynamic_attr(), "Recorded work.")
        .def(nb::init<>())
        .def("__len__", &Graph::size)
        .def(
            "_run", [](const Graph& graph) { graph.run(); }, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "_add_branch",
            [](Graph& graph, const Array& condition, std::shared_ptr<Graph> yes, std::shared_ptr<Graph> no) {
                graph.add(runtime::BranchStep{condition_of(condition), std::move(yes), std::move(no)});
            },
            nb::arg("condition"), nb::arg("yes").none(), nb::arg("no").none())
        .def("_add_loop",
             [](Graph& graph, const Array& condition, std::shared_ptr<Graph> body) {
                 graph.add(runtime::LoopStep{condition_of(condition), std::move(body)});
             })
        .def("_add_graph",
             [](Graph& graph, std::shared_ptr<Graph> other) { graph.add(runtime::PartStep{std::move(other)}); })
        .def(
            "_save",
            [](const Graph& graph, const std::vector<std::pair<std::string, Array>>& names) {
                std::vector<runtime::NamedArray> named;
                for (const auto& [name, array] : names) named.push_back({name, array});
                std::string bytes;
                {
                    const nb::gil_scoped_release release;
                    bytes = runtime::save_graph(graph, named);
                }
                return nb::bytes(bytes.data(), bytes.size());
            },
            "The recording, its memory and its code as bytes; arrays are found by their names again.");
    m.def("load_graph", [](const nb::bytes& bytes) {
        runtime::LoadedGraph loaded;
        {
            const nb::gil_scoped_release release;
            loaded = runtime::load_graph({bytes.c_str(), bytes.size()});
        }
        nb::dict named;
        for (const runtime::NamedArray& each : loaded.named) named[nb::cast(each.name)] = nb::cast(Array(each.array));
        return std::pair(std::move(loaded.graph), named);
    });
    m.def("read_condition", [](const Array& array) {
        int32_t value = 0;
        const Array condition = condition_of(array);
        condition.device().copy_to_host(&value, condition.data(), sizeof(value));
        return value != 0;
    });
    m.def("begin_recording", [](std::shared_ptr<Graph> graph) { g_recordings.push_back(std::move(graph)); });
    m.def("end_recording", [] {
        if (g_recordings.empty()) throw UserError(ErrorKind::Value, "nothing is being recorded");
        std::shared_ptr<Graph> graph = std::move(g_recordings.back());
        g_recordings.pop_back();
        return graph;
    });
    m.def("is_recording", [] { return !g_recordings.empty(); });
    m.def("current_recording", [] { return g_recordings.empty() ? nullptr : g_recordings.back(); });
}

}  // namespace weft::bind
