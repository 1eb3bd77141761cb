// Compiles IR text with a backend, packs arguments and runs the kernel: what the tests of code generation share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/compile.h"
#include "codegen/ptxas.h"
#include "ir/text.h"
#include "runtime/cpu/host_symbols.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_image.h"
#include "runtime/image.h"
#include "runtime/kernel.h"

namespace weft::testing {

// What a GPU's last launch said of a failed assert: "in thread (1): message".
inline std::optional<std::string>& gpu_failure() {
    static std::optional<std::string> failure;
    return failure;
}

// The same, of the last launch on either.
inline std::optional<std::string> take_failure() {
    if (const auto failure = runtime::take_assert_failure()) {
        return "in thread (" + std::to_string(failure->item) + "): " + failure->message;
    }
    return std::exchange(gpu_failure(), std::nullopt);
}

class Arguments {
  public:
    template <typename T>
    Arguments& value(const T& v) {
        append(&v, sizeof v);
        return *this;
    }
    // Strides are in bytes; without them the array is dense.
    Arguments& array(void* data, std::vector<int64_t> shape, int64_t element, std::vector<int64_t> strides = {}) {
        if (strides.empty()) {
            strides.resize(shape.size());
            int64_t stride = element;
            for (size_t d = shape.size(); d-- > 0;) {
                strides[d] = stride;
                stride *= shape[d];
            }
        }
        int64_t low = 0;
        int64_t high = element;
        for (size_t d = 0; d < shape.size(); ++d) {
            const int64_t last = (shape[d] - 1) * strides[d];
            (last < 0 ? low : high) += last;
            if (shape[d] == 0) high = low;
        }
        if (data != nullptr && high > low)
            given_.push_back({words_.size(), static_cast<std::byte*>(data) + low, high - low, low});
        append(static_cast<const void*>(&data), sizeof data);
        append(shape.data(), 8 * shape.size());
        append(strides.data(), 8 * strides.size());
        return *this;
    }
    template <typename T>
    Arguments& array(std::vector<T>& data) {
        return array(data.data(), {static_cast<int64_t>(data.size())}, sizeof(T));
    }
    const void* data() const { return words_.data(); }

    // Calls run(arguments) with the arrays' content in a device's memory, and brings it back.
    template <typename Run>
    void on_device(runtime::cuda::CudaDevice& device, const Run& run) const {
        std::vector<uint64_t> words = words_;
        std::vector<void*> there;
        for (const Given& array : given_) {
            there.push_back(device.allocate(array.bytes, false));
            device.copy_from_host(there.back(), array.begin, array.bytes);
            words[array.word] = reinterpret_cast<uint64_t>(there.back()) - static_cast<uint64_t>(array.low);
        }
        run(reinterpret_cast<const std::byte*>(words.data()));
        gpu_failure().reset();
        try {
            device.synchronize();
        } catch (const UserError& error) {
            gpu_failure() = error.what();
        }
        for (size_t i = 0; i < given_.size(); ++i) {
            device.copy_to_host(given_[i].begin, there[i], given_[i].bytes);
            device.release(there[i], given_[i].bytes);
        }
    }

  private:
    struct Given {
        size_t word;  // of the pointer
        std::byte* begin;
        int64_t bytes;
        int64_t low;  // of the first byte, from the pointer
    };
    std::vector<Given> given_;
    void append(const void* bytes, size_t size) {
        const size_t at = words_.size();
        words_.resize(at + (size + 7) / 8);
        std::memcpy(words_.data() + at, bytes, size);
    }
    std::vector<uint64_t> words_;
};

struct Config {
    std::string backend;
    int optimize = 2;
    bool passes = true;  // whether our own passes run first
    int lanes = 0;
    bool for_gpus = true;  // whether GPUs take it
};

class Kernel {
  public:
    Kernel(const std::string& text, const Config& config) {
        const auto module = ir::parse(text);
        std::string name;
        for (const auto& function : module->functions) {
            if (function->kind == ir::FunctionKind::Kernel && name.empty()) name = function->name;
        }
        codegen::Options options;
        options.optimize = config.optimize;
        options.lanes = config.lanes;
        if (wants_ptx_of_all() && config.for_gpus) expect_assembles(*module);
        if (!codegen::backend(config.backend).runs_on_host) {
            code_ = std::make_unique<runtime::Code>(std::shared_ptr<ir::Module>(ir::parse(text)), name,
                                                    runtime::KernelOptions());
            return;
        }
        codegen::Backend& backend = codegen::backend(config.backend).open();
        image_ = runtime::load_image(config.passes ? codegen::compile(*module, backend, options, nullptr)
                                                   : backend.compile(*module, options, nullptr));
        entry_ = reinterpret_cast<codegen::KernelEntry>(image_->find(codegen::entry_symbol(name)));
    }
    void run(const Arguments& arguments, std::vector<int64_t> dims, int64_t begin = 0, int64_t end = -1) const {
        codegen::LaunchShape shape;
        int64_t total = 1;
        shape.ndim = static_cast<int32_t>(dims.size());
        for (size_t d = 0; d < dims.size(); ++d) total *= shape.dims[d] = dims[d];
        if (code_ != nullptr) {
            runtime::cuda::CudaDevice& gpu = *runtime::cuda::cuda_devices().front();
            arguments.on_device(
                gpu, [&](const std::byte* there) { launch(gpu, there, shape, begin, end < 0 ? total : end); });
            return;
        }
        ASSERT_NE(entry_, nullptr);
        entry_(arguments.data(), &shape, begin, end < 0 ? total : end);
    }
    codegen::KernelEntry entry() const { return entry_; }
    bool is_for_host() const { return code_ == nullptr; }

  private:
    // As CudaDevice::launch does, with a range of items.
    void launch(runtime::Device& device, const std::byte* arguments, codegen::LaunchShape& shape, int64_t begin,
                int64_t end) const {
        auto& gpu = dynamic_cast<runtime::cuda::CudaDevice&>(device);
        const runtime::cuda::CudaDevice::Guard guard(gpu);
        const std::shared_ptr<runtime::LoadedKernel> loaded = code_->loaded(gpu);
        auto* function = dynamic_cast<runtime::cuda::GpuImage&>(loaded->image())
                             .function(gpu, codegen::entry_symbol(loaded->name()));
        void* parameters[] = {const_cast<std::byte*>(arguments), &shape, &begin, &end};
        constexpr unsigned kThreads = 64;
        const auto blocks = static_cast<unsigned>((std::max<int64_t>(end - begin, 0) + kThreads - 1) / kThreads);
        if (blocks == 0) return;
        runtime::cuda::check(runtime::cuda::driver().cuLaunchKernel(function, blocks, 1, 1, kThreads, 1, 1, 0,
                                                                    gpu.stream(), parameters, nullptr),
                             "launching a kernel");
    }

    std::unique_ptr<runtime::LoadedImage> image_;
    std::unique_ptr<runtime::Code> code_;  // for a GPU
    codegen::KernelEntry entry_ = nullptr;
};

// Every way in which code is made: a test of this class runs for each. The default backend also without optimisation,
// and with lanes: two, so that short launches have them too.
class EveryBackend : public ::testing::TestWithParam<Config> {};

inline std::vector<Config> every_backend() {
    std::vector<Config> out = {{codegen::backends().front().name, 0, true, 1},
                               {codegen::backends().front().name, 2, true, 2}};
    for (const codegen::BackendInfo& info : codegen::backends()) {
        if (info.runs_on_host || !runtime::cuda::cuda_devices().empty()) out.push_back({info.name, 2, true, 1});
    }
    return out;
}

inline std::string config_name(const ::testing::TestParamInfo<Config>& info) {
    std::string out = info.param.backend + std::to_string(info.param.optimize) + "x" + std::to_string(info.param.lanes);
    std::replace(out.begin(), out.end(), '-', '_');
    return out;
}

}  // namespace weft::testing
