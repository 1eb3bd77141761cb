// Compiled code of a GPU: loaded into the context of a device when it is first launched there.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/image.h"

namespace weft::runtime::cuda {

class CudaDevice;

class GpuImage final : public LoadedImage {
  public:
    explicit GpuImage(std::string bytes) : bytes_(std::move(bytes)) {}
    ~GpuImage() override;
    GpuImage(const GpuImage&) = delete;
    GpuImage& operator=(const GpuImage&) = delete;

    void* find(std::string_view) const override { return nullptr; }  // nothing that the host could call
    // Throws UserError (Runtime) where the driver refuses the code.
    FunctionHandle function(CudaDevice& device, const std::string& symbol);

  private:
    struct Module {
        CudaDevice* device;
        ModuleHandle handle;
    };
    ModuleHandle load(CudaDevice& device) const;

    std::string bytes_;  // PTX, or machine code
    std::mutex mutex_;
    std::vector<Module> modules_;
};

// PTX as machine code for the device of that architecture, so that the driver's compile is paid once; the PTX itself
// where there is no such device.
codegen::Image assembled(codegen::Image ptx, const std::string& architecture);

}  // namespace weft::runtime::cuda
