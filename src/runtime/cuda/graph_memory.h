// What recorded work uses lives as long as the record: memory that was allocated or given back while it was recorded,
// and whatever else was handed over (arrays of the host, arguments of launches).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

class CudaDevice;
struct LaunchOrigin;

class GraphMemory {
  public:
    explicit GraphMemory(CudaDevice& device) : device_(device) {}
    ~GraphMemory();
    GraphMemory(const GraphMemory&) = delete;
    GraphMemory& operator=(const GraphMemory&) = delete;

    // For graphs of which nobody says when they are gone.
    static std::shared_ptr<GraphMemory> kept_for_ever(CudaDevice& device);
    static void keep_for_ever(std::shared_ptr<GraphMemory> memory);

    // A block of the device's that nobody else holds any more.
    void take(Address block);
    void keep(std::shared_ptr<const void> object);
    // A launch that is part of the record; and all of them as one.
    void note(const LaunchOrigin* launch);
    const LaunchOrigin* origin() const;

  private:
    CudaDevice& device_;
    mutable std::mutex mutex_;
    std::vector<Address> blocks_;
    std::vector<std::shared_ptr<const void>> objects_;
    std::vector<const LaunchOrigin*> launches_;  // each once
};

// Allows this thread, while it lives, what a capture forbids to be done beside it: none of it becomes part of that.
class OutsideCapture {
  public:
    OutsideCapture();
    ~OutsideCapture();
    OutsideCapture(const OutsideCapture&) = delete;
    OutsideCapture& operator=(const OutsideCapture&) = delete;

  private:
    int mode_;
};

}  // namespace weft::runtime::cuda
