// Atomics: in one step, plain where no other thread comes between, several numbers at once, or into a sum.
#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include <cstddef>
#include <numeric>

#include "base/error.h"
#include "codegen/backend.h"
#include "codegen/gpu_plan.h"
#include "ir/layout.h"
#include "opt/opt.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using llvm::Value;

Value* is_exclusive(llvm::IRBuilder<>& builder, Value* shape, const ir::Op& atomic) {
    const uint32_t bits = atomic.text == opt::kOwnElement ? kOneThread | kOwnElements : kOneThread;
    Value* place = builder.CreateGEP(builder.getInt8Ty(), shape, builder.getInt64(offsetof(LaunchShape, exclusive)));
    Value* exclusive = builder.CreateLoad(builder.getInt32Ty(), place);
    return builder.CreateICmpNE(builder.CreateAnd(exclusive, bits), builder.getInt32(0));
}

llvm::MDNode* mostly_plain(llvm::LLVMContext& context) {
    constexpr uint32_t kLikely = 1000;
    return llvm::MDBuilder(context).createBranchWeights(kLikely, 1);
}

// Machines that take no unaligned numbers have no atomics on them either.
void FunctionEmitter::check_aligned(const ir::Op& atomic) {
    if (module_.machine.takes_unaligned()) return;
    const ir::Type type = atomic.operands[1]->type;
    for (const Leaf& leaf : module_.leaves_of(type)) {
        const auto bytes = static_cast<uint64_t>(ir::scalar_bits(leaf.scalar) / 8);
        if (leaf_alignment(leaf, type, alignment_of(atomic.operands[0])).value() >= bytes) continue;
        throw UserError(ErrorKind::Unsupported,
                        "on this device a member of a packed struct cannot be updated in one step: "
                        "its address need not be a multiple of its size; read it, change it and store it",
                        atomic.location);
    }
}

void FunctionEmitter::add_to(const ir::Op& atomic, Value* address, Value* number) {
    const Sum& sum = sums_.at(&atomic);
    Value* old = builder_.CreateLoad(sum.value->getAllocatedType(), sum.value);
    const ir::Scalar kind = atomic.operands[1]->type.element();
    builder_.CreateStore(scalars_.updated(ir::AtomicKind::Add, kind, old, number), sum.value);
    builder_.CreateStore(address, sum.address);
}

bool FunctionEmitter::add_together(const ir::Op& atomic) {
    if (!module_.options.narrow || !adds_vector(atomic, used_)) return false;
    const ir::Value* place = atomic.operands[0];
    const int64_t size = ir::size_of(place->type.target());
    // Arrays begin at multiples of kDenseAlignment.
    const int64_t alignment = place->op->code == Opcode::At ? std::gcd(size, int64_t{kDenseAlignment}) : 4;
    return module_.machine.add_together(module_, builder_, scalar(place), value(atomic.operands[1]), alignment);
}

// Whether the place that is updated is part of a packed struct.
static bool may_lie_anywhere(const ir::Value* place) {
    const auto is_part = [](const ir::Op* op) { return op->code == Opcode::Member || op->code == Opcode::MemberAt; };
    for (; place->op != nullptr && is_part(place->op); place = place->op->operands[0]) {
        const ir::Type whole = place->op->operands[0]->type.target();
        if (whole.is(ir::TypeKind::Struct) && whole.packed()) return true;
    }
    return false;
}

// Between these two, no other thread makes such an update by the same code.
static llvm::GlobalVariable* wait_for_others(llvm::IRBuilder<>& builder) {
    constexpr const char* kName = "weft_updating";
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    llvm::Module& module = *function->getParent();
    auto* type = builder.getInt32Ty();
    auto* busy = module.getGlobalVariable(kName, true);
    if (busy == nullptr) {
        busy = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, builder.getInt32(0),
                                        kName);
    }
    auto* wait = llvm::BasicBlock::Create(module.getContext(), "wait", function);
    auto* alone = llvm::BasicBlock::Create(module.getContext(), "alone", function);
    builder.CreateBr(wait);
    builder.SetInsertPoint(wait);
    Value* was = builder.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, busy, builder.getInt32(1), llvm::Align(4),
                                         llvm::AtomicOrdering::Acquire);
    builder.CreateCondBr(builder.CreateICmpEQ(was, builder.getInt32(0)), alone, wait);
    builder.SetInsertPoint(alone);
    return busy;
}

static void let_others(llvm::IRBuilder<>& builder, llvm::GlobalVariable* busy) {
    builder.CreateAlignedStore(builder.getInt32(0), busy, llvm::Align(4))->setAtomic(llvm::AtomicOrdering::Release);
}

Scalars emit_update(ModuleContext& module, llvm::IRBuilder<>& builder, ScalarEmitter& scalars, Value* shape,
                    const ir::Op& op, Value* address, const Scalars& values) {
    const auto& leaves = module.leaves_of(op.operands[1]->type);
    const auto place = [&](int64_t bytes) {
        return builder.CreateGEP(builder.getInt8Ty(), address, builder.getInt64(static_cast<uint64_t>(bytes)));
    };
    const auto plainly = [&] {
        Scalars old;
        for (size_t i = 0; i < leaves.size(); ++i) {
            old.push_back(scalars.load(leaves[i].scalar, place(leaves[i].offset), scalars.alignment(1)));
            Value* next = scalars.updated(op.atomic(), leaves[i].scalar, old[i], values[i]);
            scalars.store(leaves[i].scalar, next, place(leaves[i].offset), scalars.alignment(1));
        }
        return old;
    };
    const bool in_turn =
        module.machine.takes_unaligned() && !module.machine.updates_unaligned() && may_lie_anywhere(op.operands[0]);
    const auto at_once = [&] {
        Scalars old;
        if (in_turn) {
            llvm::GlobalVariable* busy = wait_for_others(builder);
            old = plainly();
            let_others(builder, busy);
            return old;
        }
        for (size_t i = 0; i < leaves.size(); ++i) {
            old.push_back(scalars.atomic(op.atomic(), leaves[i].scalar, place(leaves[i].offset), values[i]));
        }
        return old;
    };
    if (!module.machine.has_exclusive_launches()) return at_once();
    llvm::Function* function = builder.GetInsertBlock()->getParent();
    auto& context = module.llvm.getContext();
    auto* plain = llvm::BasicBlock::Create(context, "plain", function);
    auto* locked = llvm::BasicBlock::Create(context, "locked", function);
    auto* after = llvm::BasicBlock::Create(context, "updated", function);
    builder.CreateCondBr(is_exclusive(builder, shape, op), plain, locked, mostly_plain(context));
    builder.SetInsertPoint(plain);
    const Scalars plain_old = plainly();
    builder.CreateBr(after);
    for (llvm::Instruction& part : *plain) {
        // One step to those that look for races.
        if (part.mayReadOrWriteMemory()) part.setMetadata(kPartOfUpdate, llvm::MDNode::get(context, {}));
    }
    plain = builder.GetInsertBlock();
    builder.SetInsertPoint(locked);
    const Scalars locked_old = at_once();
    builder.CreateBr(after);
    locked = builder.GetInsertBlock();
    builder.SetInsertPoint(after);
    Scalars old;
    for (size_t i = 0; i < leaves.size(); ++i) {
        auto* phi = builder.CreatePHI(plain_old[i]->getType(), 2);
        phi->addIncoming(plain_old[i], plain);
        phi->addIncoming(locked_old[i], locked);
        old.push_back(phi);
    }
    return old;
}

}  // namespace weft::codegen::llvm_backend
