// A value of any type of the kernel language at Python scope: its bytes, laid out as in memory. Vectors, matrices,
// quaternions, transforms and structs of the package are subclasses of _core.Value.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstring>
#include <memory>

#include "ir/layout.h"
#include "ir/type.h"

namespace weft::bind {

class ValueObject {
  public:
    explicit ValueObject(ir::Type type)
        : type_(type), bytes_(std::make_unique<std::byte[]>(static_cast<size_t>(ir::size_of(type)))) {}

    ir::Type type() const { return type_; }
    size_t size() const { return static_cast<size_t>(ir::size_of(type_)); }
    std::byte* data() { return bytes_.get(); }
    const std::byte* data() const { return bytes_.get(); }

  private:
    ir::Type type_;
    std::unique_ptr<std::byte[]> bytes_;
};

// Writes a Python object as a value of the type: numbers as write_number does with Conversion::Exact, values of the
// package of the same type, and sequences (nested for matrices) of numbers. False when it does not fit; throws
// UserError (Value) for an int out of range.
bool write_value(PyObject* object, ir::Type type, std::byte* to);

}  // namespace weft::bind
