#include "runtime/kernel.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "ad/forward.h"
#include "ad/reverse.h"
#include "base/error.h"
#include "codegen/compile.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "opt/opt.h"
#include "runtime/image.h"
#include "runtime/runtime.h"

namespace weft::runtime {

// ---- code of one direction ----

Location Code::location() const { return location_of(*module().find(name_)); }

namespace {

CodeSummary summary_of(ir::Module& module, const std::string& kernel) {
    ir::Function* function = module.find(kernel);
    WEFT_CHECK(function != nullptr, "no kernel " + kernel);
    return summarize(module, *function);
}

}  // namespace

Code::Code(std::shared_ptr<ir::Module> module, const std::string& kernel, const KernelOptions& options)
    : Code(std::make_shared<LazyModule>(module), summary_of(*module, kernel), kernel, options) {}

Code::Code(std::shared_ptr<const LazyModule> module, CodeSummary summary, const std::string& kernel,
           const KernelOptions& options)
    : module_(std::move(module)),
      summary_(std::move(summary)),
      deterministic_(options.deterministic),
      fuse_on_gpu_(options.fuse_on_gpu),
      architecture_suffix_(options.architecture_suffix),
      cluster_(options.cluster),
      name_(kernel),
      backend_(options.backend),
      options_(options.codegen) {
    options_.line_info |= summary_.has_places;
    for (const Parameter& parameter : summary_.parameters) {
        if (!parameter.type.is(ir::TypeKind::Array)) continue;
        const ir::Type type = parameter.type;
        arrays_.push_back({parameter.offset, ir::size_of(type.target()), type.ndim(), parameter.access.write});
    }
}

bool Code::deterministic() const { return deterministic_ || Runtime::get().deterministic(); }

const codegen::GpuLaunch& Code::gpu_plan() {
    std::call_once(planned_, [&] {
        if (!summary_.gpu) summary_.gpu = codegen::plan_for_gpu(module(), *module().find(name_));
    });
    return *summary_.gpu;
}

codegen::Promise Code::promise(const std::byte* arguments, const codegen::LaunchShape& shape, int64_t threads) {
    using enum codegen::Promise;
    const codegen::GpuLaunch& plan = gpu_plan();
    if (plan.coordinates != 0 && shape.ndim > plan.coordinates) return None;
    if (plan.has_sums && threads % codegen::kWarp != 0) return None;
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

namespace {

// In names of code that a launch's promise chooses.
const char* suffix_of(codegen::Promise promise) {
    switch (promise) {
        case codegen::Promise::None:
            return "";
        case codegen::Promise::Dense:
            return " dense";
        case codegen::Promise::Narrow:
            return " narrow";
    }
    return "";
}

}  // namespace

std::vector<GpuForm> Code::gpu_forms(const std::string& architecture) {
    using enum codegen::Promise;
    std::vector<GpuForm> out;
    const std::string backend = codegen::gpu_backend(architecture);
    const auto add = [&](codegen::Promise promise, int bound) {
        GpuForm form{backend, options_for_gpu(options_, fuse_on_gpu_, architecture, promise)};
        if (form.options.max_threads == 0) form.options.max_threads = bound;
        out.push_back(std::move(form));
    };
    if (backend == codegen::kMacaBackend) {
        add(None, codegen::kUsualBound);
        if (options_.max_threads == 0) add(None, codegen::kLargestBound);
        return out;
    }
    add(None, 0);
    add(Dense, 0);
    if (gpu_plan().narrows) add(Narrow, 0);
    return out;
}

std::shared_ptr<LoadedKernel> Code::loaded(const Device& device, codegen::Promise promise, int bound) {
    const bool on_host = device.capabilities().host_memory;
    if (bound == 0) bound = device.usual_bound();
    const std::lock_guard lock(mutex_);
    auto& slot = loaded_[device.backend() + " " + device.architecture() + suffix_of(promise) +
                         (bound > 0 ? " " + std::to_string(bound) : "")];
    // What failed may have wanted for memory.
    if (slot == nullptr || slot->failed()) {
        codegen::Options options = options_;
        options.architecture = device.architecture();
        if (!on_host) {
            const std::string suffix = device.capabilities().variants ? architecture_suffix_ : "";
            options = options_for_gpu(options_, fuse_on_gpu_, device.architecture() + suffix, promise);
            if (options.max_threads == 0) options.max_threads = bound;
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
    options.line_info = summary_.has_places;
    return Runtime::get().compiler().compiled(module_, backend_, options);
}

std::shared_ptr<LoadedKernel> Code::loaded() { return loaded(*devices().front()); }

bool Code::is_compiled() {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(loaded_, [](const auto& entry) { return entry.second->ready(); });
}

bool Code::adopt(const std::string& key, std::string_view payload) {
    const Device& device = *devices().front();
    std::shared_ptr<LoadedKernel> code = Runtime::get().compiler().loaded(key, payload, name_, backend_);
    if (code == nullptr) return false;
    {
        const std::lock_guard lock(mutex_);
        loaded_[device.backend() + " " + device.architecture()] = code;
    }
    wait();
    return true;
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
    module_ = std::make_shared<LazyModule>(std::move(shared));
    for (const Parameter& p : forward_->parameters()) may_need_more_ |= p.access.read && p.access.write;
}

KernelInstance::KernelInstance(std::string name, std::shared_ptr<const LazyModule> module, CodeSummary summary,
                               const KernelOptions& options)
    : name_(std::move(name)), options_(options), module_(std::move(module)), lower_milliseconds_(0) {
    forward_ = std::make_unique<Code>(module_, std::move(summary), name_, options_);
    for (const Parameter& p : forward_->parameters()) may_need_more_ |= p.access.read && p.access.write;
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
        std::shared_ptr<ir::Module> module = codegen::prepare(this->module());
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
        const ir::Function& kernel = *this->module().find(name_);
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
        made = std::make_unique<KernelInstance>(name_, codegen::prepare(module()), options_, 0.0);
        made->overlapping_parameters_ = parameters;
        made->may_need_more_ = true;
    }
    return *made;
}

std::unique_ptr<KernelInstance> KernelInstance::tangent() const {
    const auto start = std::chrono::steady_clock::now();
    std::unique_ptr<ir::Module> module = codegen::prepare(this->module());
    const std::string tangent = ad::add_tangent(*module, name_);
    opt::keep_reachable(*module, tangent);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    return std::make_unique<KernelInstance>(tangent, std::move(module), options_, elapsed.count());
}

Kernel::Kernel(std::string name, ReadSource read, KernelOptions options, std::unique_ptr<KernelMemory> memory)
    : name_(std::move(name)), read_(std::move(read)), options_(std::move(options)), memory_(std::move(memory)) {}

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

const frontend::FunctionSource& Kernel::source() {
    const std::lock_guard lock(mutex_);
    if (source_ == nullptr) source_ = read_();
    return *source_;
}

const std::vector<frontend::ParameterInfo>& Kernel::signature() {
    if (has_signature_.load(std::memory_order_acquire)) return signature_;
    const std::lock_guard lock(mutex_);
    if (!has_signature_.load(std::memory_order_relaxed)) {
        signature_ = frontend::signature(source());
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

bool Kernel::is_loaded_on(int ordinal) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(instances_,
                               [&](const auto& entry) { return entry.second->forward().has_handle(ordinal); });
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

Kernel::Key Kernel::key_of(std::span<const ir::Type> types) {
    Key key;
    for (const ir::Type type : types) key.first.push_back(type.identity());
    return key;
}

KernelInstance* Kernel::made(std::span<const ir::Type> types, int block_dim) {
    Key key = key_of(types);
    for (const int size : {0, block_dim}) {
        key.second = size;
        const auto found = instances_.find(key);
        if (found == instances_.end()) continue;
        note(*found->second, size, block_dim);
        return found->second.get();
    }
    return nullptr;
}

KernelInstance* Kernel::known(int block_dim) {
    const std::lock_guard lock(mutex_);
    if (KernelInstance* found = made({}, block_dim)) return found;
    if (memory_ == nullptr) return nullptr;
    Lowered prepared = std::exchange(prepared_, {});
    const bool fits = prepared.depends_on == 0 || prepared.depends_on == block_dim;
    if (prepared.instance != nullptr && fits && memory_->holds(prepared.questions)) {
        return &install(std::move(prepared), {}, block_dim);
    }
    if (!asked_for_.insert(block_dim).second) return nullptr;
    return recall({}, block_dim);
}

void Kernel::prepare(int block_dim) {
    const std::lock_guard lock(mutex_);
    if (memory_ == nullptr || !instances_.empty() || prepared_.instance != nullptr) return;
    // An earlier process has left it: its launch will see.
    for (const int size : {0, block_dim}) {
        if (!memory_->pack().find(entry_name({}, size)).empty()) return;
    }
    const auto is_exact = [](const frontend::ParameterInfo& parameter) { return parameter.type.is_exact(); };
    if (!std::ranges::all_of(frontend::signature(source()), is_exact)) return;
    Lowered lowered = lower({}, block_dim);
    if (!lowered.questions.empty()) prepared_ = std::move(lowered);
}

KernelInstance& Kernel::instance(std::span<const ir::Type> types, int block_dim) {
    const std::lock_guard lock(mutex_);
    if (types.empty()) {
        if (KernelInstance* found = known(block_dim)) return *found;
    }
    if (!is_generic()) types = {};
    if (KernelInstance* found = made(types, block_dim)) return *found;
    if (!types.empty() && memory_ != nullptr) {
        if (KernelInstance* found = recall(types, block_dim)) return *found;
    }
    return install(lower(types, block_dim), types, block_dim);
}

Kernel::Lowered Kernel::lower(std::span<const ir::Type> types, int block_dim) {
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
    std::unique_ptr<ir::Module> module;
    const auto work = [&] { module = frontend::lower_kernel(source(), types, lowering); };
    Lowered out;
    if (memory_ != nullptr) {
        out.questions = memory_->watch(work);
    } else {
        work();
    }
    ad::expand_gradients(*module);
    // What the front end takes for assigned and is not would hide where arrays come from.
    opt::unchanged_values(*module);
    opt::dead_code(*module);
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    out.instance = std::make_unique<KernelInstance>(name_, std::move(module), options_, elapsed.count());
    out.depends_on = uses_block_dim ? block_dim : 0;
    // Compiled in the background while the launch goes on.
    out.instance->forward().loaded(Runtime::get().default_device());
    if (!out.questions.empty()) remember(out, types);
    return out;
}

KernelInstance& Kernel::install(Lowered lowered, std::span<const ir::Type> types, int block_dim) {
    Key key = key_of(types);
    key.second = lowered.depends_on;
    KernelInstance& instance = *(instances_[key] = std::move(lowered.instance));
    if (!types.empty()) list_instance(types);
    note(instance, lowered.depends_on, block_dim);
    return instance;
}

void Kernel::list_instance(std::span<const ir::Type> types) {
    const std::vector<ir::Type> list(types.begin(), types.end());
    if (std::ranges::find(instance_types_, list) == instance_types_.end()) instance_types_.push_back(list);
}

// ---- what earlier processes have left ----

std::string Kernel::entry_name(std::span<const ir::Type> types, int depends_on) const {
    std::string out = memory_->name();
    for (const ir::Type type : types) out += "\n" + type.str();
    return out + "\n" + std::to_string(depends_on);
}

KernelInstance* Kernel::recall(std::span<const ir::Type> types, int block_dim) {
    for (const int size : {0, block_dim}) {
        for (const SourcePack::Found& found : memory_->pack().find(entry_name(types, size))) {
            if (!memory_->holds(found.questions)) continue;
            std::unique_ptr<KernelInstance> restored = restore(found);
            if (restored == nullptr) return nullptr;
            return &install({std::move(restored), size, {}}, types, block_dim);
        }
    }
    return nullptr;
}

std::unique_ptr<KernelInstance> Kernel::restore(const SourcePack::Found& found) {
    const std::shared_ptr<SourcePack> pack = memory_->shared_pack();
    // Code for GPUs is found by the IR; so is the host's where a kernel was launched first on a GPU.
    const bool by_ir = found.key.empty() || !Runtime::get().default_device().capabilities().host_memory;
    const std::string_view payload = by_ir ? std::string_view() : pack->payload(found);
    if (payload.empty() && !by_ir) return nullptr;
    const auto module = [pack, found]() -> std::shared_ptr<const ir::Module> {
        const auto [text, files] = pack->module(found);
        return ir::parse(text, files);
    };
    try {
        ByteReader reader(found.summary);
        CodeSummary summary = read_summary(reader);
        auto lazy = std::make_shared<LazyModule>(module, std::string(reader.text()));
        auto made = std::make_unique<KernelInstance>(name_, std::move(lazy), std::move(summary), options_);
        return by_ir || made->forward().adopt(found.key, payload) ? std::move(made) : nullptr;
    } catch (const InternalError&) {
        return nullptr;  // damaged: made anew
    }
}

void Kernel::remember(const Lowered& lowered, std::span<const ir::Type> types) {
    const Device& device = Runtime::get().default_device();
    Code& code = lowered.instance->forward();
    SourcePack::Entry entry;
    entry.questions = lowered.questions;
    if (device.capabilities().host_memory) entry.key = code.loaded(device)->key();
    entry.module_text = ir::print(code.module(), {.files = &entry.files});
    ByteWriter writer;
    if (!device.capabilities().host_memory) code.gpu_plan();
    write(writer, code.summary());
    writer.add(code.lazy_module()->digest());
    entry.summary = writer.take();
    memory_->pack().add(entry_name(types, lowered.depends_on), std::move(entry));
}

}  // namespace weft::runtime
