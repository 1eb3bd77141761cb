// A vector of the machine's size is the rule. Where lanes add to one place in each turn of a loop, as adjoints of
// all-pairs loops do, or do little besides, the sum over lanes and the wait for it cost more than the rest: several
// vectors share one sum.
#include "codegen/llvm/lane_count.h"

#include <unordered_set>

#include "opt/in_loop.h"
#include "opt/item_forms.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr int kVectorsASum = 4;
constexpr int kLittle = 24;  // ops of a kernel

bool is_uniform_place(const ir::Value* ref, const opt::ItemForms& forms) {
    for (; ref->op != nullptr && !ref->type.is(ir::TypeKind::Array); ref = ref->op->operands[0]) {
        for (size_t i = 1; i < ref->op->operands.size(); ++i) {
            if (!forms.uniform(ref->op->operands[i])) return false;
        }
    }
    return true;
}

}  // namespace

int lane_count(const ir::Function& kernel, int coordinates, int native) {
    std::unordered_set<const ir::Value*> used;
    bool atomics = false;
    int ops = 0;
    ir::walk(kernel.body, [&](const ir::Op& op) {
        ++ops;
        used.insert(op.operands.begin(), op.operands.end());
        atomics = atomics || op.code == ir::Opcode::Atomic;
    });
    if (!atomics) return native;
    const opt::ItemForms forms(kernel, coordinates);
    bool sums = false;
    ir::walk(kernel.body, [&](const ir::Op& op) {
        sums = sums || (op.code == ir::Opcode::Atomic && op.atomic() == ir::AtomicKind::Add &&
                        op.operands[1]->type.has_float_elements() && !used.contains(op.result()) &&
                        (ops <= kLittle || opt::in_loop(op)) && is_uniform_place(op.operands[0], forms));
    });
    return sums ? kVectorsASum * native : native;
}

}  // namespace weft::codegen::llvm_backend
