#include "runtime/kernel.h"

#include <chrono>

#include "ad/forward.h"
#include "ad/reverse.h"
#include "base/error.h"
#include "codegen/compile.h"
#include "opt/opt.h"
#include "runtime/runtime.h"

namespace weft::runtime {

// ---- code of one direction ----

Code::Code(std::shared_ptr<ir::Module> module, const std::string& kernel, const KernelOptions& options) {
    ir::Function* function = module->find(kernel);
    WEFT_CHECK(function != nullptr, "no kernel " + kernel);
    own_elements_ = opt::own_elements(*module, *function);
    module_ = std::move(module);
    const std::vector<int64_t> offsets = codegen::parameter_offsets(*function);
    const std::vector<Access> access = parameter_access(*module_, *function);
    for (size_t i = 0; i < access.size(); ++i) {
        const ir::Value& value = *function->parameters()[i];
        parameters_.push_back({value.name, value.type, offsets[i], access[i]});
    }
    block_bytes_ = offsets.back();
    for (const auto& reached : module_->functions) {
        ir::walk(reached->body, [&](const ir::Op& op) {
            if (op.code != ir::Opcode::Atomic || op.text == opt::kOwnElement) return;
            const ir::Type type = op.operands[1]->type;
            shared_atomics_ += type.is_aggregate() ? type.part_count() : 1;
        });
    }
    uses_thread_index_ = contains(*module_, *function, ir::Opcode::ThreadIndex);
    has_assertions_ = contains(*module_, *function, ir::Opcode::Assert);
    loaded_ = Runtime::get().compiler().request(module_, kernel, options.backend, options.codegen);
}

codegen::KernelEntry Code::wait() {
    const codegen::KernelEntry entry = loaded_->wait();
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
        may_overwrite_own_inputs_ |= p.access.read && p.access.write && p.type.is_differentiable();
    }
}

Code& KernelInstance::adjoint() {
    const std::lock_guard lock(mutex_);
    if (adjoint_ == nullptr) {
        std::shared_ptr<ir::Module> module = codegen::prepare(*module_);
        std::vector<int> restored;
        const std::string adjoint = ad::add_adjoint(*module, name_, &restored);
        opt::keep_reachable(*module, adjoint);
        const ir::Function& kernel = *module_->find(name_);
        std::vector<int> gradients;
        for (size_t i = 0; i < kernel.parameters().size(); ++i) {
            const ir::Type type = kernel.parameters()[i]->type;
            if (type.contains_array() && type.is_differentiable()) gradients.push_back(static_cast<int>(i));
        }
        auto code = std::make_unique<Code>(module, adjoint, options_);
        WEFT_CHECK(code->parameters().size() == kernel.parameters().size() + gradients.size(),
                   "the adjoint's parameters are not as agreed");
        gradient_parameters_ = std::move(gradients);
        restored_ = std::move(restored);
        adjoint_ = std::move(code);
    }
    return *adjoint_;
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
    instances_.emplace(std::vector<const void*>(), std::move(only));
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

KernelInstance& Kernel::instance(std::span<const ir::Type> types) {
    const std::lock_guard lock(mutex_);
    const bool generic = is_generic();
    std::vector<const void*> key;
    if (generic) {
        for (const ir::Type type : types) key.push_back(type.identity());
    }
    std::unique_ptr<KernelInstance>& slot = instances_[key];
    if (slot == nullptr) {
        const auto start = std::chrono::steady_clock::now();
        frontend::LoweringOptions lowering;
        lowering.max_unroll = options_.max_unroll;
        lowering.assertions = options_.assertions;
        lowering.checks = options_.checks;
        lowering.verify_fp = options_.verify_fp;
        lowering.kernel_name = name_;
        std::unique_ptr<ir::Module> module =
            frontend::lower_kernel(*source_, generic ? types : std::span<const ir::Type>{}, lowering);
        ad::expand_gradients(*module);
        // What the front end takes for assigned and is not would hide where arrays come from.
        opt::unchanged_values(*module);
        opt::dead_code(*module);
        const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
        slot = std::make_unique<KernelInstance>(name_, std::move(module), options_, elapsed.count());
        if (generic) {
            instance_types_.emplace_back(types.begin(), types.end());
        } else {
            single_.store(slot.get(), std::memory_order_release);
        }
    }
    return *slot;
}

}  // namespace weft::runtime
