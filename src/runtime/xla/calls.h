// Calls that XLA makes into Weft: JAX registers a handler once, and each traced call has a number, its attribute
// "call", by which the handler finds what to run. Not here: what kernels are called with (kernel_call.h), Python
// functions (bind/xla.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/device.h"
#include "runtime/xla/ffi_abi.h"

namespace weft::runtime::xla {

// One execution: the buffers, and where to run.
struct Execution {
    Device& device;
    void* stream;  // of the device; null on the CPU
    std::span<const Buffer* const> inputs;
    std::span<const Buffer* const> outputs;
    const Attributes* attributes;
};

class Call {
  public:
    virtual ~Call() = default;
    // On a thread of XLA's, without the GIL; several at once. What it throws becomes XLA's error.
    virtual void run(const Execution& execution) = 0;
    // Before the first execution on a device, outside any recording: what it needs is loaded.
    virtual void prepare(Device&) {}
};

// Numbers are never used twice; a call lives as long as the process, as compiled programs may name it.
int64_t add_call(std::shared_ptr<Call> call);

// Handlers for calls by number, for JAX to register: of kernels and of functions that may be recorded, and of others.
Handler* handler(bool cuda, bool recordable);

// For handlers of one call: answers XLA's question for metadata (returns true), or finds where to run and runs it.
Error* handle(CallFrame* frame, bool cuda, bool recordable, Call* call);

}  // namespace weft::runtime::xla
