// The entry of a kernel on a GPU: one thread an item.
//
// void entry(byval arguments, byval LaunchShape shape, i64 begin, i64 end): the launch's threads, counted through all
// blocks, are the items from `begin` on; those at `end` and beyond do nothing.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "codegen/backend.h"
#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/nvptx/nvptx_machine.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

namespace {

constexpr unsigned kGlobalSpace = 1;

llvm::Type* bytes(llvm::LLVMContext& context, int64_t count) {
    return llvm::ArrayType::get(llvm::Type::getInt8Ty(context), static_cast<uint64_t>(count));
}

class ThreadEntry {
  public:
    ThreadEntry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target)
        : module_(module), kernel_(kernel), emitter_(module, kernel, target), b_(emitter_.builder()), target_(target) {}

    void emit() {
        Value* shape = target_.getArg(1);
        Value* end = target_.getArg(3);
        llvm::BasicBlock* inside = emitter_.block("inside");
        llvm::BasicBlock* done = emitter_.block("done");
        Value* item = b_.CreateAdd(target_.getArg(2), thread_number(), "item", true, true);
        b_.CreateCondBr(b_.CreateICmpSLT(item, end), inside, done);

        b_.SetInsertPoint(inside);
        unpack_arguments();
        ItemContext& context = emitter_.item();
        context.shape = shape;
        context.item = item;
        if (module_.coordinates > 0) set_coordinates(shape, item, end);
        Join exit = emitter_.join("exit", {});
        emitter_.body(exit);
        emitter_.finish(exit);
        emitter_.free_stacks();
        b_.CreateBr(done);
        b_.SetInsertPoint(done);
        b_.CreateRetVoid();
    }

  private:
    Value* special(llvm::Intrinsic::ID id) { return b_.CreateIntrinsic(id, {}, {}); }

    // Block * threads of a block + thread.
    Value* thread_number() {
        using namespace llvm::Intrinsic;
        auto* word = b_.getInt64Ty();
        Value* block = b_.CreateZExt(special(nvvm_read_ptx_sreg_ctaid_x), word);
        Value* size = b_.CreateZExt(special(nvvm_read_ptx_sreg_ntid_x), word);
        Value* thread = b_.CreateZExt(special(nvvm_read_ptx_sreg_tid_x), word);
        return b_.CreateAdd(b_.CreateMul(block, size, "", true, true), thread, "", true, true);
    }

    Value* at(Value* base, int64_t offset) {
        return b_.CreateGEP(b_.getInt8Ty(), base, b_.getInt64(static_cast<uint64_t>(offset)));
    }

    void unpack_arguments() {
        const auto offsets = parameter_offsets(kernel_);
        for (size_t i = 0; i < kernel_.parameters().size(); ++i) {
            const ir::Value* parameter = kernel_.parameters()[i];
            Scalars leaves = emitter_.load(parameter->type, at(target_.getArg(0), offsets[i]));
            const auto& kinds = module_.leaves_of(parameter->type);
            for (size_t leaf = 0; leaf < kinds.size(); ++leaf) {
                if (kinds[leaf].kind != LeafKind::Pointer) continue;
                // Arrays that a launch is given lie in global memory, which LLVM follows through the casts.
                auto* global = llvm::PointerType::get(b_.getContext(), kGlobalSpace);
                leaves[leaf] = b_.CreateAddrSpaceCast(b_.CreateAddrSpaceCast(leaves[leaf], global), b_.getPtrTy());
            }
            emitter_.set(parameter, std::move(leaves));
        }
    }

    // By division from the last dimension on; in 32 bits where the launch is small enough, which is cheap on a GPU.
    void set_coordinates(Value* shape, Value* item, Value* end) {
        auto* word = b_.getInt64Ty();
        auto* narrow = b_.getInt32Ty();
        const auto used = static_cast<size_t>(module_.coordinates);
        llvm::BasicBlock* tail = emitter_.block("tail");
        llvm::BasicBlock* row = emitter_.block("row");
        // Dimensions that the kernel does not ask for share their item's coordinates.
        Value* ndim = b_.CreateLoad(narrow, at(shape, offsetof(LaunchShape, ndim)));
        llvm::BasicBlock* before = b_.GetInsertBlock();
        b_.CreateCondBr(b_.CreateICmpSGT(ndim, b_.getInt32(static_cast<uint32_t>(used))), tail, row);
        b_.SetInsertPoint(tail);
        Value* size = b_.getInt64(1);
        for (size_t d = used; d < 8; ++d) size = b_.CreateMul(size, extent(shape, d));
        Value* quotient = b_.CreateUDiv(item, size);
        b_.CreateBr(row);
        b_.SetInsertPoint(row);
        auto* rest = b_.CreatePHI(word, 2);
        rest->addIncoming(item, before);
        rest->addIncoming(quotient, tail);

        llvm::SmallVector<Value*, 8> dims(used);
        for (size_t d = 1; d < used; ++d) dims[d] = extent(shape, d);
        ItemContext& context = emitter_.item();
        if (used == 1) {
            context.wide = {rest};
            context.coordinates = {b_.CreateTrunc(rest, narrow)};
            return;
        }
        llvm::BasicBlock* small = emitter_.block("small");
        llvm::BasicBlock* large = emitter_.block("large");
        llvm::BasicBlock* body = emitter_.block("body");
        b_.CreateCondBr(b_.CreateICmpULE(end, b_.getInt64(UINT32_MAX)), small, large);
        const auto divided = [&](llvm::BasicBlock* block, llvm::Type* type) {
            b_.SetInsertPoint(block);
            llvm::SmallVector<Value*, 8> out(used);
            Value* left = b_.CreateTrunc(rest, type);
            for (size_t d = used - 1; d > 0; --d) {
                Value* dim = b_.CreateTrunc(dims[d], type);
                Value* next = b_.CreateUDiv(left, dim);
                out[d] = b_.CreateZExt(b_.CreateSub(left, b_.CreateMul(next, dim)), word);
                left = next;
            }
            out[0] = b_.CreateZExt(left, word);
            b_.CreateBr(body);
            return out;
        };
        const auto in_small = divided(small, narrow);
        const auto in_large = divided(large, word);
        b_.SetInsertPoint(body);
        for (size_t d = 0; d < used; ++d) {
            auto* coordinate = b_.CreatePHI(word, 2);
            coordinate->addIncoming(in_small[d], small);
            coordinate->addIncoming(in_large[d], large);
            context.wide.push_back(coordinate);
        }
        for (size_t d = 0; d < used; ++d) context.coordinates.push_back(b_.CreateTrunc(context.wide[d], narrow));
    }

    Value* extent(Value* shape, size_t d) {
        return b_.CreateLoad(b_.getInt64Ty(), at(shape, static_cast<int64_t>(8 * d)));
    }

    ModuleContext& module_;
    const ir::Function& kernel_;
    FunctionEmitter emitter_;
    llvm::IRBuilder<>& b_;
    llvm::Function& target_;
};

}  // namespace

llvm::Function* NvptxMachine::declare_kernel(ModuleContext& module, const ir::Function& kernel) const {
    auto& context = module.llvm.getContext();
    auto* pointer = llvm::PointerType::getUnqual(context);
    auto* word = llvm::Type::getInt64Ty(context);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, word, word}, false);
    auto* out = llvm::Function::Create(type, llvm::Function::ExternalLinkage, entry_symbol(kernel.name), module.llvm);
    const std::array<int64_t, 2> sizes = {std::max<int64_t>(parameter_offsets(kernel).back(), 8), sizeof(LaunchShape)};
    for (unsigned i = 0; i < 2; ++i) {
        out->addParamAttr(i, llvm::Attribute::getWithByValType(context, bytes(context, sizes[i])));
        out->addParamAttr(i, llvm::Attribute::getWithAlignment(context, llvm::Align(16)));
    }
    out->setDoesNotThrow();
    // Marks it as a kernel, and its parameters as never written, so that they are not copied.
    const auto number = [&](uint32_t n) {
        return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), n));
    };
    llvm::Metadata* entry[] = {llvm::ConstantAsMetadata::get(out), llvm::MDString::get(context, "kernel"), number(1),
                               llvm::MDString::get(context, "grid_constant"),
                               llvm::MDNode::get(context, {number(1), number(2)})};
    module.llvm.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, entry));
    return out;
}

void NvptxMachine::emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const {
    ThreadEntry(module, kernel, target).emit();
}

}  // namespace weft::codegen::llvm_backend
