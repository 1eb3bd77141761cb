#include "codegen/llvm/optimize.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/IndVarSimplify.h>
#include <llvm/Transforms/Scalar/InferAlignment.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "codegen/llvm/nvptx/early_loads.h"
#include "codegen/llvm/nvptx/local_atomics.h"
#include "codegen/llvm/nvptx/turns_together.h"

namespace weft::codegen::llvm_backend {

namespace {

// What passes run with.
struct Pipeline {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;

    explicit Pipeline(llvm::TargetMachine* machine) {
        llvm::PipelineTuningOptions tuning;
        tuning.SLPVectorization = false;
        llvm::PassBuilder builder(machine, tuning);
        builder.registerModuleAnalyses(modules);
        builder.registerCGSCCAnalyses(components);
        builder.registerFunctionAnalyses(functions);
        builder.registerLoopAnalyses(loops);
        builder.crossRegisterProxies(loops, functions, components, modules);
    }
};

// A thread of a GPU runs one turn after the other: several turns together hide what one of them waits for, as far as
// the target says that it pays. Wide loads are made by the code generator, which must know what addresses are multiples
// of.
void add_gpu_passes(llvm::FunctionPassManager& body) {
    llvm::LoopPassManager loops;
    loops.addPass(llvm::LoopRotatePass());
    loops.addPass(llvm::IndVarSimplifyPass());
    body.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
    body.addPass(TurnsTogetherPass());
    body.addPass(llvm::LoopUnrollPass(llvm::LoopUnrollOptions(2)));
    body.addPass(llvm::EarlyCSEPass(true));
    body.addPass(llvm::InstCombinePass());
    body.addPass(llvm::SimplifyCFGPass());
    body.addPass(llvm::InferAlignmentPass());
    body.addPass(EarlyLoadsPass());
}

}  // namespace

void inline_functions(llvm::Module& module) {
    Pipeline pipeline(nullptr);
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass(false));
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
    passes.run(module, pipeline.modules);
}

void unroll(llvm::Module& module) {
    Pipeline pipeline(nullptr);
    llvm::LoopPassManager loops;
    loops.addPass(llvm::LoopRotatePass());
    loops.addPass(llvm::IndVarSimplifyPass());
    loops.addPass(llvm::LoopFullUnrollPass());
    llvm::FunctionPassManager body;
    body.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    body.addPass(llvm::EarlyCSEPass(false));
    body.addPass(llvm::SimplifyCFGPass());
    body.addPass(llvm::InstCombinePass());
    body.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loops)));
    body.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass(false));
    passes.addPass(llvm::GlobalDCEPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(body)));
    passes.run(module, pipeline.modules);
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level) {
    Pipeline pipeline(&machine);
    llvm::FunctionPassManager body;
    body.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    if (level > 0) {
        body.addPass(llvm::EarlyCSEPass(true));
        body.addPass(llvm::InstCombinePass());
        body.addPass(llvm::SimplifyCFGPass());
        body.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
        body.addPass(llvm::GVNPass());
        body.addPass(llvm::InstCombinePass());
        body.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
        if (machine.getTargetTriple().isNVPTX()) add_gpu_passes(body);
    }
    if (machine.getTargetTriple().isNVPTX()) body.addPass(LocalAtomicsPass());
    llvm::ModulePassManager passes;
    if (level > 0) {
        passes.addPass(llvm::AlwaysInlinerPass(false));
        passes.addPass(llvm::GlobalDCEPass());
    }
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(body)));
    passes.run(module, pipeline.modules);
}

}  // namespace weft::codegen::llvm_backend
