// Loads that a write to another array does not change.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/IR/Function.h>

namespace weft::codegen::llvm_backend {

// Says of the accesses through these addresses, each of an array, that they do not meet: the launch promises it where
// one of two is written (Options::narrow).
void say_apart(llvm::Function& kernel, llvm::ArrayRef<llvm::Value*> arrays);

}  // namespace weft::codegen::llvm_backend
