// One function a subject, each in the file of its name; core.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::bind {

void export_errors(nanobind::module_& m);
void export_types(nanobind::module_& m);
void export_values(nanobind::module_& m);
void export_devices(nanobind::module_& m);
void export_dlpack(nanobind::module_& m);
void export_cuda(nanobind::module_& m);
void export_textures(nanobind::module_& m);
void export_arrays(nanobind::module_& m);
void export_functions(nanobind::module_& m);
void export_builtins(nanobind::module_& m);
void export_kernels(nanobind::module_& m);
void export_graphs(nanobind::module_& m);
void export_algorithms(nanobind::module_& m);
void export_launch(nanobind::module_& m);
void export_prepared_launch(nanobind::module_& m);
void export_xla(nanobind::module_& m);
void export_runtime(nanobind::module_& m);

}  // namespace weft::bind
