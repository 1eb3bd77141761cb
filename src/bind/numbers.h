// Numbers between Python and memory: how a Python object becomes a scalar of a given type, and back.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "ir/type.h"

namespace weft::bind {

enum class Conversion {
    Exact,  // ints out of range are refused, but for -1 and values up to 2**bits - 1 (their bits are taken)
    Wrap,   // ints wrap
};

// Writes `object` as a scalar. False when it is no number of that kind (a float for an int, None, a string, ...), with
// no Python error set. Throws UserError (Value) for an int out of range.
bool write_number(PyObject* object, ir::Scalar type, std::byte* to, Conversion conversion = Conversion::Exact);

// A Python float, int or bool.
nanobind::object read_number(ir::Scalar type, const std::byte* from);

}  // namespace weft::bind
