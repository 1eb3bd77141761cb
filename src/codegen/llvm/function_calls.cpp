// Calls: of functions of the module, of the device library, of native snippets; prints and asserts.
#include "codegen/llvm/function_emitter.h"

#include <llvm/IR/MDBuilder.h>

#include "base/error.h"
#include "codegen/snippet_text.h"
#include "ir/layout.h"

namespace weft::codegen::llvm_backend {

using llvm::Value;

llvm::FunctionCallee FunctionEmitter::outside(std::string_view name, llvm::Type* result,
                                              llvm::ArrayRef<llvm::Type*> parameters) {
    return scalars_.outside_function(name, llvm::FunctionType::get(result, parameters, false), false);
}

llvm::Constant* FunctionEmitter::text(std::string_view bytes) {
    return builder_.CreateGlobalString(llvm::StringRef(bytes.data(), bytes.size()), "text", 0, &module_.llvm);
}

void FunctionEmitter::call(const ir::Op& op) {
    const ir::Function* callee = module_.ir.find(op.text);
    WEFT_CHECK(callee != nullptr, "call of unknown @" + op.text);
    Scalars arguments = {item_.shape, item_.item};
    arguments.append(item_.coordinates.begin(), item_.coordinates.end());
    const Scalars given = flatten(op.operands);
    arguments.append(given.begin(), given.end());
    Value* returned = builder_.CreateCall(module_.functions.at(callee), arguments);
    unsigned next = 0;
    for (const ir::Value* result : op.results) {
        Scalars out;
        for (size_t i = 0; i < module_.leaves_of(result->type).size(); ++i) {
            out.push_back(builder_.CreateExtractValue(returned, next++));
        }
        values_[result] = std::move(out);
    }
}

// How device functions are called: device/types.h.
void FunctionEmitter::native(const ir::Op& op) {
    llvm::SmallVector<llvm::Type*, 8> parameters;
    Scalars arguments;
    const bool direct = op.results.empty() || op.result()->type.is_scalar();
    llvm::AllocaInst* out = nullptr;
    if (!direct) {
        auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<uint64_t>(ir::size_of(op.result()->type)));
        out = entry_alloca(bytes, "result");
        out->setAlignment(llvm::Align(16));
        arguments.push_back(out);
        parameters.push_back(builder_.getPtrTy());
    }
    llvm::SmallVector<std::pair<unsigned, llvm::Attribute::AttrKind>, 4> extensions;
    for (const ir::Value* operand : op.operands) {
        const auto& leaves = module_.leaves_of(operand->type);
        for (size_t i = 0; i < leaves.size(); ++i) {
            if (leaves[i].kind == LeafKind::Number && ir::scalar_bits(leaves[i].scalar) < 32) {
                extensions.emplace_back(arguments.size(), ir::is_signed_int(leaves[i].scalar) ? llvm::Attribute::SExt
                                                                                              : llvm::Attribute::ZExt);
            }
            arguments.push_back(value(operand)[i]);
            parameters.push_back(leaf_type(leaves[i]));
        }
    }
    llvm::Type* result =
        op.results.empty() || !direct ? builder_.getVoidTy() : scalars_.type(op.result()->type.element());
    auto* signature = llvm::FunctionType::get(result, parameters, false);
    auto callee = module_.llvm.getOrInsertFunction(op.text, signature);
    auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee());
    WEFT_CHECK(function != nullptr && function->getFunctionType() == signature,
               "native " + op.text + " has two signatures");
    function->setDoesNotThrow();
    auto* returned = builder_.CreateCall(callee, arguments);
    for (const auto& [place, kind] : extensions) returned->addParamAttr(place, kind);
    if (op.results.empty()) return;
    define(op, direct ? Scalars{returned} : load(op.result()->type, out));
}

// Everything goes by address: codegen/snippet_text.h. What is part of its caller afterwards leaves no memory behind.
void FunctionEmitter::snippet(const ir::Op& op) {
    const auto room = [&](ir::Type type) {
        auto* bytes = llvm::ArrayType::get(builder_.getInt8Ty(), static_cast<uint64_t>(ir::size_of(type)));
        llvm::AllocaInst* out = entry_alloca(bytes, "passed");
        out->setAlignment(llvm::Align(16));
        return out;
    };
    Scalars addresses;
    for (const ir::Value* operand : op.operands) {
        if (operand->type.is(ir::TypeKind::Ref)) {
            addresses.push_back(scalar(operand));
            continue;
        }
        addresses.push_back(room(operand->type));
        store(operand->type, value(operand), addresses.back());
    }
    for (const ir::Value* result : op.results) addresses.push_back(room(result->type));
    const size_t results = op.operands.size();
    if (op.snippet_asserts()) {
        addresses.push_back(item_.shape);
        addresses.push_back(entry_alloca(builder_.getInt64Ty(), "item"));
        builder_.CreateStore(item_.item, addresses.back());
    }
    const llvm::SmallVector<llvm::Type*, 8> types(addresses.size(), builder_.getPtrTy());
    builder_.CreateCall(outside(snippet_symbol(op), builder_.getVoidTy(), types), addresses);
    for (size_t i = 0; i < op.results.size(); ++i) {
        values_[op.results[i]] = load(op.results[i]->type, addresses[results + i]);
    }
}

void FunctionEmitter::print(const ir::Op& op) {
    llvm::SmallVector<Value*, 8> arguments;
    for (const ir::Value* operand : op.operands) {
        const ir::Scalar type = operand->type.element();
        // C's promotions of variadic arguments.
        if (ir::is_float(type)) {
            arguments.push_back(scalars_.cast(ir::Scalar::F64, type, scalar(operand)));
        } else if (ir::scalar_bits(type) < 32) {
            arguments.push_back(
                builder_.CreateIntCast(scalar(operand), builder_.getInt32Ty(), ir::is_signed_int(type)));
        } else {
            arguments.push_back(scalar(operand));
        }
    }
    module_.machine.print(builder_, text(op.text), arguments);
}

void FunctionEmitter::assertion(const ir::Op& op) {
    llvm::BasicBlock* failed = block("failed");
    llvm::BasicBlock* after = block("asserted");
    llvm::MDBuilder weights(module_.llvm.getContext());
    builder_.CreateCondBr(scalar(op.operands[0]), after, failed, weights.createBranchWeights(1000, 1));
    builder_.SetInsertPoint(failed);
    Scalars numbers;
    for (const ir::Value* number : llvm::ArrayRef(op.operands).drop_front()) numbers.push_back(scalar(number));
    module_.machine.assert_failed(builder_, text(op.text), item_.shape, item_.item, numbers);
    Scalars nothing;
    for (const auto* phi : exit_->phis) nothing.push_back(llvm::Constant::getNullValue(phi->getType()));
    jump(*exit_, nothing);
    builder_.SetInsertPoint(after);
}

}  // namespace weft::codegen::llvm_backend
