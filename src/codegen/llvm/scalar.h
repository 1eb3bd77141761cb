// The meaning of ops on single numbers, as LLVM instructions: arithmetic, comparison, maths, conversion, access.
// float16 and bfloat16 are held as their 16 bits; each op widens to f32, computes, and rounds once.
// Operands may be vectors, one element a lane, all of one length (but for memory and atomics; float16 only with the
// instructions). Not here: aggregates, memory addresses and control flow (function_emitter.h).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string_view>

#include "codegen/backend.h"
#include "codegen/llvm/machine.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

// What arithmetic may do with floats under these options.
llvm::FastMathFlags math_flags(const Options& options);

class ScalarEmitter {
  public:
    ScalarEmitter(llvm::Module& module, llvm::IRBuilder<>& builder, const Machine& machine, bool fast_math);

    llvm::Type* type(ir::Scalar scalar) const;
    llvm::Constant* constant(ir::Scalar scalar, uint64_t bits) const;

    // The type of a number of this type, or of as many as `like` has.
    llvm::Type* type(ir::Scalar scalar, const llvm::Value* like) const;

    llvm::Value* unary(ir::Opcode code, ir::Scalar scalar, llvm::Value* a);
    llvm::Value* binary(ir::Opcode code, ir::Scalar scalar, llvm::Value* a, llvm::Value* b);
    llvm::Value* compare(ir::Opcode code, ir::Scalar scalar, llvm::Value* a, llvm::Value* b);
    llvm::Value* math(ir::MathFn fn, ir::Scalar scalar, llvm::ArrayRef<llvm::Value*> operands);
    llvm::Value* cast(ir::Scalar to, ir::Scalar from, llvm::Value* value);
    llvm::Value* bitcast(ir::Scalar to, ir::Scalar from, llvm::Value* value);

    // In memory a bool is a byte. `at`: what the address is a multiple of.
    llvm::Value* load(ir::Scalar scalar, llvm::Value* address, llvm::Align at);
    void store(ir::Scalar scalar, llvm::Value* value, llvm::Value* address, llvm::Align at);
    // What an atomic leaves in memory that held `old`.
    llvm::Value* updated(ir::AtomicKind kind, ir::Scalar scalar, llvm::Value* old, llvm::Value* value);
    // One number in memory, naturally aligned; gives the old value.
    llvm::Value* atomic(ir::AtomicKind kind, ir::Scalar scalar, llvm::Value* address, llvm::Value* value);

    // What an address is taken for that should be a multiple of `bytes`.
    llvm::Align alignment(int64_t bytes) const;

    // A function outside the module: declared on first use. `reads_nothing`: its result depends on arguments alone.
    llvm::FunctionCallee outside_function(std::string_view name, llvm::FunctionType* type, bool reads_nothing);

    llvm::Value* widen(ir::Scalar half, llvm::Value* bits);  // float16 or bfloat16 to f32
    llvm::Value* narrow(ir::Scalar half, llvm::Value* f32);  // back, to nearest even

  private:
    llvm::Value* integer_division(ir::Opcode code, ir::Scalar scalar, llvm::Value* a, llvm::Value* b);
    llvm::Value* float_binary(ir::Opcode code, llvm::Value* a, llvm::Value* b);
    llvm::Value* to_integer(ir::Scalar to, llvm::Value* value);
    llvm::Type* half_type(const llvm::Value* like) const;
    llvm::Value* vector_division(bool is_signed, llvm::Value* a, llvm::Value* b);
    llvm::Value* narrow_double(ir::Scalar half, llvm::Value* f64);
    llvm::Value* device_math(ir::MathFn fn, llvm::ArrayRef<llvm::Value*> operands);
    llvm::Value* call_math(std::string_view name, llvm::ArrayRef<llvm::Value*> operands);
    llvm::Function* lane_by_lane(std::string_view name, llvm::ArrayRef<llvm::Value*> operands);
    llvm::Value* exchange_loop(ir::AtomicKind kind, ir::Scalar scalar, llvm::Value* address, llvm::Value* value);

    llvm::Module& module_;
    llvm::IRBuilder<>& builder_;
    const Machine& machine_;
    bool fast_math_;
};

constexpr bool is_half(ir::Scalar s) { return s == ir::Scalar::F16 || s == ir::Scalar::BF16; }

}  // namespace weft::codegen::llvm_backend
