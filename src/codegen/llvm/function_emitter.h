// Emits the body of one function: structured IR to basic blocks, every value a flat list of LLVM scalars (leaves.h).
// Not here: the kernel's loop over items (kernel_entry.cpp), the meaning of scalar ops (scalar.h).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/leaves.h"
#include "codegen/llvm/debug_lines.h"
#include "codegen/llvm/scalar.h"
#include "codegen/nonnegative.h"
#include "ir/ir.h"

namespace weft::codegen::llvm_backend {

using Scalars = llvm::SmallVector<llvm::Value*, 4>;

// What the code of an item may ask for, besides its operands. Internal functions get it as their first parameters.
struct ItemContext {
    llvm::Value* shape = nullptr;                    // const LaunchShape*
    llvm::Value* item = nullptr;                     // i64, linear index
    llvm::SmallVector<llvm::Value*, 4> coordinates;  // i32, as many as the module uses
    llvm::SmallVector<llvm::Value*, 4> wide;         // the same as i64, where that is at hand
};

struct ModuleContext {
    const ir::Module& ir;
    llvm::Module& llvm;
    const Options& options;
    const Machine& machine;
    int coordinates = 0;  // thread.index dimensions used anywhere in the module
    std::unordered_map<const ir::Function*, llvm::Function*> functions;
    std::unordered_map<ir::Type, std::vector<Leaf>> leaves;
    DebugLines* lines = nullptr;  // null: instructions do not say where they come from

    const std::vector<Leaf>& leaves_of(ir::Type type);
};

// On the loads and stores of an atomic that is done in parts, because no other thread comes between.
inline constexpr const char* kPartOfUpdate = "weft.update";

// A block that several places jump to with values.
struct Join {
    llvm::BasicBlock* block = nullptr;
    llvm::SmallVector<llvm::PHINode*, 4> phis;
};

// Whether the launch says that no other thread comes between the parts of this Atomic.
llvm::Value* is_exclusive(llvm::IRBuilder<>& builder, llvm::Value* shape, const ir::Op& atomic);
// Of the branch on it: registers are for launches that run it plainly; locks take long, whatever is around them.
llvm::MDNode* mostly_plain(llvm::LLVMContext& context);
// An Atomic's effect on one address and its old value: plain where `shape` says that no other thread comes between.
// `op` tells kind and type; goes on in another block.
Scalars emit_update(ModuleContext& module, llvm::IRBuilder<>& builder, ScalarEmitter& scalars, llvm::Value* shape,
                    const ir::Op& op, llvm::Value* address, const Scalars& values);

class FunctionEmitter {
  public:
    FunctionEmitter(ModuleContext& module, const ir::Function& source, llvm::Function& target);

    llvm::IRBuilder<>& builder() { return builder_; }
    ItemContext& item() { return item_; }
    void set(const ir::Value* value, Scalars scalars) { values_[value] = std::move(scalars); }
    // Loads a value laid out in memory (layout.h), by leaf. `alignment`: what the address is a multiple of; 0: of what
    // values of the type are.
    Scalars load(ir::Type type, llvm::Value* address, int64_t alignment = 0);
    void store(ir::Type type, const Scalars& value, llvm::Value* address, int64_t alignment = 0);
    llvm::Type* leaf_type(const Leaf& leaf);
    llvm::BasicBlock* block(const char* name);
    llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name, llvm::Value* count = nullptr);
    // The body; `return` jumps to `exit` with the results. The current block is the body's start.
    void body(Join& exit);
    Join join(const char* name, llvm::ArrayRef<ir::Type> types);
    void finish(Join& join);  // goes on in the joined block
    void free_stacks();
    // From now on this Atomic adds to a sum instead, and notes its address.
    struct Sum {
        llvm::AllocaInst* value;
        llvm::AllocaInst* address;
    };
    // From now on places in this array, a parameter that has no gaps, are counted in elements of 32 bits, by these
    // strides: the launch promises that there are no more (Options::narrow).
    void count_narrow(const ir::Value* array, Scalars strides) { narrow_strides_[array] = std::move(strides); }
    void sum_up(const ir::Op& atomic, Sum sum) { sums_[&atomic] = sum; }
    void add_to(const ir::Op& atomic, llvm::Value* address, llvm::Value* number);

  private:
    struct Loop {
        Join* next;
        Join* exit;
    };

    void region(const ir::Region& region);
    void op(const ir::Op& op);
    void if_op(const ir::Op& op);
    void for_op(const ir::Op& op);
    void while_op(const ir::Op& op);
    void elementwise(const ir::Op& op);
    void call(const ir::Op& op);
    void native(const ir::Op& op);
    void snippet(const ir::Op& op);
    void print(const ir::Op& op);
    void assertion(const ir::Op& op);
    void stack_new(const ir::Op& op);
    void stack_push(const ir::Op& op);
    void stack_pop(const ir::Op& op);
    void stack_read(const ir::Op& op);

    const Scalars& value(const ir::Value* v) const;
    llvm::Value* scalar(const ir::Value* v) const { return value(v).front(); }
    void define(const ir::Op& op, Scalars scalars) { values_[op.results.at(0)] = std::move(scalars); }
    Scalars flatten(llvm::ArrayRef<ir::Value*> values) const;
    void jump(Join& target, const Scalars& values);
    void branch(llvm::Value* condition, Join& target, const Scalars& values, llvm::BasicBlock* otherwise);
    void define_results(const ir::Op& op, const Join& join);
    // What the address behind a Ref is a multiple of.
    int64_t alignment_of(const ir::Value* ref) const;
    void check_aligned(const ir::Op& atomic);
    // Whether the machine adds all numbers of the value in few instructions.
    bool add_together(const ir::Op& atomic);
    llvm::Align leaf_alignment(const Leaf& leaf, ir::Type type, int64_t alignment) const;
    llvm::Value* index(const ir::Value* v, llvm::Value* extent);
    llvm::Value* wide_index(const ir::Value* v);
    llvm::Value* small_index(const ir::Value* v, int count);
    llvm::Value* offset(llvm::Value* address, int64_t bytes);
    llvm::Value* element_address(const ir::Op& op);
    llvm::Value* narrow_index(const ir::Value* v, llvm::Value* extent);
    llvm::Value* narrow_address(const ir::Op& op, const Scalars& strides);
    llvm::Constant* text(std::string_view bytes);
    llvm::FunctionCallee outside(std::string_view name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters);

    ModuleContext& module_;
    const ir::Function& source_;
    llvm::Function& target_;
    llvm::IRBuilder<> builder_;
    ScalarEmitter scalars_;
    NonNegative non_negative_;
    std::unordered_map<const ir::Value*, llvm::Value*> wide_loops_;  // indices of loops, as i64
    ItemContext item_;
    std::unordered_map<const ir::Value*, Scalars> values_;
    std::unordered_map<const ir::Value*, int64_t> alignments_;  // of Refs into packed structs and the like
    std::unordered_map<const ir::Op*, Sum> sums_;
    std::unordered_map<const ir::Value*, Scalars> narrow_strides_;
    std::unordered_set<const ir::Value*> used_;  // filled for narrow launches
    std::vector<Loop> loops_;
    Join* if_join_ = nullptr;
    Join* exit_ = nullptr;
    llvm::SmallVector<llvm::AllocaInst*, 2> stacks_;
};

}  // namespace weft::codegen::llvm_backend
