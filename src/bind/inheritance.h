// Classes of Python that derive from more than one class of ours.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::bind {

// nanobind refuses a class with two of its types among the bases, even where both come from one: class C(A, B) with A
// and B derived from wp.array. The layout is the same then, and Python has checked that, so such classes are let
// through.
void allow_common_bases(nanobind::handle type);

}  // namespace weft::bind
