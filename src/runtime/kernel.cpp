#include "runtime/kernel.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_set>

#include "ad/forward.h"
#include "ad/reverse.h"
#include "base/error.h"
#include "builtins/textures.h"
#include "codegen/compile.h"
#include "ir/layout.h"
#include "opt/in_loop.h"
#include "opt/opt.h"
#include "runtime/image.h"
#include "runtime/runtime.h"

namespace weft::runtime {

// ---- code of one direction ----

Location Code::location() const {
    const ir::Function& function = *module_->find(name_);
    if (function.location) return function.location;
    for (const ir::Op* op : function.body.ops) {
        if (op->location) return op->location;
    }
    return {};
}

Code::Code(std::shared_ptr<ir::Module> module, const std::string& kernel, const KernelOptions& options) {
    ir::Function* function = module->find(kernel);
    WEFT_CHECK(function != nullptr, "no kernel " + kernel);
    own_elements_ = opt::own_elements(*module, *function);
    module_ = std::move(module);
    const std::vector<int64_t> offsets = codegen::parameter_offsets(*function);
    const std::vector<Access> access = parameter_access(*module_, *function);
    const bool extents = contains(*module_, *function, ir::Opcode::Shape);
    const bool strides = contains(*module_, *function, ir::Opcode::Stride);
    for (size_t i = 0; i < access.size(); ++i) {
        const ir::Value& value = *function->parameters()[i];
        parameters_.push_back(
            {value.name, value.type, offsets[i], access[i], extents, strides, builtins::contains_texture(value.type)});
        if (value.type.is(ir::TypeKind::Array)) {
            arrays_.push_back({offsets[i], ir::size_of(value.type.target()), value.type.ndim(), access[i].write});
        }
    }
    block_bytes_ = offsets.back();
    for (const auto& reached : module_->functions) count_atomics(*reached);
    uses_thread_index_ = contains(*module_, *function, ir::Opcode::ThreadIndex);
    // Snippets may wait for threads that never come, which is reported as an assert is.
    has_assertions_ =
        contains(*module_, *function, ir::Opcode::Assert) || contains(*module_, *function, ir::Opcode::Snippet);
    name_ = kernel;
    backend_ = options.backend;
    options_ = options.codegen;
    fuse_on_gpu_ = options.fuse_on_gpu;
    deterministic_ = options.deterministic;
    architecture_suffix_ = options.architecture_suffix;
    cluster_ = options.cluster;
}

namespace {

// Turns that a loop is taken to have where nothing is known.
constexpr int64_t kTurns = 16;

}  // namespace

void Code::count_atomics(const ir::Function& function) {
    std::unordered_set<const ir::Value*> used;
    ir::walk(function.body, [&](const ir::Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    ir::walk(function.body, [&](const ir::Op& op) {
        // Snippets may have atomics of their own.
        if (op.code == ir::Opcode::Snippet) ordered_ |= op.text.find("tomic") != std::string::npos;
        if (op.code != ir::Opcode::Atomic || ir::local_array_of(op.operands[0]) != nullptr) return;
        const ir::Type type = op.operands[1]->type;
        const bool own = op.text == opt::kOwnElement;
        const int numbers = type.is_aggregate() ? type.part_count() : 1;
        if (!own) shared_atomics_ += numbers;
        if (!own) shared_updates_ += numbers * (opt::in_loop(op) ? kTurns : 1);
        const bool last_wins = op.atomic() == ir::AtomicKind::Exchange;
        const bool ordered = last_wins || type.has_float_elements() || used.contains(op.result());
        (own ? ordered_own_ : ordered_) |= ordered;
    });
}

bool Code::deterministic() const { return deterministic_ || Runtime::get().deterministic(); }

const codegen::GpuPlan& Code::gpu_plan() {
    std::call_once(planned_, [&] { gpu_plan_ = codegen::plan_for_gpu(*module_, *module_->find(name_)); });
    return gpu_plan_;
}

codegen::Promise Code::promise(const std::byte* arguments, const codegen::LaunchShape& shape, int64_t threads) {
    using enum codegen::Promise;
    const codegen::GpuPlan& plan = gpu_plan();
    if (plan.coordinates != 0 && shape.ndim > plan.coordinates) return None;
    if (!plan.sums.empty() && threads % codegen::kWarp != 0) return None;
    const auto is_bounded = [](int64_t extent) { return extent < codegen::kBoundedExtent; };
    struct Span {
        int64_t begin, end;
        bool written;
    };
    std::array<Span, 32> spans;
    size_t count = 0;
    bool narrow = plan.narrows && arrays_.size() <= spans.size() && std::ranges::all_of(shape.dims, is_bounded);
    const auto number = [&](int64_t offset) {
        int64_t value = 0;
        std::memcpy(&value, arguments + offset, sizeof(value));
        return value;
    };
    for (const GivenArray& array : arrays_) {
        const int64_t address = number(array.offset);
        if (address == 0) continue;  // nothing is reached through its strides
        if (address % codegen::kDenseAlignment != 0) return None;
        int64_t stride = array.element_size;
        for (int d = array.ndim - 1; d >= 0; --d) {
            if (number(array.offset + ir::descriptor_stride_offset(array.ndim, d)) != stride) return None;
            const int64_t extent = number(array.offset + ir::descriptor_shape_offset(d));
            narrow = narrow && is_bounded(extent);
            stride *= extent;
        }
        narrow = narrow && stride <= INT32_MAX;
        if (narrow) spans[count++] = {address, address + stride, array.written};
    }
    for (size_t i = 0; i < count && narrow; ++i) {
        for (size_t k = 0; k < i && narrow; ++k) {
            const bool meet = spans[i].begin < spans[k].end && spans[k].begin < spans[i].end;
            narrow = !meet || (!spans[i].written && !spans[k].written);
        }
    }
    return narrow ? Narrow : Dense;
}

codegen::Options options_for_gpu(codegen::Options options, bool fuse, const std::string& architecture,
                                 codegen::Promise promise) {
    options.architecture = architecture;
    options.dense = promise != codegen::Promise::None;
    options.narrow = promise == codegen::Promise::Narrow;
    options.contract |= fuse;
    return options;
}

std::shared_ptr<LoadedKernel> Code::loaded(const Device& device, codegen::Promise promise) {
    const bool on_host = device.capabilities().host_memory;
    const std::lock_guard lock(mutex_);
    auto& slot = loaded_[device.backend() + " " + device.architecture() +
                         (promise == codegen::Promise::Narrow  ? " narrow"
                          : promise == codegen::Promise::Dense ? " dense"
                                                               : "")];
    // What failed may have wanted for memory.
    if (slot == nullptr || slot->failed()) {
        codegen::Options options = options_;
        options.architecture = device.architecture();
        if (!on_host) {
            options = options_for_gpu(options_, fuse_on_gpu_, device.architecture() + architecture_suffix_, promise);
        }
        const Compiled* before = on_host && offered_ ? &*offered_ : nullptr;
        slot =
            Runtime::get().compiler().request(module_, name_, on_host ? backend_ : device.backend(), options, before);
    }
    return slot;
}

Compiled Code::compiled() const {
    codegen::Options options = options_;
    options.architecture = devices().front()->architecture();
    return Runtime::get().compiler().compiled(*module_, backend_, options);
}

std::shared_ptr<LoadedKernel> Code::loaded() { return loaded(*devices().front()); }

bool Code::is_compiled() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(loaded_, [](const auto& entry) { return entry.second->ready(); });
}

codegen::KernelEntry Code::wait() {
    const std::shared_ptr<LoadedKernel> code = loaded();
    const codegen::KernelEntry entry = code->wait();
    runs_blocks_.store(code->image().find(codegen::kRunsBlocks) != nullptr, std::memory_order_relaxed);
    entry_.store(entry, std::memory_order_release);
    return entry;
}

// ---- instances ----

KernelInstance::KernelInstance(std::string name, std::unique_ptr<ir::Module> module, const KernelOptions& options,
                               double lower_milliseconds)
    : name_(std::move(name)), options_(options), lower_milliseconds_(lower_milliseconds) {
    std::shared_ptr<ir::Module> shared = std::move(module);
    forward_ = std::make_unique<Code>(shared, name_, options_);
    module_ = std::move(shared);
    for (const Parameter& p : forward_->parameters()) {
        may_need_more_ |= p.access.read && p.access.write;
    }
}

std::unique_ptr<KernelInstance::Gathered> KernelInstance::gather(const ir::Module& adjoint_module,
                                                                 const std::string& adjoint) const {
    KernelOptions options = options_;
    options.cluster = 1;  // they run over other numbers of items than the user has chosen
    const auto kernel = [&](const ir::Module& module, const std::string& name) {
        std::shared_ptr<ir::Module> own = codegen::prepare(module);
        opt::keep_reachable(*own, name);
        return std::make_unique<Code>(std::move(own), name, options);
    };
    const std::unique_ptr<ir::Module> module = codegen::prepare(adjoint_module);
    opt::keep_reachable(*module, adjoint);
    opt::inline_calls(*module, *module->find(adjoint));
    std::optional<ad::Gather> plan = ad::add_gather(*module, adjoint);
    if (!plan) return nullptr;
    auto made = std::make_unique<Gathered>();
    made->main = kernel(*module, plan->main);
    made->rest = kernel(*module, plan->rest);
    made->plan = std::move(*plan);
    return made;
}

Code& KernelInstance::adjoint() {
    if (Code* made = adjoint_made_.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(mutex_);
    if (adjoint_ == nullptr) {
        std::shared_ptr<ir::Module> module = codegen::prepare(*module_);
        ad::AdjointNeeds needs;
        needs.restored = overlapping_parameters_;
        const std::string adjoint = ad::add_adjoint(*module, name_, &needs);
        std::unique_ptr<Code> logged;
        if (needs.results > 0) {
            std::shared_ptr<ir::Module> other = codegen::prepare(*module);
            opt::keep_reachable(*other, name_ + ".logged");
            logged = std::make_unique<Code>(std::move(other), name_ + ".logged", options_);
        }
        std::unique_ptr<Gathered> gathered;
        if (needs.restored.empty() && needs.results == 0 && needs.extremes.empty()) gathered = gather(*module, adjoint);
        opt::keep_reachable(*module, adjoint);
        const ir::Function& kernel = *module_->find(name_);
        std::vector<int> gradients;
        for (size_t i = 0; i < kernel.parameters().size(); ++i) {
            const ir::Type type = kernel.parameters()[i]->type;
            if (type.contains_array() && type.is_differentiable()) gradients.push_back(static_cast<int>(i));
        }
        auto code = std::make_unique<Code>(module, adjoint, options_);
        WEFT_CHECK(
            code->parameters().size() == kernel.parameters().size() + gradients.size() + (needs.results > 0 ? 1 : 0),
            "the adjoint's parameters are not as agreed");
        gradient_parameters_ = std::move(gradients);
        needs_ = std::move(needs);
        logged_ = std::move(logged);
        gathered_ = std::move(gathered);
        adjoint_ = std::move(code);
        adjoint_made_.store(adjoint_.get(), std::memory_order_release);
    }
    return *adjoint_;
}

KernelInstance& KernelInstance::overlapping(const std::vector<int>& parameters) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<KernelInstance>& made = overlapping_[parameters];
    if (made == nullptr) {
        made = std::make_unique<KernelInstance>(name_, codegen::prepare(*module_), options_, 0.0);
        made->overlapping_parameters_ = parameters;
        made->may_need_more_ = true;
    }
    return *made;
}

std::unique_ptr<KernelInstance> KernelInstance::tangent() const {
    const auto start = std::chrono::steady_clock::now();
    std::unique_ptr<ir::Module> module = codegen::prepare(*module_);
    const std::string tangent = ad::add_tangent(*module, name_);
    opt::keep_reachable(*module, tangent);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    return std::make_unique<KernelInstance>(tangent, std::move(module), options_, elapsed.count());
}

Kernel::Kernel(std::string name, std::shared_ptr<const frontend::FunctionSource> source, KernelOptions options)
    : name_(std::move(name)), source_(std::move(source)), options_(std::move(options)) {}

Kernel::Kernel(std::unique_ptr<KernelInstance> only)
    : name_(only->name()), options_(only->options()), has_signature_(true) {
    for (const Parameter& parameter : only->forward().parameters()) {
        signature_.push_back({parameter.name, parameter.type, false});
    }
    single_.store(only.get(), std::memory_order_release);
    instances_.emplace(Key(), std::move(only));
}

const std::vector<frontend::ParameterInfo>& Kernel::signature() {
    if (has_signature_.load(std::memory_order_acquire)) return signature_;
    const std::lock_guard lock(mutex_);
    if (!has_signature_.load(std::memory_order_relaxed)) {
        signature_ = frontend::signature(*source_);
        for (const frontend::ParameterInfo& parameter : signature_) generic_ |= !parameter.type.is_exact();
        has_signature_.store(true, std::memory_order_release);
    }
    return signature_;
}

bool Kernel::is_generic() {
    signature();
    return generic_;
}

std::vector<std::vector<ir::Type>> Kernel::instance_types() {
    const std::lock_guard lock(mutex_);
    return instance_types_;
}

bool Kernel::is_compiled() {
    const std::lock_guard lock(mutex_);
    const auto ready = [](const auto& entry) { return entry.second->is_compiled(); };
    return !instances_.empty() && std::ranges::all_of(instances_, ready);
}

std::set<int> Kernel::block_dims() {
    const std::lock_guard lock(mutex_);
    return block_dims_;
}

void Kernel::note(KernelInstance& instance, int depends_on, int block_dim) {
    block_dims_.insert(block_dim);
    if (depends_on != 0 || generic_) return;
    for_all_blocks_.store(&instance, std::memory_order_release);
    if (block_dim == 1) single_.store(&instance, std::memory_order_release);
}

KernelInstance& Kernel::instance(std::span<const ir::Type> types, int block_dim) {
    const std::lock_guard lock(mutex_);
    const bool generic = is_generic();
    if (!generic) types = {};
    Key key;
    for (const ir::Type type : types) key.first.push_back(type.identity());
    for (const int size : {0, block_dim}) {
        key.second = size;
        const auto found = instances_.find(key);
        if (found == instances_.end()) continue;
        note(*found->second, key.second, block_dim);
        return *found->second;
    }
    const auto start = std::chrono::steady_clock::now();
    bool uses_block_dim = false;
    frontend::LoweringOptions lowering;
    lowering.max_unroll = options_.max_unroll;
    lowering.assertions = options_.assertions;
    lowering.checks = options_.checks;
    lowering.verify_fp = options_.verify_fp;
    lowering.block_dim = block_dim;
    lowering.uses_block_dim = &uses_block_dim;
    lowering.kernel_name = name_;
    std::unique_ptr<ir::Module> module = frontend::lower_kernel(*source_, types, lowering);
    ad::expand_gradients(*module);
    // What the front end takes for assigned and is not would hide where arrays come from.
    opt::unchanged_values(*module);
    opt::dead_code(*module);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    auto made = std::make_unique<KernelInstance>(name_, std::move(module), options_, elapsed.count());
    KernelInstance& instance = *made;
    key.second = uses_block_dim ? block_dim : 0;
    instances_[key] = std::move(made);
    if (generic) {
        const std::vector<ir::Type> list(types.begin(), types.end());
        if (std::ranges::find(instance_types_, list) == instance_types_.end()) instance_types_.push_back(list);
    }
    // Compiled in the background while the launch goes on.
    instance.forward().loaded(Runtime::get().default_device());
    note(instance, key.second, block_dim);
    return instance;
}

}  // namespace weft::runtime
