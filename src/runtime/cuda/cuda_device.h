// An NVIDIA GPU: its primary context, memory, current stream, and launches.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/cuda/failure.h"
#include "runtime/device.h"

namespace weft::runtime::cuda {

class CudaDevice final : public Device {
  public:
    // What the driver says of a device, by its own numbers (CUdevice_attribute).
    enum Attribute : int {
        kMultiprocessors = 16,
        kIntegrated = 18,
        kUnifiedAddressing = 41,
        kMajor = 75,
        kMinor = 76,
        kManagedMemory = 83,
        kPageableAccess = 88,
        kConcurrentManagedAccess = 89,
        kSharedMemoryOptIn = 97,
        kMemoryPools = 115,
    };

    // Makes the device's context current in this thread while it lives.
    class Guard {
      public:
        explicit Guard(CudaDevice& device);
        ~Guard();
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        Context before_ = nullptr;
        bool changed_ = false;
    };

    CudaDevice(DeviceId id, int ordinal, const std::string& name);

    // Made when first asked for: a context takes a tenth of a second.
    Context context();
    bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }
    int attribute(int number) const;
    DeviceId id() const { return id_; }
    std::string uuid() const;
    std::string pci_bus_id() const;
    // The stream that work goes to, of all threads.
    StreamHandle stream();
    void set_stream(StreamHandle stream) { stream_.store(stream, std::memory_order_release); }
    bool uses_pool() const { return pool_enabled_; }
    void set_uses_pool(bool enabled);
    // Where kernels write that an assert failed, as the device sees it.
    Address failure_address();
    // Throws UserError (Runtime) where one has failed since the last call; what was asked for has ended by now.
    void raise_failure();

    const std::string& backend() const override { return backend_; }
    std::string architecture() const override { return architecture_; }
    void* allocate(int64_t bytes, bool zeroed) override;
    void release(void* memory, int64_t bytes) noexcept override;
    // Code that nobody launches any more; unloaded when the device has run all that was asked for.
    void retire(ModuleHandle code);
    void synchronize() override;
    int64_t total_memory() const override;
    int64_t free_memory() const override;
    void copy_from_host(void* to, const void* from, int64_t bytes) override;
    void copy_to_host(void* to, const void* from, int64_t bytes) override;
    void copy_within(void* to, const void* from, int64_t bytes) override;
    void fill_zero(void* to, int64_t bytes) override;
    void launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                const LaunchOptions& options) override;

  private:
    FunctionHandle function_of(Code& code);

    DeviceId id_;
    std::string backend_ = "llvm-nvptx";
    std::string architecture_;
    std::mutex mutex_;
    std::atomic<Context> context_{nullptr};
    std::atomic<StreamHandle> stream_{nullptr};
    bool has_pool_ = false;
    bool pool_enabled_ = false;
    Failure* failure_ = nullptr;
    std::mutex retired_mutex_;
    std::vector<ModuleHandle> retired_;
};

// All of them; none where there is no driver.
const std::vector<CudaDevice*>& cuda_devices();

}  // namespace weft::runtime::cuda
