// How Python's arguments become the block of bytes that a kernel takes.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "ir/type.h"
#include "runtime/array.h"
#include "runtime/kernel.h"

namespace weft::bind {

// Functions of the package that the core calls; set once, when the package is imported.
struct Hooks {
    PyObject* convert_array = nullptr;   // (object, element Type, ndim) -> Array, or None
    PyObject* resolve_device = nullptr;  // (device-like) -> Device
    PyObject* record_command = nullptr;  // makes a Launch: (kernel, dim, arguments, device, block_dim)
};
Hooks& hooks();

class ArgumentBlock {
  public:
    ArgumentBlock(const std::string& kernel, int64_t bytes);
    ArgumentBlock(const ArgumentBlock&) = delete;
    ArgumentBlock& operator=(const ArgumentBlock&) = delete;

    // Throws UserError (Launch) where the argument does not fit.
    void pack(PyObject* argument, const runtime::Parameter& parameter, runtime::Device& device);
    // The gradient of an argument; null where it has none.
    void pack_gradient(PyObject* argument, const runtime::Parameter& parameter, runtime::Device& device);
    // An array of one element at an address that stays valid.
    void pack_pointer(std::byte* element, const runtime::Parameter& parameter);
    const std::byte* data() const { return data_; }
    // To be called after a launch that may have written: with the GIL.
    void mark_written() const;

  private:
    void pack_array(PyObject* argument, const runtime::Parameter& parameter, runtime::Device& device);
    bool pack_value(PyObject* argument, const runtime::Parameter& parameter);
    [[noreturn]] void refuse(PyObject* argument, const runtime::Parameter& parameter,
                             const std::string& why = {}) const;

    static constexpr int64_t kInline = 512;
    const std::string& kernel_;
    alignas(16) std::byte inline_[kInline];
    std::unique_ptr<std::byte[]> heap_;
    std::byte* data_;
    std::vector<nanobind::object> alive_;  // arguments whose memory the block points to
    std::vector<const runtime::Array*> written_;
};

// The type that an argument has for a generic kernel; Void when it has none.
ir::Type type_of_argument(PyObject* argument);
const char* class_name(PyObject* object);
// The Array behind a Python object, or null.
runtime::Array* as_array(PyObject* object);

}  // namespace weft::bind
