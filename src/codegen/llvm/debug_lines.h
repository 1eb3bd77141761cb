// Which line of the program an instruction comes from: debug information with lines and nothing else, for profilers,
// debuggers and compute-sanitizer (Options::line_info).
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <unordered_map>

#include "base/source.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

class DebugLines {
  public:
    explicit DebugLines(llvm::Module& module);

    // Gives the function lines; the place of what it does besides its ops.
    llvm::DebugLoc begin(const ir::Function& source, llvm::Function& target);
    // A place in a function that has begun; its own line where there is none.
    llvm::DebugLoc at(const Location& location, const llvm::Function& target);
    // No function begins afterwards.
    void finish() { builder_.finalize(); }

  private:
    llvm::DIFile* file(const SourceFile& source);

    llvm::Module& module_;
    llvm::DIBuilder builder_;
    llvm::DICompileUnit* unit_ = nullptr;
    std::unordered_map<std::string, llvm::DIFile*> files_;  // by path
};

}  // namespace weft::codegen::llvm_backend
