#include "codegen/llvm/target.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "codegen/llvm/fatal_errors.h"

namespace weft::codegen::llvm_backend {
namespace {

// What LLVM is told of the processor, and what our emitters ask.
struct Processor {
    std::string name;
    std::string features;
    bool half_instructions = false;
    int lanes = 1;
};

#if defined(__x86_64__)

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

void initialize_target() {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();  // for inline assembly in native snippets
}

Processor this_processor() {
    Processor out;
    out.name = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
        if (!out.features.empty()) out.features += ',';
        out.features += (feature.second ? "+" : "-") + feature.first().str();
        if (feature.first() == "avx512vl" && feature.second) out.lanes = 16;
        if (feature.first() == "avx2" && feature.second) out.lanes = std::max(out.lanes, 8);
        if (feature.first() == "f16c") out.half_instructions = feature.second;
    }
    return out;
}

#else

constexpr const char* kTriple = "aarch64-unknown-linux-gnu";

void initialize_target() {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();  // for inline assembly in native snippets
    // This pass drops the answer of exclusive stores to whether they took place, and with it sums of floats that
    // several threads add to (LLVM's issue 150988). It only saves registers.
    auto& options = llvm::cl::getRegisteredOptions();
    const auto option = options.find("aarch64-enable-dead-defs");
    WEFT_CHECK(option != options.end(), "LLVM has no option to leave out dead definitions");
    static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(false);
}

// By features alone: virtual machines hide some of those that the processor's name stands for. Four lanes are part of
// the architecture; two registers a vector hide more of what instructions wait for. SVE is left out, as no code for it
// was ever run.
Processor this_processor() {
    Processor out{"generic", "-sve", true, 8};
    for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
        if (feature.first().starts_with("sve")) continue;
        out.features += (feature.second ? ",+" : ",-") + feature.first().str();
    }
    return out;
}

#endif

struct Host {
    const llvm::Target* target = nullptr;
    Processor processor;
    std::mutex mutex;
    std::vector<std::unique_ptr<llvm::TargetMachine>> idle[2];

    Host() {
        handle_fatal_errors();
        initialize_target();
        std::string error;
        target = llvm::TargetRegistry::lookupTarget(kTriple, error);
        WEFT_CHECK(target != nullptr, error);
        processor = this_processor();
    }
};

Host& host() {
    static Host instance;
    return instance;
}

}  // namespace

bool HostTarget::has_half_instructions() { return host().processor.half_instructions; }

int HostTarget::lanes() { return host().processor.lanes; }

const char* HostTarget::triple() { return kTriple; }

bool HostTarget::has_fast_gathers() {
#if defined(__x86_64__)
    static const bool fast = [] {
        // Where microcode keeps gathers from telling of others' data, they take several times as long.
        std::ifstream file("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling");
        std::string state;
        std::getline(file, state);
        HostTarget target(1);
        return !state.starts_with("Mitigation") &&
               target.machine().getMCSubtargetInfo()->checkFeatures("+avx512vl,+fast-gather");
    }();
    return fast;
#else
    return false;
#endif
}

HostTarget::HostTarget(int optimize) : optimize_(optimize > 0 ? 1 : 0) {
    Host& h = host();
    {
        const std::lock_guard lock(h.mutex);
        auto& idle = h.idle[optimize_];
        if (!idle.empty()) {
            machine_ = std::move(idle.back());
            idle.pop_back();
            return;
        }
    }
    llvm::TargetOptions options;
    options.EnableFastISel = optimize_ == 0;
    machine_.reset(h.target->createTargetMachine(
        kTriple, h.processor.name, h.processor.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
        optimize_ > 0 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
    WEFT_CHECK(machine_ != nullptr, "no target machine");
}

HostTarget::~HostTarget() {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    h.idle[optimize_].push_back(std::move(machine_));
}

void HostTarget::configure(llvm::Module& module) {
    module.setTargetTriple(kTriple);
    module.setDataLayout(machine_->createDataLayout());
}

std::string HostTarget::emit(llvm::Module& module, bool as_text) {
    llvm::SmallString<0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    const auto type = as_text ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    WEFT_CHECK(!machine_->addPassesToEmitFile(passes, stream, nullptr, type, true), "the target emits no objects");
    passes.run(module);
    return std::string(bytes.str());
}

}  // namespace weft::codegen::llvm_backend
