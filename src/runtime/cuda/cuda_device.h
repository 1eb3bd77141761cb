// A GPU of NVIDIA's, or one that is driven alike: its primary context, memory, current stream, and launches.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codegen/gpu_plan.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/failure.h"
#include "runtime/cuda/graph_memory.h"
#include "runtime/device.h"

namespace weft::runtime::cuda {

class CudaDevice final : public Device {
  public:
    // What the driver says of a device, by its own numbers (CUdevice_attribute).
    enum Attribute : int {
        kLanes = 10,  // of a warp
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
    // A stream of the runtime's own, which no capture records.
    StreamHandle side_stream();
    // From now on, until null is given, work is recorded that will want this memory.
    void set_recording(std::shared_ptr<GraphMemory> memory);
    std::shared_ptr<GraphMemory> recording() const;
    void free_block(Address block) noexcept;
    bool uses_pool() const { return pool_enabled_; }
    void set_uses_pool(bool enabled);
    // Where kernels write that an assert failed, as the device sees it.
    Address failure_address();
    // Throws UserError (Runtime) where one has failed since the last call; what was asked for has ended by now.
    void raise_failure();

    const std::string& backend() const override { return backend_; }
    std::string architecture() const override { return architecture_; }
    int usual_bound() const override { return driver().vendor.usual_bound; }
    void* allocate(int64_t bytes, bool zeroed) override;
    void release(void* memory, int64_t bytes) noexcept override;
    // Gives back what nobody uses any more, code or a texture, when the device has run all that was asked for.
    void retire(std::function<void()> release);
    void synchronize() override;
    int64_t total_memory() const override;
    int64_t free_memory() const override;
    void copy_from_host(void* to, const void* from, int64_t bytes) override;
    void copy_to_host(void* to, const void* from, int64_t bytes) override;
    void copy_within(void* to, const void* from, int64_t bytes) override;
    void fill_zero(void* to, int64_t bytes) override;
    // Whether the current stream is captured, by whomever.
    bool is_recording() override;
    bool keeps() const override { return records_.load(std::memory_order_acquire); }
    void keep(std::shared_ptr<const void> object) override;
    void prepare(Code& code) override;
    // What the driver says of a compiled kernel (CUfunction_attribute).
    enum FunctionAttribute : int { kMaxThreads = 0, kLocalBytes = 3, kRegisters = 4 };
    int attribute_of(Code& code, FunctionAttribute number);
    // What launches run where arrays are as hoped, compiled and loaded if need be.
    FunctionHandle function(Code& code);
    // The block size at which the device is filled best, and the number of blocks that takes.
    std::pair<int, int> suggested_block(Code& code);
    void launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                const LaunchOptions& options) override;

    // Waits for a stream of the device; throws what its work has done, as `what`.
    void wait_for(StreamHandle stream, const char* what);

  private:
    // Keeps in mind, for errors that come late, what was launched.
    void note(const Code& code, StreamHandle stream);
    // `bound`: the most threads of a block that the code must serve; 0: any.
    FunctionHandle function_of(Code& code, codegen::Promise promise, int bound);
    int bound_of(int64_t threads) const;
    void* allocate_for_recording(size_t bytes, bool zeroed);
    // With zeros; where that fails the memory goes again.
    void fill_new(Address memory, size_t bytes);

    DeviceId id_;
    std::string backend_;
    std::string architecture_;
    bool promises_ = driver().vendor.promises;
    bool packs_arguments_ = driver().vendor.packs_arguments;
    std::mutex mutex_;
    std::atomic<Context> context_{nullptr};
    std::atomic<StreamHandle> stream_{nullptr};
    StreamHandle side_stream_ = nullptr;
    Context primary_ = nullptr;  // retained, though what goes with it may not be made yet
    mutable std::mutex recording_mutex_;
    std::atomic<bool> records_{false};  // whether recording_ is there
    std::shared_ptr<GraphMemory> recording_;
    std::map<Address, std::weak_ptr<GraphMemory>> recorded_blocks_;  // allocated while work was recorded
    int64_t multiprocessors_ = 1;
    bool has_pool_ = false;
    bool pool_enabled_ = false;
    Failure* failure_ = nullptr;
    std::mutex retired_mutex_;
    std::vector<std::function<void()>> retired_;
};

// All of them, by their numbers; none where there is no driver.
const std::vector<CudaDevice*>& cuda_devices();
// Whose context is current in this thread; null where none is.
CudaDevice* device_of_current_context();

}  // namespace weft::runtime::cuda
