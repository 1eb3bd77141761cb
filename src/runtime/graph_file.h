// Recordings as bytes: the steps, the memory that they reach with its content, and the code of their kernels, as IR and
// compiled. Memory has the same layout when it is loaded, at other addresses; code that was compiled for another
// machine or by another build is compiled anew from the IR.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/array.h"
#include "runtime/graph.h"

namespace weft::runtime {

// An array that the user of a loaded recording finds by its name.
struct NamedArray {
    std::string name;
    Array array;
};

// The content is that of now. Throws UserError (Unsupported) for what means nothing in another process, by its name.
std::string save_graph(const Graph& graph, std::span<const NamedArray> named);

struct LoadedGraph {
    std::shared_ptr<Graph> graph;
    std::vector<NamedArray> named;
};

// Throws UserError (Value) for bytes that save_graph() did not write.
LoadedGraph load_graph(std::string_view bytes);

}  // namespace weft::runtime
