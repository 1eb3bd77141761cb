// Branches and loops inside a captured graph: a node whose body runs by a value in the device's memory.
#pragma once

#include "runtime/cuda/stream.h"

namespace weft::runtime::cuda {

class Conditional {
  public:
    // Whether the driver has such nodes (CUDA 12.4).
    static bool is_supported();
    // Adds a node to the capture of `stream`: its body runs if the int32 at `condition` is not zero by then (`flip`: if
    // it is zero), once or, of a loop, for as long as that holds.
    Conditional(const Stream& stream, Address condition, bool loop, bool flip);
    // The body is what `stream` gets between the two.
    void begin(const Stream& stream) const;
    void end(const Stream& stream) const;

  private:
    void set_from_memory(const Stream& stream) const;

    CudaDevice& device_;
    Address condition_;
    bool loop_;
    bool flip_;
    uint64_t handle_ = 0;
    GraphHandle body_ = nullptr;  // belongs to the graph
};

}  // namespace weft::runtime::cuda
