// The entry of a kernel on a GPU: one thread an item.
//
// void entry(byval arguments, byval LaunchShape shape, i64 begin, i64 end): the launch's threads, counted through all
// blocks, are the items from `begin` on; those at `end` and beyond do nothing. Compiled for launches that promise more
// (Options::dense), a thread may take several items, as gpu_plan.h says; `begin` counts such groups of items.
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "codegen/backend.h"
#include "codegen/gpu_plan.h"
#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/nvptx/arrays_apart.h"
#include "codegen/llvm/nvptx/nvptx_machine.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

namespace {

constexpr unsigned kGlobalSpace = 1;

llvm::Type* bytes(llvm::LLVMContext& context, int64_t count) {
    return llvm::ArrayType::get(llvm::Type::getInt8Ty(context), static_cast<uint64_t>(count));
}

// Says of the memory ops of different items that they do not meet, which is the kernel's promise: items run in any
// order. Only so can the loads of all of them come first, as wide ones.
class Scopes {
  public:
    Scopes(llvm::Function& function, int items) : function_(function) {
        llvm::MDBuilder builder(function.getContext());
        llvm::MDNode* domain = builder.createAnonymousAliasScopeDomain("items");
        for (int k = 0; k < items; ++k) scopes_.push_back(builder.createAnonymousAliasScope(domain, "item"));
        for (llvm::Instruction& i : llvm::instructions(function_)) seen_.insert(&i);
    }

    // What has been emitted since the last call is of item k.
    void mark_new(size_t k) {
        llvm::SmallVector<llvm::Metadata*, 8> others;
        for (size_t other = 0; other < scopes_.size(); ++other) {
            if (other != k) others.push_back(scopes_[other]);
        }
        auto& context = function_.getContext();
        for (llvm::Instruction& i : llvm::instructions(function_)) {
            if (!seen_.insert(&i).second || (!llvm::isa<llvm::LoadInst>(i) && !llvm::isa<llvm::StoreInst>(i))) continue;
            i.setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(context, {scopes_[k]}));
            i.setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context, others));
        }
    }

  private:
    llvm::Function& function_;
    std::vector<llvm::MDNode*> scopes_;
    llvm::DenseSet<const llvm::Instruction*> seen_;
};

class ThreadEntry {
  public:
    ThreadEntry(ModuleContext& module, const ir::Function& kernel, llvm::Function& target)
        : module_(module), kernel_(kernel), emitter_(module, kernel, target), b_(emitter_.builder()), target_(target) {}

    void emit() {
        emitter_.item().shape = target_.getArg(1);
        if (module_.options.dense) plan_ = plan_for_gpu(module_.ir, kernel_);
        unpack_arguments();
        if (!plan_.sums.empty()) {
            emit_with_sums();
        } else if (plan_.items > 1) {
            Value* first = first_item();
            emit_items(first);
            b_.CreateRetVoid();
        } else {
            Value* item = b_.CreateAdd(target_.getArg(2), thread_number(), "item", true, true);
            if_inside(item, [&] { emit_item(item); });
            b_.CreateRetVoid();
        }
        if (module_.options.narrow) say_apart(target_, arrays_);
    }

  private:
    Value* end() const { return target_.getArg(3); }
    Value* special(llvm::Intrinsic::ID id) { return b_.CreateIntrinsic(id, {}, {}); }
    Value* wide_special(llvm::Intrinsic::ID id) { return b_.CreateZExt(special(id), b_.getInt64Ty()); }

    // Block * threads of a block + thread.
    Value* thread_number() {
        using namespace llvm::Intrinsic;
        Value* block = wide_special(nvvm_read_ptx_sreg_ctaid_x);
        Value* size = wide_special(nvvm_read_ptx_sreg_ntid_x);
        return b_.CreateAdd(b_.CreateMul(block, size, "", true, true), wide_special(nvvm_read_ptx_sreg_tid_x), "", true,
                            true);
    }

    // The first of the items that this thread takes. Written so that it is seen to be a multiple of their number.
    Value* first_item() {
        Value* group = b_.CreateAdd(target_.getArg(2), thread_number(), "", true, true);
        return b_.CreateMul(group, b_.getInt64(static_cast<uint64_t>(plan_.items)), "item", true, true);
    }

    void if_inside(Value* item, llvm::function_ref<void()> emit) {
        llvm::BasicBlock* inside = emitter_.block("inside");
        llvm::BasicBlock* done = emitter_.block("done");
        b_.CreateCondBr(b_.CreateICmpSLT(item, end()), inside, done);
        b_.SetInsertPoint(inside);
        emit();
        b_.CreateBr(done);
        b_.SetInsertPoint(done);
    }

    void emit_item(Value* item) {
        ItemContext& context = emitter_.item();
        context.item = item;
        context.wide.clear();
        context.coordinates.clear();
        if (module_.coordinates > 0) set_coordinates(target_.getArg(1), item, end());
        Join exit = emitter_.join("exit", {});
        emitter_.body(exit);
        emitter_.finish(exit);
        emitter_.free_stacks();
    }

    // Neighbouring items: straight on where all are there, one after the other at the end of the launch.
    void emit_items(Value* first) {
        const auto items = static_cast<uint64_t>(plan_.items);
        llvm::BasicBlock* all = emitter_.block("all");
        llvm::BasicBlock* few = emitter_.block("few");
        llvm::BasicBlock* done = emitter_.block("done");
        Value* after = b_.CreateAdd(first, b_.getInt64(items), "", true, true);
        b_.CreateCondBr(b_.CreateICmpSLE(after, end()), all, few);

        b_.SetInsertPoint(all);
        Scopes scopes(target_, plan_.items);
        for (uint64_t k = 0; k < items; ++k) {
            emit_item(b_.CreateAdd(first, b_.getInt64(k), "", true, true));
            scopes.mark_new(static_cast<size_t>(k));
        }
        b_.CreateBr(done);

        b_.SetInsertPoint(few);
        llvm::BasicBlock* loop = emitter_.block("each");
        llvm::BasicBlock* body = emitter_.block("one");
        llvm::BasicBlock* before = b_.GetInsertBlock();
        b_.CreateBr(loop);
        b_.SetInsertPoint(loop);
        auto* item = b_.CreatePHI(b_.getInt64Ty(), 2, "item");
        item->addIncoming(first, before);
        b_.CreateCondBr(b_.CreateICmpSLT(item, end()), body, done);
        b_.SetInsertPoint(body);
        emit_item(item);
        item->addIncoming(b_.CreateAdd(item, b_.getInt64(1), "", true, true), b_.GetInsertBlock());
        b_.CreateBr(loop);
        b_.SetInsertPoint(done);
    }

    // Each thread takes items, a grid apart, and sums; then the threads of a warp sum, and one of them adds.
    void emit_with_sums() {
        std::vector<FunctionEmitter::Sum> sums;
        for (const ir::Op* op : plan_.sums) {
            llvm::Type* number = emitter_.leaf_type(module_.leaves_of(op->operands[1]->type).front());
            const FunctionEmitter::Sum sum = {emitter_.entry_alloca(number, "sum"),
                                              emitter_.entry_alloca(b_.getPtrTy(), "to")};
            b_.CreateStore(llvm::Constant::getNullValue(number), sum.value);
            b_.CreateStore(llvm::ConstantPointerNull::get(b_.getPtrTy()), sum.address);
            emitter_.sum_up(*op, sum);
            sums.push_back(sum);
        }
        using namespace llvm::Intrinsic;
        Value* threads = b_.CreateMul(wide_special(nvvm_read_ptx_sreg_nctaid_x),
                                      wide_special(nvvm_read_ptx_sreg_ntid_x), "", true, true);
        Value* step = b_.CreateMul(threads, b_.getInt64(static_cast<uint64_t>(plan_.items)), "", true, true);
        Value* first = first_item();
        llvm::BasicBlock* before = b_.GetInsertBlock();
        llvm::BasicBlock* loop = emitter_.block("turn");
        llvm::BasicBlock* body = emitter_.block("items");
        llvm::BasicBlock* rest = emitter_.block("summed");
        b_.CreateBr(loop);
        b_.SetInsertPoint(loop);
        auto* item = b_.CreatePHI(b_.getInt64Ty(), 2, "first");
        item->addIncoming(first, before);
        b_.CreateCondBr(b_.CreateICmpSLT(item, end()), body, rest);
        b_.SetInsertPoint(body);
        if (plan_.items > 1) {
            emit_items(item);
        } else {
            emit_item(item);
        }
        item->addIncoming(b_.CreateAdd(item, step, "", true, true), b_.GetInsertBlock());
        b_.CreateBr(loop);
        b_.SetInsertPoint(rest);
        for (size_t i = 0; i < sums.size(); ++i) add_for_warp(*plan_.sums[i], sums[i]);
        b_.CreateRetVoid();
    }

    void add_for_warp(const ir::Op& op, const FunctionEmitter::Sum& sum) {
        const ir::Scalar scalar = op.operands[1]->type.element();
        ScalarEmitter scalars(module_.llvm, b_, module_.machine, false);
        Value* number = b_.CreateLoad(sum.value->getAllocatedType(), sum.value);
        Value* address = b_.CreatePtrToInt(b_.CreateLoad(b_.getPtrTy(), sum.address), b_.getInt64Ty());
        for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2) {
            number = scalars.updated(ir::AtomicKind::Add, scalar, number, from_lane_above(number, distance));
            // All that have one have the same.
            address = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, address, from_lane_above(address, distance));
        }
        Value* lane = b_.CreateAnd(special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x), b_.getInt32(kWarp - 1));
        Value* adds = b_.CreateAnd(b_.CreateICmpEQ(lane, b_.getInt32(0)), b_.CreateICmpNE(address, b_.getInt64(0)));
        llvm::BasicBlock* one = emitter_.block("one");
        llvm::BasicBlock* next = emitter_.block("next");
        b_.CreateCondBr(adds, one, next);
        b_.SetInsertPoint(one);
        emit_update(module_, b_, scalars, target_.getArg(1), op, b_.CreateIntToPtr(address, b_.getPtrTy()), {number});
        b_.CreateBr(next);
        b_.SetInsertPoint(next);
    }

    // The value in the lane `distance` further up; all lanes of the warp are here.
    Value* from_lane_above(Value* value, uint32_t distance) {
        llvm::Type* type = value->getType();
        auto* word = b_.getInt32Ty();
        const auto shuffled = [&](Value* bits) {
            Value* operands[] = {b_.getInt32(UINT32_MAX), bits, b_.getInt32(distance), b_.getInt32(kWarp - 1)};
            return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_down_i32, {}, operands);
        };
        if (type->getPrimitiveSizeInBits() == 32)
            return b_.CreateBitCast(shuffled(b_.CreateBitCast(value, word)), type);
        Value* bits = b_.CreateBitCast(value, b_.getInt64Ty());
        Value* low = b_.CreateZExt(shuffled(b_.CreateTrunc(bits, word)), b_.getInt64Ty());
        Value* high = b_.CreateZExt(shuffled(b_.CreateTrunc(b_.CreateLShr(bits, 32), word)), b_.getInt64Ty());
        return b_.CreateBitCast(b_.CreateOr(low, b_.CreateShl(high, 32)), type);
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
            if (module_.options.dense && parameter->type.is(ir::TypeKind::Array)) make_dense(parameter->type, leaves);
            if (module_.options.narrow && parameter->type.is(ir::TypeKind::Array)) make_narrow(parameter, leaves);
            if (parameter->type.is(ir::TypeKind::Array)) arrays_.push_back(leaves[0]);
            emitter_.set(parameter, std::move(leaves));
        }
    }

    // What the launch promises of an array: where it begins, and strides that follow from the shape.
    void make_dense(ir::Type type, Scalars& leaves) {
        b_.CreateAlignmentAssumption(target_.getParent()->getDataLayout(), leaves[0], kDenseAlignment);
        const auto ndim = static_cast<size_t>(type.ndim());
        Value* stride = b_.getInt64(static_cast<uint64_t>(ir::size_of(type.target())));
        for (size_t d = ndim; d-- > 0;) {
            leaves[1 + ndim + d] = stride;
            if (d > 0) stride = b_.CreateMul(stride, leaves[1 + d], "", true, true);
        }
    }

    // In arrays of one dimension the addresses of bytes cost nothing.
    void make_narrow(const ir::Value* array, const Scalars& leaves) {
        const auto ndim = static_cast<size_t>(array->type.ndim());
        if (ndim < 2) return;
        Scalars strides(ndim);
        for (size_t d = ndim - 1; d-- > 0;) {
            Value* extent = b_.CreateTrunc(leaves[1 + d + 1], b_.getInt32Ty());
            strides[d] = strides[d + 1] == nullptr ? extent : b_.CreateMul(strides[d + 1], extent, "", true, true);
        }
        emitter_.count_narrow(array, std::move(strides));
    }

    // By division from the last dimension on; in 32 bits where the launch is small enough, which is cheap on a GPU.
    void set_coordinates(Value* shape, Value* item, Value* end) {
        auto* word = b_.getInt64Ty();
        auto* narrow = b_.getInt32Ty();
        const auto used = static_cast<size_t>(module_.coordinates);
        ItemContext& context = emitter_.item();
        if (module_.options.dense && used == 1) {
            context.wide = {item};
            context.coordinates = {b_.CreateTrunc(item, narrow)};
            return;
        }
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
    GpuPlan plan_;
    llvm::SmallVector<Value*, 8> arrays_;  // where those begin that the kernel is given
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
    auto* annotations = module.llvm.getOrInsertNamedMetadata("nvvm.annotations");
    annotations->addOperand(llvm::MDNode::get(context, entry));
    const Options& options = module.options;
    for (const auto& [name, bound] : {std::pair("maxntidx", options.max_threads),
                                      {"minctasm", options.min_blocks},
                                      {"maxnreg", options.max_registers}}) {
        if (bound == 0) continue;
        llvm::Metadata* limit[] = {llvm::ConstantAsMetadata::get(out), llvm::MDString::get(context, name),
                                   number(static_cast<uint32_t>(bound))};
        annotations->addOperand(llvm::MDNode::get(context, limit));
    }
    return out;
}

void NvptxMachine::emit_kernel(ModuleContext& module, const ir::Function& kernel, llvm::Function& target) const {
    ThreadEntry(module, kernel, target).emit();
}

}  // namespace weft::codegen::llvm_backend
