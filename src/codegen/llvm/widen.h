// Makes a function of vectors of a function of numbers, lane by lane the same: for functions of the device library that
// neither branch, call nor touch memory (device/maths.h).
#pragma once

#include <llvm/IR/Module.h>

#include <string>

namespace weft::codegen::llvm_backend {

// Up to here the functions of device/maths.h hold (kMathLimit there).
inline constexpr double kDeviceMathLimit = 1e6;

// "weft_sin_f32" for 16 lanes -> "weft_sin_f32.x16", the name of what is to be made.
std::string wide_name(const std::string& scalar, unsigned lanes);
// The function that `wide` is to be made of; empty when it is not so named.
std::string scalar_name_of(const std::string& wide);
// Fills a function declared under such a name; the other is there. InternalError where that cannot be done.
void widen(llvm::Function& wide, const llvm::Function& scalar);

}  // namespace weft::codegen::llvm_backend
