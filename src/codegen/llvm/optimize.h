// The pipeline of LLVM passes: slim, without the SLP vectoriser (design: it costs more than all others and buys
// nothing).
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace weft::codegen::llvm_backend {

void optimize(llvm::Module& module, llvm::TargetMachine& machine, int level);

// Functions that ask for it become part of their callers, and variables of both registers.
void inline_functions(llvm::Module& module);

// Loops of known, small length are written out: what C++ text needs before it is as the emitters' own code.
void unroll(llvm::Module& module);

}  // namespace weft::codegen::llvm_backend
