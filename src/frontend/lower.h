// The front end's entry: a user's kernel, as a tree, becomes a verified IR module. Neither Python nor its GIL is
// needed, beyond what the Environment asks by itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "builtins/pattern.h"
#include "frontend/environment.h"
#include "ir/ir.h"

namespace weft::frontend {

struct LoweringOptions {
    // `for` over a constant range of up to so many turns is unrolled (when its body has no break or continue of it).
    int max_unroll = 16;
    // `assert` is compiled (debug mode) or dropped (release), as the peer does.
    bool assertions = false;
    // Indices and divisors are checked while the kernel runs (safe and debug mode).
    bool checks = false;
    // What is stored in arrays of floats must be finite.
    bool verify_fp = false;
    // What wp.block_dim() is; `uses_block_dim`, if given, becomes true where the code depends on it.
    int block_dim = 1;
    bool* uses_block_dim = nullptr;
    // The kernel's threads wait for each other or share memory: its blocks are the launch's, on every device.
    bool in_blocks = false;
    // The name of the IR kernel; "" takes the function's.
    std::string kernel_name;
};

// A parameter of a kernel as the launch must know it.
struct ParameterInfo {
    std::string name;
    builtins::TypePattern type;  // exact, unless the kernel is generic
    bool has_default = false;
};

// The parameters of a kernel (or function), from its annotations. Throws UserError where one is missing or no type.
std::vector<ParameterInfo> signature(const FunctionSource& function);

// Lowers a kernel and all that it calls. `argument_types` gives the type of each parameter of a generic kernel; empty:
// all are in the annotations. The kernel is the module's last function. Throws UserError, located.
std::unique_ptr<ir::Module> lower_kernel(const FunctionSource& kernel, std::span<const ir::Type> argument_types,
                                         const LoweringOptions& options);

// Lowers one call of a builtin or user function as a kernel of its own, for calls at Python scope: its parameters are
// the arguments, then one array of one element for each result.
std::unique_ptr<ir::Module> lower_call(const Binding& callee, std::span<const ir::Type> argument_types,
                                       const LoweringOptions& options);

}  // namespace weft::frontend
