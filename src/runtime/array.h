// An array as the runtime sees it: a strided view of shared memory, with the array of its gradients.
// Views share storage; nothing here knows Python. Copies and fills are in copy.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "ir/type.h"
#include "runtime/storage.h"

namespace weft::runtime {

class Array {
  public:
    static constexpr int kMaxDims = 8;

    Array() = default;
    // New memory, C-contiguous. Throws std::bad_alloc; UserError (Value) for a negative or too large shape.
    Array(ir::Type element, std::span<const int64_t> shape, Device& device, bool zeroed);
    // A view of existing storage; `strides` in bytes.
    Array(ir::Type element, std::span<const int64_t> shape, std::span<const int64_t> strides, std::byte* data,
          std::shared_ptr<Storage> storage);

    ir::Type element() const { return element_; }
    int64_t element_size() const { return element_size_; }  // bytes
    int ndim() const { return ndim_; }
    std::span<const int64_t> shape() const { return {shape_.data(), static_cast<size_t>(ndim_)}; }
    std::span<const int64_t> strides() const { return {strides_.data(), static_cast<size_t>(ndim_)}; }
    std::byte* data() const { return data_; }
    const std::shared_ptr<Storage>& storage() const { return storage_; }
    // Throws UserError (Type) for an array that is an annotation only.
    void require_memory() const {
        if (!storage_) refuse_without_memory();
    }
    Device& device() const {
        require_memory();
        return storage_->device();
    }

    int64_t size() const;        // elements
    bool is_contiguous() const;  // in C order
    // The bytes that elements lie in: [begin, end). Empty arrays give an empty range.
    std::pair<const std::byte*, const std::byte*> extent() const;
    // To be called before the content may change.
    void before_write() const;

    // Of memory that another library lends: what counts its writes there; may be null.
    const std::shared_ptr<const WriteCounter>& write_counter() const { return write_counter_; }
    void set_write_counter(std::shared_ptr<const WriteCounter> counter) { write_counter_ = std::move(counter); }

    const std::shared_ptr<Array>& gradient() const { return gradient_; }
    void set_gradient(std::shared_ptr<Array> gradient) { gradient_ = std::move(gradient); }

    // The descriptor that kernels get (ir/layout.h); `to` has room for descriptor_size(ndim()).
    void write_descriptor(std::byte* to) const;

  private:
    [[noreturn]] static void refuse_without_memory();

    ir::Type element_;
    int64_t element_size_ = 0;
    int ndim_ = 0;
    std::array<int64_t, kMaxDims> shape_{};
    std::array<int64_t, kMaxDims> strides_{};
    std::byte* data_ = nullptr;
    std::shared_ptr<Storage> storage_;
    std::shared_ptr<const WriteCounter> write_counter_;
    std::shared_ptr<Array> gradient_;
};

// Strides of a dense array in C order, in bytes.
std::array<int64_t, Array::kMaxDims> contiguous_strides(int64_t element_size, std::span<const int64_t> shape);

}  // namespace weft::runtime
