// NVIDIA GPUs, as the emitters see them.
#pragma once

#include "codegen/llvm/machine.h"

namespace weft::codegen::llvm_backend {

class NvptxMachine final : public Machine {
  public:
    bool has_half_instructions() const override { return true; }
    bool takes_unaligned() const override { return false; }
    bool updates_unaligned() const override { return false; }
    bool has_exclusive_launches() const override { return false; }
    bool uses_device_maths() const override { return false; }
    std::string math_symbol(std::string_view c_name) const override;
    bool is_bound_at_load(std::string_view symbol) const override;
    bool is_set_at_load(std::string_view variable) const override { return variable == "weft_failure"; }
    llvm::Value* to_integer(llvm::IRBuilder<>& builder, llvm::Value* number, bool wide) const override;
    void print(llvm::IRBuilder<>& builder, llvm::Constant* format,
               llvm::ArrayRef<llvm::Value*> arguments) const override;
    void assert_failed(llvm::IRBuilder<>& builder, llvm::Constant* format, llvm::Value* shape, llvm::Value* item,
                       llvm::ArrayRef<llvm::Value*> numbers) const override;
    bool add_together(ModuleContext& module, llvm::IRBuilder<>& builder, llvm::Value* address,
                      llvm::ArrayRef<llvm::Value*> numbers, int64_t alignment) const override;
    // One thread an item: nvptx/thread_entry.cpp.
    llvm::Function* declare_kernel(ModuleContext& module, const ir::Function& kernel) const override;
    void emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const override;
};

}  // namespace weft::codegen::llvm_backend
