#include "codegen/llvm/snippets/races.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize.h"
#include "codegen/shared_access.h"

namespace weft::codegen::llvm_backend {
namespace {

// The files that a program's places are in.
class Places {
  public:
    explicit Places(const ir::Module& source) {
        for (const auto& function : source.functions) {
            add(function->location);
            ir::walk(function->body, [&](const ir::Op& op) { add(op.location); });
        }
    }

    // What a message says of the place; "" where it is none of the program's.
    std::string text(const llvm::DebugLoc& where) const {
        for (const llvm::DILocation* at = where.get(); at != nullptr; at = at->getInlinedAt()) {
            const llvm::StringRef folder = at->getDirectory();
            const std::string name = at->getFilename().str();
            const auto file = files_.find(folder.empty() ? name : folder.str() + "/" + name);
            if (file == files_.end()) continue;  // a header of snippets
            const auto line = static_cast<int>(at->getLine());
            const int column = std::max(0, static_cast<int>(at->getColumn()) - 1);
            return render("", {file->second, line, column, line, column + 1}, {});
        }
        return "";
    }

  private:
    void add(const Location& place) {
        if (place && place.file != nullptr) files_.try_emplace(place.file->path, place.file);
    }

    std::map<std::string, std::shared_ptr<const SourceFile>> files_;
};

struct Found {
    llvm::Instruction* instruction;
    llvm::Value* address;
    llvm::Value* bytes;
    SharedAccess kind;
    llvm::Value* stored = nullptr;
};

class Teller {
  public:
    Teller(const ir::Module& source, llvm::Module& module) : places_(source), module_(module) {}

    void tell(llvm::Function& function) {
        std::vector<Found> all;
        for (llvm::Instruction& instruction : llvm::instructions(function)) find(instruction, all);
        for (const Found& found : all) tell(function, found);
    }

  private:
    void find(llvm::Instruction& i, std::vector<Found>& out) {
        const llvm::DataLayout& layout = module_.getDataLayout();
        auto* word = llvm::Type::getInt64Ty(module_.getContext());
        const auto size = [&](const llvm::Type* type) {
            return llvm::ConstantInt::get(word, layout.getTypeStoreSize(const_cast<llvm::Type*>(type)));
        };
        const auto add = [&](llvm::Value* address, llvm::Value* bytes, SharedAccess kind, llvm::Value* stored) {
            const llvm::Value* object = llvm::getUnderlyingObject(address);
            if (llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(object)) return;
            const bool part = i.hasMetadata(kPartOfUpdate);
            out.push_back({&i, address, bytes, part ? SharedAccess::Atomic : kind, stored});
        };
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&i)) {
            add(load->getPointerOperand(), size(load->getType()),
                load->isAtomic() ? SharedAccess::Atomic : SharedAccess::Read, nullptr);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
            llvm::Value* value = store->getValueOperand();
            add(store->getPointerOperand(), size(value->getType()),
                store->isAtomic() ? SharedAccess::Atomic : SharedAccess::Write, value);
        } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&i)) {
            add(update->getPointerOperand(), size(update->getType()), SharedAccess::Atomic, nullptr);
        } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&i)) {
            add(exchange->getPointerOperand(), size(exchange->getCompareOperand()->getType()), SharedAccess::Atomic,
                nullptr);
        } else if (auto* fill = llvm::dyn_cast<llvm::MemIntrinsic>(&i)) {
            add(fill->getRawDest(), fill->getLength(), SharedAccess::Write, nullptr);
            if (auto* move = llvm::dyn_cast<llvm::MemTransferInst>(&i))
                add(move->getRawSource(), move->getLength(), SharedAccess::Read, nullptr);
        }
    }

    void tell(llvm::Function& function, const Found& found) {
        llvm::IRBuilder<> b(found.instruction);
        auto* pointer = b.getPtrTy();
        llvm::Value* stored = llvm::ConstantPointerNull::get(pointer);
        if (found.kind == SharedAccess::Write && found.stored != nullptr) {
            llvm::BasicBlock& entry = function.getEntryBlock();
            llvm::IRBuilder<> start(&entry, entry.begin());
            stored = start.CreateAlloca(found.stored->getType());
            b.CreateStore(found.stored, stored);
        }
        auto* type =
            llvm::FunctionType::get(b.getVoidTy(), {pointer, b.getInt64Ty(), b.getInt32Ty(), pointer, pointer}, false);
        b.CreateCall(type, declared(module_, "weft_shared_access", type),
                     {found.address, found.bytes, b.getInt32(static_cast<uint32_t>(found.kind)),
                      place(b, found.instruction->getDebugLoc()), stored});
    }

    llvm::Constant* place(llvm::IRBuilder<>& b, const llvm::DebugLoc& where) {
        llvm::Constant*& out = texts_[places_.text(where)];
        if (out == nullptr) out = b.CreateGlobalString(places_.text(where));
        return out;
    }

    Places places_;
    llvm::Module& module_;
    std::map<std::string, llvm::Constant*> texts_;
};

}  // namespace

void tell_accesses(const ir::Module& source, llvm::Module& module) {
    // A place in a header belongs to the line of the snippet that uses it.
    inline_functions(module);
    Teller teller(source, module);
    for (llvm::Function& function : module) {
        if (!function.isDeclaration()) teller.tell(function);
    }
}

}  // namespace weft::codegen::llvm_backend
