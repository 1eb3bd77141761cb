// Compiles IR text with a backend, packs arguments and runs the kernel: what the tests of code generation share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/compile.h"
#include "codegen/ptxas.h"
#include "ir/text.h"
#include "runtime/cpu/image_loader.h"

namespace weft::testing {

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

  private:
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
        if (wants_ptx_of_all()) expect_assembles(*module);
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
        ASSERT_NE(entry_, nullptr);
        entry_(arguments.data(), &shape, begin, end < 0 ? total : end);
    }
    codegen::KernelEntry entry() const { return entry_; }

  private:
    std::unique_ptr<runtime::LoadedImage> image_;
    codegen::KernelEntry entry_ = nullptr;
};

// Every way in which code is made: a test of this class runs for each. The default backend also without optimisation,
// and with lanes: two, so that short launches have them too.
class EveryBackend : public ::testing::TestWithParam<Config> {};

inline std::vector<Config> every_backend() {
    std::vector<Config> out = {{codegen::backends().front().name, 0, true, 1},
                               {codegen::backends().front().name, 2, true, 2}};
    for (const codegen::BackendInfo& info : codegen::backends()) {
        if (info.runs_on_host) out.push_back({info.name, 2, true, 1});
    }
    return out;
}

inline std::string config_name(const ::testing::TestParamInfo<Config>& info) {
    std::string out = info.param.backend + std::to_string(info.param.optimize) + "x" + std::to_string(info.param.lanes);
    std::replace(out.begin(), out.end(), '-', '_');
    return out;
}

}  // namespace weft::testing
