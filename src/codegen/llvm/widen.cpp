#include "codegen/llvm/widen.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <unordered_map>

#include "base/error.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr const char* kBetween = ".x";

}  // namespace

std::string wide_name(const std::string& scalar, unsigned lanes) { return scalar + kBetween + std::to_string(lanes); }

std::string scalar_name_of(const std::string& wide) {
    const auto at = wide.rfind(kBetween);
    return wide.starts_with("weft_") && at != std::string::npos ? wide.substr(0, at) : std::string();
}

void widen(llvm::Function& wide, const llvm::Function& scalar) {
    const std::string name = scalar.getName().str();
    WEFT_CHECK(scalar.size() == 1, name + " branches: no vectors are made of it");
    const unsigned lanes = llvm::cast<llvm::FixedVectorType>(wide.getReturnType())->getNumElements();
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(wide.getContext(), "entry", &wide));
    std::unordered_map<const llvm::Value*, llvm::Value*> made;
    for (unsigned i = 0; i < scalar.arg_size(); ++i) made[scalar.getArg(i)] = wide.getArg(i);
    const auto vector_of = [&](llvm::Type* type) { return llvm::FixedVectorType::get(type, lanes); };
    const auto get = [&](llvm::Value* v) -> llvm::Value* {
        if (auto* constant = llvm::dyn_cast<llvm::Constant>(v)) {
            return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), constant);
        }
        return made.at(v);
    };
    for (const llvm::Instruction& inst : scalar.front()) {
        const auto operand = [&](unsigned i) { return get(inst.getOperand(i)); };
        llvm::Value* out = nullptr;
        if (llvm::isa<llvm::ReturnInst>(inst)) {
            b.CreateRet(operand(0));
            continue;
        }
        if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&inst)) {
            out = b.CreateBinOp(binary->getOpcode(), operand(0), operand(1));
        } else if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&inst)) {
            out = b.CreateCmp(compare->getPredicate(), operand(0), operand(1));
        } else if (llvm::isa<llvm::SelectInst>(inst)) {
            out = b.CreateSelect(operand(0), operand(1), operand(2));
        } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&inst)) {
            out = b.CreateCast(cast->getOpcode(), operand(0), vector_of(inst.getType()));
        } else if (inst.getOpcode() == llvm::Instruction::FNeg) {
            out = b.CreateFNeg(operand(0));
        } else if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst)) {
            llvm::SmallVector<llvm::Value*, 3> operands;
            for (unsigned i = 0; i < call->arg_size(); ++i) {
                const bool constant = call->paramHasAttr(i, llvm::Attribute::ImmArg);
                operands.push_back(constant ? call->getArgOperand(i) : operand(i));
            }
            out = b.CreateIntrinsic(vector_of(inst.getType()), call->getIntrinsicID(), operands);
        }
        WEFT_CHECK(out != nullptr, name + " has '" + inst.getOpcodeName() + "': no vectors are made of it");
        made[&inst] = out;
    }
}

}  // namespace weft::codegen::llvm_backend
