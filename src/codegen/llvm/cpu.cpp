// The backend "llvm-cpu": IR to LLVM IR to a relocatable object for this machine. Thread-safe: one context a compile.
#include <llvm/IR/LLVMContext.h>

#include "codegen/backend.h"
#include "codegen/llvm/cpu_machine.h"
#include "codegen/llvm/device_library.h"
#include "codegen/llvm/llvm_text.h"
#include "codegen/llvm/module_emitter.h"
#include "codegen/llvm/optimize.h"
#include "codegen/llvm/snippets/blocks.h"
#include "codegen/llvm/snippets/snippets.h"
#include "codegen/llvm/target.h"
#include "codegen/stages.h"

namespace weft::codegen::llvm_backend {
namespace {

class CpuBackend final : public Backend {
  public:
    std::vector<std::string> dump_kinds() const override { return {"llvm", "llvm-optimized", "asm"}; }

    std::string dump(const ir::Module& module, const Options& options, const std::string& kind) override {
        Work work(module, options, nullptr, true);
        if (kind == "llvm") return printed(*work.llvm);
        work.optimize(options);
        return kind == "llvm-optimized" ? printed(*work.llvm) : work.target.emit(*work.llvm, true);
    }

    Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) override {
        Work work(module, options, times, false);
        work.optimize(options);
        Image image{ImageFormat::Object, work.target.emit(*work.llvm, false)};
        work.stages.end("generate");
        return image;
    }

  private:
    struct Work {
        Stages stages;
        HostTarget target;
        llvm::LLVMContext context;
        std::unique_ptr<llvm::Module> llvm;

        Work(const ir::Module& module, const Options& options, std::vector<StageTime>* times, bool for_people)
            : stages(times), target(options.optimize), llvm(std::make_unique<llvm::Module>("weft", context)) {
            // Value names help people and cost time.
            context.setDiscardValueNames(!for_people);
            target.configure(*llvm);
            stages.end("target");
            const int lanes = options.lanes != 0 ? options.lanes : options.optimize > 0 ? HostTarget::lanes() : 1;
            const CpuMachine machine(lanes, options.lanes != 0);
            emit_module(module, *llvm, options, machine);
            stages.end("emit");
            link_snippets(module, *llvm, options, machine);
            use_blocks(module, *llvm);
            stages.end("snippets");
            link_device_library(*llvm, machine);
            stages.end("link");
#ifdef NDEBUG
            const bool checked = options.optimize == 0;  // the level for finding faults, ours included
#else
            const bool checked = true;
#endif
            if (checked) check_module(*llvm);
        }

        void optimize(const Options& options) {
            llvm_backend::optimize(*llvm, target.machine(), options.optimize);
            stages.end("optimize");
        }
    };
};

}  // namespace
}  // namespace weft::codegen::llvm_backend

// What libweft looks up after it has opened this library.
extern "C" __attribute__((visibility("default"))) weft::codegen::Backend* weft_codegen_cpu_backend();
weft::codegen::Backend* weft_codegen_cpu_backend() {
    static weft::codegen::llvm_backend::CpuBackend backend;
    return &backend;
}
