#include "runtime/cuda/gpu_image.h"

#include <array>

#include "base/error.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/failure.h"

namespace weft::runtime::cuda {
namespace {

// Options of the driver's compiler (CUjit_option), and the kind of input (CUjitInputType).
constexpr int kErrorLog = 5;
constexpr int kErrorLogBytes = 6;
constexpr int kLineInfo = 13;
constexpr int kInputPtx = 1;

struct Link {
    LinkHandle handle = nullptr;
    ~Link() {
        if (handle != nullptr) driver().cuLinkDestroy(handle);
    }
};

}  // namespace

GpuImage::~GpuImage() {
    for (const Module& module : modules_) {
        module.device->retire([handle = module.handle] { driver().cuModuleUnload(handle); });
    }
}

ModuleHandle GpuImage::load(CudaDevice& device) const {
    const OutsideCapture outside;
    const Driver& d = driver();
    ModuleHandle module = nullptr;
    check(d.cuModuleLoadData(&module, bytes_.c_str()), "loading compiled code");
    Address place = 0;
    size_t bytes = 0;
    if (d.cuModuleGetGlobal(&place, &bytes, module, kFailureSymbol) != 0) return module;
    const Address record = device.failure_address();
    Result result = d.cuMemcpyHtoDAsync(place, &record, sizeof(record), device.side_stream());
    if (result == 0) result = d.cuStreamSynchronize(device.side_stream());
    if (result != 0) d.cuModuleUnload(module);
    check(result, "loading compiled code");
    return module;
}

FunctionHandle GpuImage::function(CudaDevice& device, const std::string& symbol) {
    const std::lock_guard lock(mutex_);
    const CudaDevice::Guard guard(device);
    ModuleHandle module = nullptr;
    for (const Module& loaded : modules_) {
        if (loaded.device == &device) module = loaded.handle;
    }
    if (module == nullptr) {
        module = load(device);
        modules_.push_back({&device, module});
    }
    FunctionHandle function = nullptr;
    check(driver().cuModuleGetFunction(&function, module, symbol.c_str()), "finding a compiled kernel");
    return function;
}

codegen::Image assembled(codegen::Image ptx, const std::string& architecture) {
    CudaDevice* device = nullptr;
    const std::string machine = architecture.substr(0, architecture.find_last_of("0123456789") + 1);
    for (CudaDevice* candidate : cuda_devices()) {
        if (candidate->architecture() == machine) device = candidate;
    }
    if (device == nullptr) return ptx;
    const CudaDevice::Guard guard(*device);
    const OutsideCapture outside;
    std::array<char, 4096> log{};
    std::array<int, 3> options = {kErrorLog, kErrorLogBytes, kLineInfo};
    std::array<void*, 3> values = {log.data(), reinterpret_cast<void*>(log.size()), reinterpret_cast<void*>(1)};
    const bool has_lines = ptx.bytes.find("\t.loc\t") != std::string::npos;
    Link link;
    void* cubin = nullptr;
    size_t bytes = 0;
    const Driver& d = driver();
    const auto failed = [&](Result result) { return result != 0; };
    if (failed(d.cuLinkCreate(has_lines ? 3 : 2, options.data(), values.data(), &link.handle)) ||
        failed(d.cuLinkAddData(link.handle, kInputPtx, ptx.bytes.data(), ptx.bytes.size() + 1, "kernel", 0, nullptr,
                               nullptr)) ||
        failed(d.cuLinkComplete(link.handle, &cubin, &bytes))) {
        throw UserError(ErrorKind::Runtime, std::string("the CUDA driver refuses the compiled code: ") + log.data());
    }
    return {codegen::ImageFormat::Cubin, std::string(static_cast<const char*>(cubin), bytes)};
}

}  // namespace weft::runtime::cuda
