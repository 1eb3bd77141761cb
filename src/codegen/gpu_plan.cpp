#include "codegen/gpu_plan.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/nonnegative.h"
#include "ir/layout.h"
#include "opt/in_loop.h"
#include "opt/item_forms.h"

namespace weft::codegen {
namespace {

using ir::Op;
using ir::Opcode;

constexpr int kItems = 4;
// Beyond these a thread has enough to do with one item, and needs its registers for that.
constexpr int kMostOps = 48;
constexpr int64_t kMostBytes = 64;

int coordinates_of(const ir::Module& module) {
    int out = 0;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const Op& op) {
            if (op.code == Opcode::ThreadIndex) out = std::max(out, static_cast<int>(op.ints.at(0)) + 1);
        });
    }
    return out;
}

bool is_number(ir::Type type) {
    if (!type.is(ir::TypeKind::Scalar)) return false;
    switch (type.element()) {
        case ir::Scalar::I32:
        case ir::Scalar::U32:
        case ir::Scalar::I64:
        case ir::Scalar::U64:
        case ir::Scalar::F32:
        case ir::Scalar::F64:
            return true;
        default:
            return false;
    }
}

// The ops of the body and of branches in it; nothing of what is repeated.
template <typename Visit>
void walk_once(const ir::Region& region, const Visit& visit) {
    for (const Op* op : region.ops) {
        visit(*op);
        if (op->code == Opcode::If) {
            for (const auto& inner : op->regions) walk_once(*inner, visit);
        }
    }
}

std::vector<const Op*> find_sums(const ir::Function& kernel) {
    std::unordered_set<const ir::Value*> used;
    ir::walk(kernel.body, [&](const Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    const opt::ItemForms forms(kernel);
    std::vector<const Op*> out;
    walk_once(kernel.body, [&](const Op& op) {
        if (op.code == Opcode::Atomic && op.atomic() == ir::AtomicKind::Add && is_number(op.operands[1]->type) &&
            !used.contains(op.result()) && forms.uniform(op.operands[0]) &&
            ir::local_array_of(op.operands[0]) == nullptr) {
            out.push_back(&op);
        }
    });
    // An item that reads on after its sum sees it, if the addresses meet: then nothing is put off.
    bool seen = false;
    bool reads_later = false;
    ir::walk(kernel.body, [&](const Op& op) {
        const bool sum = std::ranges::find(out, &op) != out.end();
        seen |= sum;
        const bool touches = op.code == Opcode::Load || op.code == Opcode::Store || op.code == Opcode::Call ||
                             op.code == Opcode::Native || op.code == Opcode::Snippet ||
                             (op.code == Opcode::Atomic && !sum);
        reads_later |= seen && touches;
    });
    if (reads_later) out.clear();
    return out;
}

// Whether items do nothing but read, compute and write: then four side by side cost little and save transactions.
bool streams(const ir::Function& kernel, const std::vector<const Op*>& sums) {
    int64_t bytes = 0;
    int count = 0;
    bool plain = true;
    ir::walk(kernel.body, [&](const Op& op) {
        ++count;
        switch (op.code) {
            case Opcode::Load:
                bytes += ir::size_of(op.result()->type);
                break;
            case Opcode::Store:
                bytes += ir::size_of(op.operands[1]->type);
                break;
            case Opcode::Atomic:
                plain &= std::ranges::find(sums, &op) != sums.end();
                break;
            case Opcode::Call:
            case Opcode::Native:
            case Opcode::Snippet:
            case Opcode::Print:
            case Opcode::Assert:
            case Opcode::StackNew:
            case Opcode::If:
            case Opcode::For:
            case Opcode::While:
                plain = false;
                break;
            default:
                break;
        }
    });
    return plain && count <= kMostOps && bytes > 0 && bytes <= kMostBytes;
}

// Whether an item reads arrays after it has written to one, and would have to read again what that did not change.
bool reads_after_writes(const ir::Function& kernel) {
    bool written = false;
    bool written_in_loop = false;
    bool read_in_loop = false;
    bool out = false;
    ir::walk(kernel.body, [&](const Op& op) {
        const bool writes = op.code == Opcode::Store || op.code == Opcode::Atomic;
        if ((!writes && op.code != Opcode::Load) || !is_in_given_array(op.operands[0])) return;
        written |= writes;
        (writes ? written_in_loop : read_in_loop) |= opt::in_loop(op);
        out |= !writes && written;
    });
    return out || (written_in_loop && read_in_loop);
}

// Whether a place in an array of several dimensions is computed, or a remainder whose sign the bounds decide.
bool narrows(const ir::Module& module) {
    NonNegative always;
    NonNegative bounded(true);
    bool out = false;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const Op& op) {
            out |= op.code == Opcode::At && op.operands[0]->op == nullptr && op.operands[0]->type.ndim() > 1;
            out |= op.code == Opcode::Rem && !always(op.result()) && bounded(op.result());
        });
    }
    return out;
}

bool adds_vectors(const ir::Function& kernel) {
    std::unordered_set<const ir::Value*> used;
    ir::walk(kernel.body, [&](const Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    bool out = false;
    ir::walk(kernel.body, [&](const Op& op) { out |= adds_vector(op, used); });
    return out;
}

bool asks_for_blocks(const ir::Module& module) {
    bool out = false;
    for (const auto& function : module.functions) {
        ir::walk(function->body, [&](const Op& op) { out |= op.code == Opcode::Snippet; });
    }
    return out;
}

}  // namespace

bool is_in_given_array(const ir::Value* ref) {
    while (ref->op != nullptr && ref->op->code != Opcode::At && ref->type.is(ir::TypeKind::Ref) &&
           !ref->op->operands.empty()) {
        ref = ref->op->operands[0];
    }
    return ref->op != nullptr && ref->op->code == Opcode::At && ref->op->operands[0]->op == nullptr;
}

bool adds_vector(const Op& op, const std::unordered_set<const ir::Value*>& used) {
    if (op.code != Opcode::Atomic || op.atomic() != ir::AtomicKind::Add || used.contains(op.result())) return false;
    const ir::Type type = op.operands[1]->type;
    return type.is_aggregate() && type.element() == ir::Scalar::F32 && is_in_given_array(op.operands[0]);
}

GpuPlan plan_for_gpu(const ir::Module& module, const ir::Function& kernel) {
    GpuPlan out;
    out.coordinates = coordinates_of(module);
    out.sums = find_sums(kernel);
    out.has_sums = !out.sums.empty();
    if (out.coordinates <= 1 && streams(kernel, out.sums)) out.items = kItems;
    out.narrows = out.items == 1 && (narrows(module) || reads_after_writes(kernel) || adds_vectors(kernel));
    out.free_blocks = !asks_for_blocks(module);
    return out;
}

}  // namespace weft::codegen
