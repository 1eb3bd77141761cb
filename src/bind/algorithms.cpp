// Algorithms on whole arrays: run at once, or recorded.
#include <nanobind/nanobind.h>

#include "bind/exports.h"
#include "bind/graphs.h"
#include "runtime/overlaps.h"

namespace nb = nanobind;

namespace weft::bind {

void export_algorithms(nb::module_& m) {
    using runtime::Array;
    m.def("overlap", &runtime::overlap, nb::arg("read"), nb::arg("written"),
          "Whether an element of one array lies in the memory of an element of the other.");
    m.def("scan",
          [](const Array& in, const Array& out, bool inclusive) { perform(runtime::ScanStep{in, out, inclusive}); });
    m.def("sort_pairs",
          [](const Array& keys, const Array& values, int64_t begin, int64_t count, int begin_bit, int end_bit) {
              perform(runtime::SortStep{keys, values, begin, count, begin_bit, end_bit});
          });
    m.def("sort_segments",
          [](const Array& keys, const Array& values, int64_t count, const Array& starts, const Array& ends) {
              perform(runtime::SegmentSortStep{keys, values, count, starts, ends});
          });
    m.def("encode_runs",
          [](const Array& values, int64_t count, const Array& run_values, const Array& run_lengths, const Array& runs) {
              perform(runtime::RunsStep{values, count, run_values, run_lengths, runs});
          });
    m.def("sum_along", [](const Array& values, const Array& out, int axis, int64_t count) {
        perform(runtime::SumStep{values, out, axis, count});
    });
    m.def("inner_along", [](const Array& a, const Array& b, const Array& out, int axis, int64_t count) {
        perform(runtime::InnerStep{a, b, out, axis, count});
    });
}

}  // namespace weft::bind
