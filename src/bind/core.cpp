// The extension module warp._core: the C++ core as Python sees it.
#include "bind/exports.h"
#include "bind/inheritance.h"

NB_MODULE(_core, m) {
    using namespace weft::bind;
    m.doc() = "The core of Weft: types, arrays, kernels, launches.";
    nanobind::set_leak_warnings(false);  // kernels and functions of modules live as long as the process
    export_errors(m);
    export_types(m);
    export_values(m);
    export_devices(m);
    export_cuda(m);
    export_dlpack(m);
    export_textures(m);
    export_arrays(m);
    allow_common_bases(m.attr("Array"));
    export_functions(m);
    export_builtins(m);
    export_kernels(m);
    export_graphs(m);
    export_algorithms(m);
    export_launch(m);
    export_prepared_launch(m);
    export_xla(m);
    export_runtime(m);
}
