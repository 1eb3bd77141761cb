#include "runtime/xla/kernel_call.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ir/layout.h"
#include "runtime/launch.h"

namespace weft::runtime::xla {
namespace {

// The extents of the numbers inside an element: of a 2 x 3 matrix 2 and 3.
std::vector<int64_t> inner_extents(ir::Type element) {
    if (element.is(ir::TypeKind::Mat)) return {element.rows(), element.columns()};
    if (element.is_uniform()) return {element.part_count()};
    return {};
}

// An array of the frame: where its first element is, its extents, and those of jax.vmap before them.
struct Given {
    std::byte* data = nullptr;
    std::vector<int64_t> batch;
    std::vector<int64_t> shape;
    int64_t bytes = 0;  // of one item of the batch
};

std::string text(std::span<const int64_t> dims) {
    std::string out = "(";
    for (size_t i = 0; i < dims.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(dims[i]);
    return out + ")";
}

Given read(const Buffer& buffer, const Parameter& parameter, const std::string& kernel) {
    const ir::Type element = parameter.type.target();
    const std::vector<int64_t> inner = inner_extents(element);
    const std::span<const int64_t> dims(buffer.dims, static_cast<size_t>(buffer.rank));
    const size_t own = static_cast<size_t>(parameter.type.ndim()) + inner.size();
    if (dims.size() < own || !std::ranges::equal(dims.last(inner.size()), inner)) {
        throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel + "', argument '" + parameter.name +
                                               "': XLA passed a buffer of shape " + text(dims) + " for " +
                                               std::to_string(parameter.type.ndim()) + " dimensions of elements " +
                                               text(inner));
    }
    Given out;
    out.data = static_cast<std::byte*>(buffer.data);
    const auto batch = dims.first(dims.size() - own);
    out.batch.assign(batch.begin(), batch.end());
    const auto shape = dims.subspan(batch.size(), static_cast<size_t>(parameter.type.ndim()));
    out.shape.assign(shape.begin(), shape.end());
    out.bytes = ir::size_of(element);
    for (const int64_t extent : out.shape) out.bytes *= extent;
    return out;
}

void check_extents(const Given& given, const Parameter& parameter, const std::string& kernel) {
    const auto is_wide = [](int64_t n) { return n != static_cast<int32_t>(n); };
    const bool wide_extent = parameter.narrow_extents && std::ranges::any_of(given.shape, is_wide);
    const bool wide_stride = parameter.narrow_strides && given.shape.size() > 1 && given.shape[0] > 0 &&
                             is_wide(given.bytes / given.shape[0]);
    if (wide_extent || wide_stride) {
        throw UserError(
            ErrorKind::Launch,
            "Error launching kernel '" + kernel + "', argument '" + parameter.name +
                "': the kernel reads its shape or strides, and int32 cannot hold them: " + text(given.shape));
    }
}

void write_descriptor(std::byte* to, const Given& given, int64_t offset) {
    std::byte* const data = given.data == nullptr ? nullptr : given.data + offset;
    std::memcpy(to, static_cast<const void*>(&data), sizeof(data));
    const auto ndim = static_cast<int>(given.shape.size());
    int64_t stride = given.bytes;
    for (int d = 0; d < ndim; ++d) {
        const int64_t extent = given.shape[static_cast<size_t>(d)];
        stride = extent > 0 ? stride / extent : 0;
        std::memcpy(to + ir::descriptor_shape_offset(d), &extent, sizeof(extent));
        std::memcpy(to + ir::descriptor_stride_offset(ndim, d), &stride, sizeof(stride));
    }
}

// The extents that all arrays of the call are repeated over: an array may have extents of 1 there, or none at all.
std::vector<int64_t> common_batch(std::span<const Given> arrays, const std::string& kernel) {
    std::vector<int64_t> out;
    for (const Given& given : arrays) {
        if (given.batch.size() > out.size()) out = given.batch;
    }
    for (const Given& given : arrays) {
        for (size_t d = 0; d < given.batch.size() && given.batch.size() == out.size(); ++d) {
            out[d] = out[d] == 1 ? given.batch[d] : out[d];
        }
    }
    for (const Given& given : arrays) {
        bool fits = given.batch.empty() || given.batch.size() == out.size();
        for (size_t d = 0; fits && d < given.batch.size(); ++d) fits = given.batch[d] == 1 || given.batch[d] == out[d];
        if (!fits) {
            throw UserError(ErrorKind::Launch, "Error launching kernel '" + kernel +
                                                   "': jax.vmap gave arrays of different batches, " +
                                                   text(given.batch) + " and " + text(out));
        }
    }
    return out;
}

// Bytes from an array's first item of the batch to the one of this row-major index.
int64_t batch_offset(const Given& given, std::span<const int64_t> batch, int64_t index) {
    int64_t item = 0;
    int64_t below = 1;
    for (size_t d = given.batch.size(); d-- > 0;) {
        const int64_t at = index % batch[d];
        index /= batch[d];
        if (given.batch[d] != 1) item += at * below;
        below *= given.batch[d];
    }
    return item * given.bytes;
}

}  // namespace

KernelCall::KernelCall(std::string name, Resolve resolve, std::vector<std::optional<ArraySource>> sources,
                       codegen::LaunchShape shape, bool adjoint, std::shared_ptr<void> keep)
    : name_(std::move(name)),
      resolve_(std::move(resolve)),
      sources_(std::move(sources)),
      shape_(shape),
      adjoint_(adjoint),
      keep_(std::move(keep)) {}

KernelCall::Target& KernelCall::target(const Device& device) {
    const bool host = device.capabilities().host_memory;
    {
        const std::lock_guard lock(mutex_);
        if (std::optional<Target>& known = host ? host_ : gpu_) return *known;
    }
    Target found = resolve_(host);
    const std::lock_guard lock(mutex_);
    std::optional<Target>& slot = host ? host_ : gpu_;
    if (!slot) slot = std::move(found);
    return *slot;
}

Code& KernelCall::code_of(Target& target) const {
    return adjoint_ ? target.instance->adjoint() : target.instance->forward();
}

void KernelCall::prepare(Device& device) { device.prepare(code_of(target(device))); }

void KernelCall::run(const Execution& execution) {
    Target& chosen = target(execution.device);
    const Code& code = code_of(chosen);
    std::vector<Given> arrays(sources_.size());
    for (size_t i = 0; i < sources_.size(); ++i) {
        if (!sources_[i]) continue;
        const auto [input, output] = *sources_[i];
        const Parameter& parameter = code.parameters()[i];
        const Buffer* const in = input < 0 ? nullptr : execution.inputs[static_cast<size_t>(input)];
        const Buffer* const out = output < 0 ? nullptr : execution.outputs[static_cast<size_t>(output)];
        const Buffer* const buffer = out != nullptr ? out : in;
        if (buffer == nullptr) continue;
        WEFT_CHECK(in == nullptr || in->data == buffer->data, "XLA did not alias an in-out argument");
        arrays[i] = read(*buffer, parameter, name_);
        check_extents(arrays[i], parameter, name_);
    }
    const std::vector<int64_t> batch = common_batch(arrays, name_);
    int64_t count = 1;
    for (const int64_t extent : batch) count *= extent;
    LaunchOptions options;
    options.block_dim = chosen.block_dim;
    options.stream = execution.stream;
    std::vector<std::byte> block = chosen.block;
    for (int64_t index = 0; index < count; ++index) {
        for (size_t i = 0; i < sources_.size(); ++i) {
            if (!sources_[i]) continue;
            write_descriptor(block.data() + code.parameters()[i].offset, arrays[i],
                             batch_offset(arrays[i], batch, index));
        }
        const auto launch = [&](Code& part) { execution.device.launch(part, block.data(), shape_, options); };
        if (adjoint_) {
            for (Code* part : adjoint_codes(*chosen.instance, block.data(), shape_)) launch(*part);
        } else {
            launch(chosen.instance->forward());
        }
    }
}

}  // namespace weft::runtime::xla
