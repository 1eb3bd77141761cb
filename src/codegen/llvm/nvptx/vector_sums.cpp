#include "codegen/llvm/nvptx/vector_sums.h"

#include <llvm/IR/InlineAsm.h>

#include <string>

#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/nvptx/nvptx_machine.h"

namespace weft::codegen::llvm_backend {
namespace {

using llvm::Value;

constexpr int kFirst = 90;
constexpr unsigned kGlobalSpace = 1;

class Adder {
  public:
    Adder(llvm::IRBuilder<>& builder, Value* address)
        : b_(builder),
          address_(builder.CreateAddrSpaceCast(address, llvm::PointerType::get(builder.getContext(), kGlobalSpace))) {}

    Value* at(size_t number) { return after(b_.getInt64(4 * number)); }
    Value* after(Value* bytes) { return b_.CreateGEP(b_.getInt8Ty(), address_, bytes); }

    void add(Value* to, llvm::ArrayRef<Value*> numbers) {
        static const std::string names[] = {"$1", "{$1, $2}", "", "{$1, $2, $3, $4}"};
        static const std::string kinds[] = {"", ".v2", "", ".v4"};
        const size_t kind = numbers.size() - 1;
        llvm::SmallVector<llvm::Type*, 5> types = {to->getType()};
        llvm::SmallVector<Value*, 5> operands = {to};
        std::string constraints = "l";
        for (Value* number : numbers) {
            types.push_back(number->getType());
            operands.push_back(number);
            constraints += ",f";
        }
        auto* type = llvm::FunctionType::get(b_.getVoidTy(), types, false);
        const std::string text = "red.global.add" + kinds[kind] + ".f32 [$0], " + names[kind] + ";";
        auto* call = b_.CreateCall(llvm::InlineAsm::get(type, text, constraints, true), operands);
        call->setDoesNotThrow();
        call->setOnlyAccessesArgMemory();
    }

    // An odd number of them at an address of which nothing more is known: pairs from the first or the second on,
    // whichever is a multiple of eight bytes, and the one that is left.
    void add_from_either(llvm::ArrayRef<Value*> numbers) {
        Value* bits = b_.CreateTrunc(b_.CreatePtrToInt(address_, b_.getInt64Ty()), b_.getInt32Ty());
        Value* low = b_.CreateAnd(bits, b_.getInt32(4));
        Value* second = b_.CreateICmpNE(low, b_.getInt32(0));
        Value* shift = b_.CreateZExt(low, b_.getInt64Ty());
        const auto chosen = [&](size_t k) { return b_.CreateSelect(second, numbers[k + 1], numbers[k]); };
        for (size_t k = 0; k + 1 < numbers.size(); k += 2) {
            add(after(b_.CreateAdd(shift, b_.getInt64(4 * k), "", true, true)), {chosen(k), chosen(k + 1)});
        }
        const size_t last = numbers.size() - 1;
        Value* bytes = b_.CreateSelect(second, b_.getInt64(0), b_.getInt64(4 * last));
        add(after(bytes), b_.CreateSelect(second, numbers[0], numbers[last]));
    }

  private:
    llvm::IRBuilder<>& b_;
    Value* address_;
};

}  // namespace

bool has_vector_sums(const Options& options) {
    return options.narrow && options.architecture.starts_with("sm_") &&
           std::stoi(options.architecture.substr(3)) >= kFirst;
}

bool NvptxMachine::add_together(ModuleContext& module, llvm::IRBuilder<>& builder, Value* address,
                                llvm::ArrayRef<Value*> numbers, int64_t alignment) const {
    if (!has_vector_sums(module.options) || numbers.size() < 2) return false;
    Adder adder(builder, address);
    if (alignment < 8) {
        if (numbers.size() % 2 == 0) return false;
        adder.add_from_either(numbers);
        return true;
    }
    for (size_t k = 0; k < numbers.size();) {
        const size_t left = numbers.size() - k;
        const size_t count = alignment >= 16 && left >= 4 ? 4 : left >= 2 ? 2 : 1;
        adder.add(adder.at(k), numbers.slice(k, count));
        k += count;
    }
    return true;
}

}  // namespace weft::codegen::llvm_backend
