// The backend "llvm-nvptx": IR to LLVM IR to PTX. Thread-safe: one context a compile.
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <cctype>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/llvm/device_library.h"
#include "codegen/llvm/fatal_errors.h"
#include "codegen/llvm/llvm_text.h"
#include "codegen/llvm/module_emitter.h"
#include "codegen/llvm/nvptx/libdevice.h"
#include "codegen/llvm/nvptx/nvptx_machine.h"
#include "codegen/llvm/nvptx/vector_sums.h"
#include "codegen/llvm/optimize.h"
#include "codegen/llvm/snippets/snippets.h"
#include "codegen/shared_memory.h"
#include "codegen/stages.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";
constexpr const char* kOldest = "sm_75";
// The newest that this LLVM knows; drivers compile its PTX for later machines.
constexpr int kNewest = 90;
// The one whose own instructions it knows, which no later machine has; PTX 8.0 (CUDA 12.0) does too.
constexpr const char* kWithOwnInstructions = "sm_90a";
constexpr const char* kPtxForOwnInstructions = "+ptx80";
// PTX 7.8 (CUDA 11.8) knows all of these machines; 8.1 kernels with more than 4 KiB of arguments, and
// sums of several numbers.
constexpr const char* kPtx = "+ptx78";
constexpr const char* kNewerPtx = "+ptx81";
constexpr int64_t kFewArguments = 4096 - 128;

const llvm::Target& target() {
    static const llvm::Target* const target = [] {
        handle_fatal_errors();
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
        std::string error;
        const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, error);
        WEFT_CHECK(found != nullptr, error);
        return found;
    }();
    return *target;
}

std::string processor(const Options& options) {
    const std::string& wanted = options.architecture;
    if (wanted.empty()) return kOldest;
    WEFT_CHECK(wanted.starts_with("sm_"), "no architecture " + wanted);
    if (std::isdigit(static_cast<unsigned char>(wanted.back())) == 0 && wanted != kWithOwnInstructions) {
        throw UserError(ErrorKind::Runtime, "warp.config.cuda_arch_suffix asks for code of " + wanted +
                                                ": of such code there is that of " + kWithOwnInstructions);
    }
    return std::stoi(wanted.substr(3)) > kNewest ? "sm_" + std::to_string(kNewest) : wanted;
}

class Work {
  public:
    Work(const ir::Module& module, const Options& options, std::vector<StageTime>* times, bool for_people)
        : stages_(times), options_(options), llvm_(std::make_unique<llvm::Module>("weft", context_)) {
        context_.setDiscardValueNames(!for_people);
        int64_t arguments = 0;
        for (const auto& function : module.functions) {
            if (function->kind == ir::FunctionKind::Kernel) {
                arguments = std::max(arguments, parameter_offsets(*function).back());
            }
        }
        llvm::TargetOptions target_options;
        if (options.contract) target_options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
        const std::string processor = llvm_backend::processor(options);
        const bool newer = arguments > kFewArguments || has_vector_sums(options);
        const char* version = newer ? kNewerPtx : processor == kWithOwnInstructions ? kPtxForOwnInstructions : kPtx;
        machine_.reset(target().createTargetMachine(
            kTriple, processor, version, target_options, llvm::Reloc::PIC_, std::nullopt,
            options.optimize > 0 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
        WEFT_CHECK(machine_ != nullptr, "no target machine");
        llvm_->setTargetTriple(kTriple);
        llvm_->setDataLayout(machine_->createDataLayout());
        stages_.end("target");
        const NvptxMachine machine;
        emit_module(module, *llvm_, options, machine);
        stages_.end("emit");
        link_snippets(module, *llvm_, options, machine);
        check_shared_memory(module, shared_bytes());
        stages_.end("snippets");
        link_device_library(*llvm_, machine);
        link_libdevice(*llvm_);
        stages_.end("link");
#ifdef NDEBUG
        if (options.optimize == 0) check_module(*llvm_);
#else
        check_module(*llvm_);
#endif
    }

    void optimize() {
        llvm_backend::optimize(*llvm_, *machine_, options_.optimize);
        stages_.end("optimize");
    }

    std::string ptx() {
        llvm::SmallString<0> bytes;
        llvm::raw_svector_ostream stream(bytes);
        llvm::legacy::PassManager passes;
        const auto type = llvm::CodeGenFileType::AssemblyFile;
        WEFT_CHECK(!machine_->addPassesToEmitFile(passes, stream, nullptr, type, true), "the target emits no PTX");
        passes.run(*llvm_);
        stages_.end("generate");
        return std::string(bytes.str());
    }

    const llvm::Module& llvm() const { return *llvm_; }

  private:
    // What blocks have of their own, by variables of the address space for it.
    int64_t shared_bytes() const {
        constexpr unsigned kShared = 3;
        int64_t bytes = 0;
        for (const llvm::GlobalVariable& variable : llvm_->globals()) {
            if (variable.getAddressSpace() != kShared) continue;
            bytes += static_cast<int64_t>(llvm_->getDataLayout().getTypeAllocSize(variable.getValueType()));
        }
        return bytes;
    }

    Stages stages_;
    const Options& options_;
    llvm::LLVMContext context_;
    std::unique_ptr<llvm::Module> llvm_;
    std::unique_ptr<llvm::TargetMachine> machine_;
};

class NvptxBackend final : public Backend {
  public:
    std::vector<std::string> dump_kinds() const override { return {"llvm", "llvm-optimized", "ptx"}; }

    std::string dump(const ir::Module& module, const Options& options, const std::string& kind) override {
        Work work(module, options, nullptr, true);
        if (kind == "llvm") return printed(work.llvm());
        work.optimize();
        return kind == "llvm-optimized" ? printed(work.llvm()) : work.ptx();
    }

    Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) override {
        Work work(module, options, times, false);
        work.optimize();
        return {ImageFormat::Ptx, work.ptx()};
    }
};

}  // namespace
}  // namespace weft::codegen::llvm_backend

// What libweft looks up after it has opened this library; null where the build has no libdevice.
extern "C" __attribute__((visibility("default"))) weft::codegen::Backend* weft_codegen_nvptx_backend();
weft::codegen::Backend* weft_codegen_nvptx_backend() {
    static weft::codegen::llvm_backend::NvptxBackend backend;
    return weft::codegen::llvm_backend::has_libdevice() ? &backend : nullptr;
}
