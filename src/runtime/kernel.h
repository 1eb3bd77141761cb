// A user's kernel: its source, the instances lowered from it (one for each set of argument types), and the compiled
// code of each, forward and adjoint. Lowering and compiling happen on demand; what failed leaves nothing behind. Not
// here: packing arguments (bind) and running (launch.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ad/gather.h"
#include "ad/reverse.h"
#include "codegen/backend.h"
#include "codegen/gpu_plan.h"
#include "frontend/lower.h"
#include "ir/ir.h"
#include "opt/opt.h"
#include "runtime/code_summary.h"
#include "runtime/compiler.h"
#include "runtime/device.h"
#include "runtime/kernel_memory.h"
#include "runtime/lazy_module.h"

namespace weft::runtime {

struct KernelOptions {
    bool enable_backward = true;
    int max_unroll = 16;
    bool assertions = false;
    bool checks = false;     // indices and divisors
    bool verify_fp = false;  // stored floats
    std::string backend;     // "": the device's
    codegen::Options codegen;
    bool deterministic = false;  // launches give the same bits whatever threads do
    bool fuse_on_gpu = true;     // a * b + c is one rounding there, as users of GPUs expect; CPUs: codegen.contract
    std::string architecture_suffix;  // of code for GPUs: "a" for what only one machine has
    int cluster = 1;                  // thread blocks of a cluster, on GPUs that have them (cuda/clusters.h)
    bool operator==(const KernelOptions&) const = default;
};

// The options of code for a GPU, for launches that keep a promise.
codegen::Options options_for_gpu(codegen::Options options, bool fuse, const std::string& architecture,
                                 codegen::Promise promise);

// How a kernel is compiled for some launches on a GPU.
struct GpuForm {
    std::string backend;
    codegen::Options options;
};

namespace cuda {
struct LaunchOrigin;
}  // namespace cuda

// Code for one direction: how arguments are laid out, and the entry once it is compiled.
class Code {
  public:
    Code(std::shared_ptr<ir::Module> module, const std::string& kernel, const KernelOptions& options);
    // Of which the launches' part is known already.
    Code(std::shared_ptr<const LazyModule> module, CodeSummary summary, const std::string& kernel,
         const KernelOptions& options);
    // Code that was compiled before, for the host.
    void offer(Compiled compiled) { offered_ = std::move(compiled); }
    // The host's without places in the program, compiled now if it is in no cache.
    Compiled compiled() const;

    const std::string& name() const { return name_; }
    const std::string& backend() const { return backend_; }
    const codegen::Options& options() const { return options_; }
    const CodeSummary& summary() const { return summary_; }
    const std::vector<Parameter>& parameters() const { return summary_.parameters; }
    int64_t block_bytes() const { return summary_.block_bytes; }
    bool uses_thread_index() const { return summary_.uses_thread_index; }
    bool has_assertions() const { return summary_.has_assertions; }
    const ir::Module& module() const { return *module_->get(); }
    const std::shared_ptr<const LazyModule>& lazy_module() const { return module_; }
    // Of the kernel in the program.
    Location location() const;
    // Who launched it, for errors of GPUs that come late; null until it is loaded there.
    std::atomic<const cuda::LaunchOrigin*> origin{nullptr};
    const std::vector<opt::OwnElements>& own_elements() const { return summary_.own_elements; }

    // Takes compiled code for the host; false where it does not load.
    bool adopt(const std::string& key, std::string_view payload);

    // The host's entry if it is compiled, else null.
    codegen::KernelEntry ready() const { return entry_.load(std::memory_order_acquire); }
    // Waits for the host's; not to be called with the GIL held. Throws what the compile threw.
    codegen::KernelEntry wait();
    // The code for a device: asked for when first needed.
    // `bound`: the threads of a block that it must serve where the user has set no bound; 0: the usual ones.
    std::shared_ptr<LoadedKernel> loaded(const Device& device, codegen::Promise promise = codegen::Promise::None,
                                         int bound = 0);
    // How it runs on a GPU in launches that promise enough; what a launch of blocks of `threads` does.
    const codegen::GpuLaunch& gpu_plan();
    // What launches on a GPU of this architecture may ask for.
    std::vector<GpuForm> gpu_forms(const std::string& architecture);
    codegen::Promise promise(const std::byte* arguments, const codegen::LaunchShape& shape, int64_t threads);
    std::shared_ptr<LoadedKernel> loaded();  // the host's
    bool is_compiled();                      // for any device
    // What a device launches, for a device whose code is not the host's; null while unknown.
    std::atomic<void*>& handle(int ordinal, codegen::Promise promise, int bound) {
        const size_t form = bound > codegen::kUsualBound ? kPromises : static_cast<size_t>(promise);
        return handles_.at((kForms * static_cast<size_t>(ordinal)) + form);
    }
    bool has_handle(int ordinal) const {
        const auto first = handles_.begin() + static_cast<std::ptrdiff_t>(kForms) * ordinal;
        return std::any_of(first, first + kForms, [](const auto& handle) { return handle.load() != nullptr; });
    }

    // Whether ranges of items must be whole blocks (codegen::kRunsBlocks); known once ready() is.
    bool runs_blocks() const { return runs_blocks_.load(std::memory_order_relaxed); }

    int shared_atomics() const { return summary_.shared_atomics; }
    int64_t shared_updates() const { return summary_.shared_updates; }

    // Whether the order of items can change the bits that atomics leave: with floats, or where old values are used.
    // `owned`: own elements are each item's.
    bool depends_on_order(bool owned) const { return summary_.ordered || (!owned && summary_.ordered_own); }
    // Whether the kernel's options, or the settings, want the same bits from every launch.
    bool deterministic() const;
    bool asks_deterministic() const { return deterministic_; }  // the options alone
    int cluster() const { return cluster_; }

    // Nanoseconds an item, measured by launches (without locks, where there are shared atomics); 0 while unknown.
    std::atomic<float> item_cost{0};
    // The same for launches of kernels with shared atomics on all threads together, wall time: with locks, and with
    // private copies; and how often each was measured.
    struct WayCost {
        std::atomic<float> cost{0};
        std::atomic<int> tries{0};
    };
    WayCost together_cost;
    WayCost copies_cost;

  private:
    std::shared_ptr<const LazyModule> module_;
    CodeSummary summary_;
    bool deterministic_ = false;
    bool fuse_on_gpu_ = true;
    std::string architecture_suffix_;
    int cluster_ = 1;
    std::string name_;
    std::string backend_;  // of the host; "": its default
    codegen::Options options_;
    std::optional<Compiled> offered_;
    std::once_flag planned_;
    struct GivenArray {
        int64_t offset;
        int64_t element_size;
        int ndim;
        bool written;
    };
    std::vector<GivenArray> arrays_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<LoadedKernel>> loaded_;  // by the device's backend and architecture
    // Code without promises, dense, narrow; for blocks beyond the usual bound, where code has bounds.
    static constexpr size_t kPromises = 3;
    static constexpr size_t kForms = kPromises + 1;
    std::array<std::atomic<void*>, 32 * kForms> handles_{};
    std::atomic<codegen::KernelEntry> entry_{nullptr};
    std::atomic<bool> runs_blocks_{false};
};

class KernelInstance {
  public:
    KernelInstance(std::string name, std::unique_ptr<ir::Module> module, const KernelOptions& options,
                   double lower_milliseconds);
    // Of which the launches' part is known already.
    KernelInstance(std::string name, std::shared_ptr<const LazyModule> module, CodeSummary summary,
                   const KernelOptions& options);

    const std::string& name() const { return name_; }
    const KernelOptions& options() const { return options_; }
    Code& forward() { return *forward_; }
    // Made on first use. Throws UserError (Gradient) where the derivative is refused.
    Code& adjoint();
    // Index of the parameter whose gradient each parameter of the adjoint beyond the kernel's own is, in order.
    const std::vector<int>& gradient_parameters() const { return gradient_parameters_; }
    // What the adjoint must be given beside the arrays as they are.
    const ad::AdjointNeeds& needs() {
        adjoint();
        return needs_;
    }
    // The adjoint as a gather (ad/gather.h); null where it is none.
    struct Gathered {
        ad::Gather plan;
        std::unique_ptr<Code> main;
        std::unique_ptr<Code> rest;
    };
    Gathered* gathered() {
        adjoint();
        return gathered_.get();
    }
    // The kernel that keeps results of its atomics, where needs().results says so.
    Code& logged() {
        adjoint();
        return *logged_;
    }
    // Whether the kernel writes an array that it reads: only then can there be needs().
    bool may_need_more() const { return may_need_more_; }
    double lower_milliseconds() const { return lower_milliseconds_; }
    const ir::Module& module() const { return *module_->get(); }
    // The kernel that computes this one and its tangent (ad/forward.h), as a kernel of its own, so that it has an
    // adjoint and a tangent too. Throws UserError (Gradient) where it is refused.
    std::unique_ptr<KernelInstance> tangent() const;
    // The same kernel for launches in which the arrays of these parameters overlap in memory: they are restored
    // together.
    KernelInstance& overlapping(const std::vector<int>& parameters);
    bool is_compiled() const { return forward_->is_compiled(); }

  private:
    std::unique_ptr<Gathered> gather(const ir::Module& adjoint_module, const std::string& adjoint) const;

    std::string name_;
    KernelOptions options_;
    std::shared_ptr<const LazyModule> module_;
    std::unique_ptr<Code> forward_;
    std::recursive_mutex mutex_;
    std::unique_ptr<Code> adjoint_;
    std::atomic<Code*> adjoint_made_{nullptr};
    std::vector<int> gradient_parameters_;
    ad::AdjointNeeds needs_;
    std::unique_ptr<Code> logged_;
    std::unique_ptr<Gathered> gathered_;
    std::vector<int> overlapping_parameters_;  // of this one
    std::map<std::vector<int>, std::unique_ptr<KernelInstance>> overlapping_;
    bool may_need_more_ = false;
    double lower_milliseconds_;
};

class Kernel {
  public:
    using ReadSource = std::function<std::shared_ptr<const frontend::FunctionSource>()>;

    // The source is read when it is first needed, without the GIL. `memory` may be null.
    Kernel(std::string name, ReadSource read, KernelOptions options, std::unique_ptr<KernelMemory> memory = nullptr);
    Kernel(std::string name, std::shared_ptr<const frontend::FunctionSource> source, KernelOptions options);
    // Of an instance that was made otherwise than from a user's source: the only one, and source() is not to be called.
    explicit Kernel(std::unique_ptr<KernelInstance> only);

    const std::string& name() const { return name_; }
    const KernelOptions& options() const { return options_; }
    const frontend::FunctionSource& source();
    // The parameters as annotated. Throws UserError where one has no type. Reads annotations from Python, so that the
    // GIL must not be held: another thread may wait for it while it holds this kernel's lock.
    const std::vector<frontend::ParameterInfo>& signature();
    bool is_generic();  // likewise
    // Whether there are instances, and all that are asked for are compiled.
    bool is_compiled();

    // The only instance of a kernel that is not generic and whose code is the same for all block sizes, once it has
    // been asked for with a size of 1; else null.
    KernelInstance* single() const { return single_.load(std::memory_order_acquire); }
    // The same, asked for with any size.
    KernelInstance* for_all_blocks() const { return for_all_blocks_.load(std::memory_order_acquire); }
    // The only instance, if it is there or an earlier process has left it; null: instance() makes it. Not to be called
    // with the GIL held.
    KernelInstance* known(int block_dim);
    bool has_memory() const { return memory_ != nullptr; }
    // Begins the compile of the only instance for a launch that may come: what the program changes until then counts,
    // so that known() looks whether the code still holds. Nothing where it is generic, or where nothing would tell.
    void prepare(int block_dim);
    // Lowers on first use and asks for the forward compile. `types`: one for each parameter, for a generic kernel. Not
    // to be called with the GIL held. `block_dim`: what wp.block_dim() is.
    KernelInstance& instance(std::span<const ir::Type> types, int block_dim = 1);
    // Whether a launch on this GPU has loaded an instance.
    bool is_loaded_on(int ordinal);
    // The block sizes that instances were asked for with.
    std::set<int> block_dims();
    // The argument types of the instances made so far, in order of making: of a generic kernel.
    std::vector<std::vector<ir::Type>> instance_types();

  private:
    // The types' identities and the block size; that is 0 where the code does not depend on it.
    using Key = std::pair<std::vector<const void*>, int>;

    // An instance is asked for; `depends_on`: the block size that its code depends on, 0: none.
    void note(KernelInstance& instance, int depends_on, int block_dim);
    static Key key_of(std::span<const ir::Type> types);
    KernelInstance* made(std::span<const ir::Type> types, int block_dim);
    void list_instance(std::span<const ir::Type> types);
    struct Lowered {
        std::unique_ptr<KernelInstance> instance;
        int depends_on = 0;
        std::string questions;
    };
    // Lowers and asks for the code.
    Lowered lower(std::span<const ir::Type> types, int block_dim);
    KernelInstance& install(Lowered lowered, std::span<const ir::Type> types, int block_dim);
    // From the memory, under these types.
    KernelInstance* recall(std::span<const ir::Type> types, int block_dim);
    std::unique_ptr<KernelInstance> restore(const SourcePack::Found& found);
    void remember(const Lowered& lowered, std::span<const ir::Type> types);
    std::string entry_name(std::span<const ir::Type> types, int depends_on) const;

    std::string name_;
    ReadSource read_;
    std::shared_ptr<const frontend::FunctionSource> source_;
    KernelOptions options_;
    std::unique_ptr<KernelMemory> memory_;
    std::set<int> asked_for_;  // block sizes that known() has looked for
    Lowered prepared_;
    std::recursive_mutex mutex_;
    std::vector<frontend::ParameterInfo> signature_;
    std::atomic<bool> has_signature_{false};
    bool generic_ = false;
    std::map<Key, std::unique_ptr<KernelInstance>> instances_;
    std::set<int> block_dims_;
    std::vector<std::vector<ir::Type>> instance_types_;
    std::atomic<KernelInstance*> single_{nullptr};
    std::atomic<KernelInstance*> for_all_blocks_{nullptr};
};

}  // namespace weft::runtime
