// How Python's arguments become the block of bytes that a kernel takes.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
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
    PyObject* record_command = nullptr;  // makes a Launch: (kernel, dim, arguments, device, gradients, adjoint)
    PyObject* convert_value = nullptr;   // (object, Type, parameter's name) -> what can be written as a value, or None
};
Hooks& hooks();

// A list whose first items need no allocation.
template <typename T>
class Few {
  public:
    void add(T item) {
        if (count_ < kInline) {
            inline_[count_++] = std::move(item);
        } else {
            more_.push_back(std::move(item));
        }
    }
    template <typename Visit>
    void each(const Visit& visit) const {
        for (size_t i = 0; i < count_; ++i) visit(inline_[i]);
        for (const T& item : more_) visit(item);
    }

  private:
    static constexpr size_t kInline = 12;
    std::array<T, kInline> inline_{};
    size_t count_ = 0;
    std::vector<T> more_;
};

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
    std::byte* data() { return data_; }
    // An array that is not a Python object yet.
    void pack(const runtime::Array& array, const runtime::Parameter& parameter);
    // Keeps the array's memory for as long as the block is used.
    void hold(const runtime::Array& array);
    // The arrays that the launch writes; the memory that it reaches; and what must live for as long as the block is
    // used, `kernel` included.
    std::vector<runtime::Array> written() const;
    std::vector<std::shared_ptr<runtime::Storage>> memory() const;
    std::shared_ptr<void> keep(nanobind::handle kernel) const;
    // To be called before a launch that may write.
    void before_write() const;

  private:
    void pack_array(PyObject* argument, const runtime::Parameter& parameter, runtime::Device& device);
    // Keeps textures that are the argument, or members of it.
    void hold_textures(PyObject* argument, const runtime::Parameter& parameter, const runtime::Device& device);
    bool pack_value(PyObject* argument, const runtime::Parameter& parameter);
    [[noreturn]] void refuse(PyObject* argument, const runtime::Parameter& parameter,
                             const std::string& why = {}) const;

    static constexpr int64_t kInline = 512;
    const std::string& kernel_;
    alignas(16) std::byte inline_[kInline];
    std::unique_ptr<std::byte[]> heap_;
    std::byte* data_;
    // Arguments whose memory the block points to, and those arrays that the kernel writes.
    Few<nanobind::object> alive_;
    Few<const runtime::Array*> written_;
};

// The type that an argument has for a generic kernel; Void when it has none.
ir::Type type_of_argument(PyObject* argument);

// Whether it is a wp.fixedarray: an annotation, never an argument.
bool is_fixed_array(PyObject* object);
const char* class_name(PyObject* object);
// The Array behind a Python object, or null.
runtime::Array* as_array(PyObject* object);

}  // namespace weft::bind
