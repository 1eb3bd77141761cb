// An array's elements are an item's own when every access of the kernel to the array has, in some of its indices, the
// same affine forms, each of another coordinate of the item: items that differ in one of these coordinates then touch
// different elements. What the compiler cannot see (coordinates beyond those, strides, arrays that overlap) is left for
// the launch to check.
#include <algorithm>

#include "ir/builder.h"
#include "opt/item_forms.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

using namespace ir;

// The array parameter of an access and all its indices; a null parameter where it cannot be told.
struct Place {
    const Value* parameter = nullptr;
    bool local = false;  // in memory of the item
    std::vector<const Value*> indices;
};

Place place_of(const Value* value, const Function& kernel) {
    Place out;
    while (value->op != nullptr) {
        const Op& op = *value->op;
        if (op.code == Opcode::LocalArray) return {nullptr, true, {}};
        const bool steps = op.code == Opcode::At || op.code == Opcode::View;
        if (!steps && op.code != Opcode::Member && op.code != Opcode::MemberAt) return {};
        if (steps) out.indices.insert(out.indices.begin(), op.operands.begin() + 1, op.operands.end());
        value = op.operands[0];
    }
    if (value->region != &kernel.body) return {};
    out.parameter = value;
    return out;
}

struct Candidate {
    std::vector<std::optional<ItemForm>> forms;  // one an index; none: not the same in every access
    std::vector<Op*> atomics;
    bool seen = false;
};

// One coordinate, with a positive factor, from a known place on that is not negative: no index wraps.
int coordinate_of(const ItemForm& form) {
    if (!form.affine || !form.base || *form.base < 0) return -1;
    int found = -1;
    for (size_t d = 0; d < form.step.size(); ++d) {
        if (form.step[d] == 0) continue;
        if (form.step[d] < 0 || found >= 0) return -1;
        found = static_cast<int>(d);
    }
    return found;
}

}  // namespace

std::vector<OwnElements> own_elements(const Module&, Function& kernel) {
    const auto is_plain = [](const Type type) { return !type.contains_array() || type.is(TypeKind::Array); };
    for (const Value* parameter : kernel.parameters()) {
        if (!is_plain(parameter->type)) return {};
        if (parameter->type.is(TypeKind::Array) && parameter->type.target().contains_array()) return {};
    }
    bool told = true;
    bool atomics = false;
    std::vector<Op*> accesses;
    walk(kernel.body, [&](Op& op) {
        if (op.code == Opcode::Load || op.code == Opcode::Store || op.code == Opcode::Atomic) accesses.push_back(&op);
        atomics = atomics || op.code == Opcode::Atomic;
        for (const Value* operand : op.operands) {
            const bool passed = op.code == Opcode::Call || op.code == Opcode::Native || op.code == Opcode::Snippet ||
                                op.code == Opcode::If || op.code == Opcode::Select || is_loop(op) ||
                                is_terminator(op.code);
            told = told && !(passed && (operand->type.contains_array() || operand->type.is(TypeKind::Ref)));
        }
    });
    if (!told || !atomics) return {};
    const ItemForms forms(kernel);
    std::vector<Candidate> candidates(kernel.parameters().size());
    for (Op* op : accesses) {
        const Place place = place_of(op->operands[0], kernel);
        if (place.local) continue;
        if (!place.parameter) return {};
        Candidate& candidate = candidates[static_cast<size_t>(place.parameter->index)];
        for (size_t i = 0; i < place.indices.size(); ++i) {
            const ItemForm& form = forms[place.indices[i]];
            if (!candidate.seen) {
                candidate.forms.push_back(coordinate_of(form) >= 0 ? std::optional(form) : std::nullopt);
            } else if (candidate.forms[i] != form) {
                candidate.forms[i].reset();
            }
        }
        candidate.seen = true;
        if (op->code == Opcode::Atomic) candidate.atomics.push_back(op);
    }
    std::vector<OwnElements> out;
    for (size_t p = 0; p < candidates.size(); ++p) {
        const Candidate& candidate = candidates[p];
        OwnElements own{static_cast<int>(p), 0};
        for (const auto& form : candidate.forms) {
            if (form) own.coordinates |= 1U << static_cast<unsigned>(coordinate_of(*form));
        }
        if (candidate.atomics.empty() || own.coordinates == 0) continue;
        for (Op* op : candidate.atomics) op->text = kOwnElement;
        out.push_back(own);
    }
    return out;
}

}  // namespace weft::opt
