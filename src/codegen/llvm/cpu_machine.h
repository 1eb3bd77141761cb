// The machine that this process runs on, as the emitters see it.
#pragma once

#include "codegen/llvm/machine.h"

namespace weft::codegen::llvm_backend {

class CpuMachine final : public Machine {
  public:
    // So many items run side by side where that is possible; a power of two. Unless `exactly`, some kernels take more.
    CpuMachine(int lanes, bool exactly) : lanes_(lanes), exactly_(exactly) {}

    bool has_half_instructions() const override;
    bool takes_unaligned() const override { return true; }
    bool updates_unaligned() const override;
    bool has_exclusive_launches() const override { return true; }
    bool has_fast_gathers() const override;
    bool uses_device_maths() const override { return true; }
    std::string math_symbol(std::string_view c_name) const override { return std::string(c_name); }
    bool is_bound_at_load(std::string_view symbol) const override;
    bool is_set_at_load(std::string_view) const override { return false; }
    llvm::Value* to_integer(llvm::IRBuilder<>& builder, llvm::Value* number, bool wide) const override;
    void print(llvm::IRBuilder<>& builder, llvm::Constant* format,
               llvm::ArrayRef<llvm::Value*> arguments) const override;
    void assert_failed(llvm::IRBuilder<>& builder, llvm::Constant* format, llvm::Value* shape, llvm::Value* item,
                       llvm::ArrayRef<llvm::Value*> numbers) const override;
    // Of the type KernelEntry (codegen/backend.h).
    llvm::Function* declare_kernel(ModuleContext& module, const ir::Function& kernel) const override;
    void emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const override;

  private:
    int lanes_;
    bool exactly_;
};

}  // namespace weft::codegen::llvm_backend
