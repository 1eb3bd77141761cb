// A stack is four variables: storage, bytes used, bytes there, and the cursor's place in bytes. LLVM keeps them in
// registers where it can.
#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

void FunctionEmitter::stack_new(const ir::Op& op) {
    auto* pointer = builder_.getPtrTy();
    auto* word = builder_.getInt64Ty();
    llvm::AllocaInst* data = entry_alloca(pointer, "stack");
    llvm::AllocaInst* used = entry_alloca(word, "used");
    llvm::AllocaInst* there = entry_alloca(word, "there");
    llvm::AllocaInst* cursor = entry_alloca(word, "cursor");
    llvm::BasicBlock& entry = target_.getEntryBlock();
    llvm::IRBuilder<> start(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    start.CreateStore(llvm::ConstantPointerNull::get(pointer), data);
    start.CreateStore(start.getInt64(0), used);
    start.CreateStore(start.getInt64(0), there);
    if (op.operands.empty()) {
        builder_.CreateStore(builder_.getInt64(0), used);
        stacks_.push_back(data);
    } else {  // somebody else's memory
        builder_.CreateStore(builder_.CreateIntToPtr(scalar(op.operands[0]), pointer), data);
        builder_.CreateStore(scalar(op.operands[1]), used);
        builder_.CreateStore(scalar(op.operands[1]), there);
    }
    builder_.CreateStore(builder_.getInt64(0), cursor);
    values_[op.result()] = {data, used, there, cursor};
}

void FunctionEmitter::stack_push(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.operands[1]->type;
    auto* pointer = builder_.getPtrTy();
    auto* word = builder_.getInt64Ty();
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    Value* used = builder_.CreateLoad(word, stack[1]);
    Value* after = builder_.CreateAdd(used, size);
    llvm::BasicBlock* grow = block("grow");
    llvm::BasicBlock* push = block("push");
    llvm::MDBuilder weights(module_.llvm.getContext());
    builder_.CreateCondBr(builder_.CreateICmpUGT(after, builder_.CreateLoad(word, stack[2])), grow, push,
                          weights.createBranchWeights(1, 1000));
    builder_.SetInsertPoint(grow);
    Value* wanted = builder_.CreateAdd(builder_.CreateShl(after, 1), builder_.getInt64(1024));
    Value* moved = builder_.CreateCall(outside("weft_stack_grow", pointer, {pointer, word, word}),
                                       {builder_.CreateLoad(pointer, stack[0]), used, wanted});
    builder_.CreateStore(moved, stack[0]);
    builder_.CreateStore(wanted, stack[2]);
    builder_.CreateBr(push);
    builder_.SetInsertPoint(push);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(pointer, stack[0]), used);
    store(element, value(op.operands[1]), place);
    builder_.CreateStore(after, stack[1]);
    builder_.CreateStore(after, stack[3]);
}

void FunctionEmitter::stack_pop(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.result()->type;
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    Value* used = builder_.CreateSub(builder_.CreateLoad(builder_.getInt64Ty(), stack[1]), size);
    builder_.CreateStore(used, stack[1]);
    builder_.CreateStore(used, stack[3]);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(builder_.getPtrTy(), stack[0]), used);
    define(op, load(element, place));
}

void FunctionEmitter::stack_read(const ir::Op& op) {
    const Scalars stack = value(op.operands[0]);
    const ir::Type element = op.result()->type;
    Value* cursor = builder_.CreateLoad(builder_.getInt64Ty(), stack[3]);
    Value* place = builder_.CreateGEP(builder_.getInt8Ty(), builder_.CreateLoad(builder_.getPtrTy(), stack[0]), cursor);
    Value* size = builder_.getInt64(static_cast<uint64_t>(ir::size_of(element)));
    builder_.CreateStore(builder_.CreateAdd(cursor, size), stack[3]);
    define(op, load(element, place));
}

void FunctionEmitter::free_stacks() {
    for (llvm::AllocaInst* data : stacks_) {
        builder_.CreateCall(outside("weft_stack_free", builder_.getVoidTy(), {builder_.getPtrTy()}),
                            {builder_.CreateLoad(builder_.getPtrTy(), data)});
    }
}

}  // namespace weft::codegen::llvm_backend
