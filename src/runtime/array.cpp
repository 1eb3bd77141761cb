#include "runtime/array.h"

#include <cstring>
#include <limits>

#include "base/error.h"
#include "ir/layout.h"

namespace weft::runtime {
namespace {

int64_t checked_bytes(int64_t element_size, std::span<const int64_t> shape) {
    int64_t bytes = element_size;
    bool empty = false;
    for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] < 0) {
            throw UserError(ErrorKind::Value, "an array's shape must not be negative: found " +
                                                  std::to_string(shape[i]) + " in dimension " + std::to_string(i));
        }
        if (shape[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(bytes, shape[i], &bytes)) {
            throw UserError(ErrorKind::Value, "the array's size in bytes does not fit in 64 bits");
        }
    }
    return empty ? 0 : bytes;
}

}  // namespace

std::array<int64_t, Array::kMaxDims> contiguous_strides(int64_t element_size, std::span<const int64_t> shape) {
    std::array<int64_t, Array::kMaxDims> strides{};
    int64_t stride = element_size;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= shape[i];
    }
    return strides;
}

Array::Array(ir::Type element, std::span<const int64_t> shape, Device& device, bool zeroed)
    : element_(element), element_size_(ir::size_of(element)) {
    WEFT_CHECK(shape.size() <= kMaxDims, "too many dimensions");
    const int64_t bytes = checked_bytes(element_size_, shape);
    ndim_ = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), shape_.begin());
    strides_ = contiguous_strides(element_size_, shape);
    storage_ = Storage::allocate(device, bytes, zeroed);
    data_ = storage_->data();
}

Array::Array(ir::Type element, std::span<const int64_t> shape, std::span<const int64_t> strides, std::byte* data,
             std::shared_ptr<Storage> storage)
    : element_(element),
      element_size_(ir::size_of(element)),
      ndim_(static_cast<int>(shape.size())),
      data_(data),
      storage_(std::move(storage)) {
    WEFT_CHECK(shape.size() <= kMaxDims && strides.size() == shape.size(), "shape and strides do not fit");
    (void)checked_bytes(element_size_, shape);
    std::copy(shape.begin(), shape.end(), shape_.begin());
    std::copy(strides.begin(), strides.end(), strides_.begin());
}

void Array::refuse_without_memory() {
    throw UserError(ErrorKind::Type,
                    "this array has no memory: made without data, shape or pointer, it is an annotation");
}

int64_t Array::size() const {
    int64_t n = 1;
    for (const int64_t extent : shape()) n *= extent;
    return n;
}

bool Array::is_contiguous() const {
    int64_t stride = element_size_;
    for (int i = ndim_; i-- > 0;) {
        if (shape_[i] == 0) return true;
        if (shape_[i] != 1 && strides_[i] != stride) return false;
        stride *= shape_[i];
    }
    return true;
}

std::pair<const std::byte*, const std::byte*> Array::extent() const {
    if (data_ == nullptr || size() == 0) return {data_, data_};
    const std::byte* begin = data_;
    const std::byte* end = data_;
    for (int i = 0; i < ndim_; ++i) {
        const int64_t reach = (shape_[i] - 1) * strides_[i];
        (reach < 0 ? begin : end) += reach;
    }
    return {begin, end + element_size_};
}

void Array::before_write() const {
    if (storage_ == nullptr) return;
    const auto [begin, end] = extent();
    storage_->before_write(begin, end);
}

void Array::write_descriptor(std::byte* to) const {
    std::memcpy(to, static_cast<const void*>(&data_), sizeof(data_));
    std::memcpy(to + ir::descriptor_shape_offset(0), shape_.data(), 8 * static_cast<size_t>(ndim_));
    std::memcpy(to + ir::descriptor_stride_offset(ndim_, 0), strides_.data(), 8 * static_cast<size_t>(ndim_));
}

}  // namespace weft::runtime
