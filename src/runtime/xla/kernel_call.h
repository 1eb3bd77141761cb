// A launch that XLA makes: which buffer each parameter of the kernel is, the values of the others, and the extents.
// Under jax.vmap the buffers have leading dimensions more than the parameters: the kernel is launched for each index of
// these.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel.h"
#include "runtime/xla/calls.h"

namespace weft::runtime::xla {

// An array of the kernel's, or of its adjoint's: the frame's buffers that it is; -1: none. Both: XLA gave one buffer
// twice, as what goes in and comes out.
struct ArraySource {
    int input = -1;
    int output = -1;
};

class KernelCall : public Call {
  public:
    // What runs on one kind of device.
    struct Target {
        KernelInstance* instance = nullptr;
        std::vector<std::byte> block;  // arguments, with the values that are not arrays
        int block_dim = 1;             // of blocks on this device
    };
    // Finds the target on the CPU, or on GPUs; called once for each, with no lock held that Python could wait for.
    using Resolve = std::function<Target(bool host)>;

    // `sources`: for each parameter of the code, none for values. `asked_block_dim`: what native snippets see; 0: the
    // default.
    KernelCall(std::string name, Resolve resolve, std::vector<std::optional<ArraySource>> sources,
               codegen::LaunchShape shape, bool adjoint, std::shared_ptr<void> keep);
    void run(const Execution& execution) override;
    // Compiles and loads for a device before it is called.
    void prepare(Device& device) override;

  private:
    Target& target(const Device& device);
    Code& code_of(Target& target) const;

    std::string name_;
    Resolve resolve_;
    std::vector<std::optional<ArraySource>> sources_;
    codegen::LaunchShape shape_;
    bool adjoint_;
    std::shared_ptr<void> keep_;
    std::mutex mutex_;
    std::optional<Target> host_;
    std::optional<Target> gpu_;
};

}  // namespace weft::runtime::xla
