// What the emitters must know of the machine that they write code for: one class a target, in the target's folder.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <string_view>

#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

struct ModuleContext;

class Machine {
  public:
    virtual ~Machine() = default;

    // Whether it converts float16 itself.
    virtual bool has_half_instructions() const = 0;
    // Whether numbers may lie at any address; else at multiples of their size.
    virtual bool takes_unaligned() const = 0;
    // Whether its atomics take numbers at any address, if `takes_unaligned`; else such updates wait for each other.
    virtual bool updates_unaligned() const = 0;
    // Whether a launch can say that no other thread comes between (LaunchShape::exclusive).
    virtual bool has_exclusive_launches() const = 0;
    // Whether gathers of vectors of its full size are quicker than loads of a few numbers each and shuffles.
    virtual bool has_fast_gathers() const { return false; }
    // Whether device/maths.h computes float32 maths; else every function has a symbol of its own.
    virtual bool uses_device_maths() const = 0;

    // The symbol of a function of C's maths library ("sinf", "fmod").
    virtual std::string math_symbol(std::string_view c_name) const = 0;
    // Whether who loads the code finds `symbol`: else the device library must have it.
    virtual bool is_bound_at_load(std::string_view symbol) const = 0;

    // Whether the loader sets this variable of the device library: it stays visible.
    virtual bool is_set_at_load(std::string_view variable) const = 0;

    // One number of float32 or float64 truncated to i32 or (`wide`) i64: what does not fit becomes the least number.
    virtual llvm::Value* to_integer(llvm::IRBuilder<>& builder, llvm::Value* number, bool wide) const = 0;
    // Prints `arguments`, promoted as C's variadic ones are, by a format of printf.
    virtual void print(llvm::IRBuilder<>& builder, llvm::Constant* format,
                       llvm::ArrayRef<llvm::Value*> arguments) const = 0;
    // Reports that an assert of this item failed: the format of its message and the i64 numbers for it. Returns.
    virtual void assert_failed(llvm::IRBuilder<>& builder, llvm::Constant* format, llvm::Value* shape,
                               llvm::Value* item, llvm::ArrayRef<llvm::Value*> numbers) const = 0;

    // Adds numbers of float32 that lie one after the other, each at once, to memory that all threads see; `alignment`:
    // what the address is a multiple of. False: it has no instruction for several, and nothing is emitted.
    virtual bool add_together(ModuleContext& /*module*/, llvm::IRBuilder<>& /*builder*/, llvm::Value* /*address*/,
                              llvm::ArrayRef<llvm::Value*> /*numbers*/, int64_t /*alignment*/) const {
        return false;
    }

    // How a kernel is entered: the exported function of that name, and its body around the items.
    virtual llvm::Function* declare_kernel(ModuleContext& module, const ir::Function& kernel) const = 0;
    virtual void emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const = 0;
};

// The function of that name, declared when it is not there.
llvm::Function* declared(llvm::Module& module, std::string_view name, llvm::FunctionType* type);

}  // namespace weft::codegen::llvm_backend
