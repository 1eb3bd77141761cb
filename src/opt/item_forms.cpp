// One walk over the structured IR; loops are repeated until the forms of their carried values stay. A value that paths
// join is uniform where the choice of the path is uniform and each path's value is.
#include "opt/item_forms.h"

#include "base/error.h"
#include "ir/builder.h"

namespace weft::opt {
namespace {

using namespace ir;

bool leaves_inside_divergent_if(const Region& region, const std::unordered_map<const Op*, bool>& diverges,
                                bool divergent, bool inner_loop) {
    for (const Op* op : region.ops) {
        const bool leaves =
            op->code == Opcode::Return || (!inner_loop && (op->code == Opcode::Break || op->code == Opcode::Continue));
        if (leaves && divergent && region.parent) return true;
        const auto found = diverges.find(op);
        const bool below = divergent || (found != diverges.end() && found->second);
        for (const auto& inner : op->regions) {
            if (leaves_inside_divergent_if(*inner, diverges, below, inner_loop || is_loop(*op))) return true;
        }
    }
    return false;
}

// The same value for all, though not the same as before.
ItemForm without_base(ItemForm form) {
    form.base.reset();
    return form;
}

ItemForm join(const ItemForm& a, const ItemForm& b) {
    if (a == b) return a;
    if (a.affine && b.affine && a.step == b.step) return without_base(a);
    return ItemForm::varying();
}

bool is_index(Type type) { return type.is_signed() && scalar_bits(type.element()) >= 32; }

}  // namespace

ItemForms::ItemForms(const Function& kernel, int rows) : rows_(rows) {
    for (const Value* parameter : kernel.parameters()) set(parameter, {});
    region(kernel.body, false);
}

const ItemForm& ItemForms::operator[](const Value* value) const {
    const auto place = forms_.find(value);
    WEFT_CHECK(place != forms_.end(), "value %" + std::to_string(value->id) + " has no form");
    return place->second;
}

bool ItemForms::diverges(const Op& op) const {
    const auto place = diverges_.find(&op);
    return place != diverges_.end() && place->second;
}

void ItemForms::region(const Region& region, bool divergent) {
    for (const Op* op : region.ops) {
        if (is_loop(*op)) {
            loop(*op, divergent);
        } else if (op->code == Opcode::If) {
            branch(*op, divergent);
        } else {
            for (const Value* result : op->results) set(result, form(*op));
        }
    }
}

void ItemForms::branch(const Op& op, bool divergent) {
    const bool split = !uniform(op.operands[0]);
    diverges_[&op] = split;
    for (const auto& inner : op.regions) region(*inner, divergent || split);
    for (size_t k = 0; k < op.results.size(); ++k) {
        std::optional<ItemForm> all;
        for (const auto& inner : op.regions) {
            if (inner->terminator()->code != Opcode::Yield) continue;
            const ItemForm& one = (*this)[inner->terminator()->operands[k]];
            all = !all ? one : split ? ItemForm::varying() : join(*all, one);
        }
        set(op.results[k], all.value_or(ItemForm{}));
    }
}

void ItemForms::loop(const Op& op, bool divergent) {
    const Region& body = *op.regions.back();
    const size_t first = first_argument(op);
    const size_t from = first_carried(op);
    bool split = false;
    if (op.code == Opcode::For) {
        for (size_t i = 0; i < 3; ++i) split = split || !uniform(op.operands[i]);
        const bool steps = uniform(op.operands[2]);
        set(body.arguments[0], steps ? without_base((*this)[op.operands[0]]) : ItemForm::varying());
    }
    std::vector<ItemForm> carried;
    for (size_t k = 0; k < op.results.size(); ++k) carried.push_back((*this)[op.operands[from + k]]);
    while (true) {
        for (size_t k = 0; k < carried.size(); ++k) {
            for (const auto& inner : op.regions) set(inner->arguments[first + k], carried[k]);
        }
        if (op.code == Opcode::While) {
            region(*op.regions[0], divergent);
            split = split || !uniform(op.regions[0]->terminator()->operands[0]);
        }
        diverges_[&op] = split;
        region(body, divergent || split);
        if (!split && leaves_inside_divergent_if(body, diverges_, false, false)) split = true;
        std::vector<ItemForm> next = carried;
        const auto look = [&](const auto& self, const Region& r) -> void {
            for (const Op* inner : r.ops) {
                const bool turns = inner->code == Opcode::Yield && r.parent == &op;
                if (turns || inner->code == Opcode::Break || inner->code == Opcode::Continue) {
                    for (size_t k = 0; k < next.size(); ++k) next[k] = join(next[k], (*this)[inner->operands[k]]);
                }
                if (is_loop(*inner)) continue;
                for (const auto& deeper : inner->regions) self(self, *deeper);
            }
        };
        look(look, body);
        // What goes on changing from turn to turn has no constant base, and items that turn differently differ.
        for (size_t k = 0; k < next.size(); ++k) {
            if (split) next[k] = ItemForm::varying();
        }
        if (next == carried) break;
        carried = std::move(next);
    }
    diverges_[&op] = split;
    for (size_t k = 0; k < op.results.size(); ++k) set(op.results[k], carried[k]);
}

ItemForm ItemForms::form(const Op& op) const {
    const auto operand = [&](size_t i) -> const ItemForm& { return (*this)[op.operands[i]]; };
    const auto scaled = [](ItemForm form, int64_t factor) {
        for (int64_t& step : form.step) step *= factor;
        if (form.base) *form.base *= factor;
        return form;
    };
    bool uniform_operands = true;
    for (size_t i = 0; i < op.operands.size(); ++i) uniform_operands = uniform_operands && operand(i).uniform();
    const Type type = op.results.empty() ? Type() : op.result()->type;
    switch (op.code) {
        case Opcode::Const:
            if (type.is_int()) return ItemForm::constant(constant_integer(op.result()));
            return {};
        case Opcode::Zero:
            if (type.is_int()) return ItemForm::constant(0);
            return {};
        case Opcode::ThreadIndex: {
            const auto dimension = static_cast<size_t>(op.ints[0]);
            ItemForm out = ItemForm::constant(0);
            if (rows_ > 0 && static_cast<int>(dimension) + 1 != rows_) return {};
            out.step[dimension] = 1;
            return out;
        }
        case Opcode::Add:
        case Opcode::Sub: {
            if (!is_index(type) || !operand(0).affine || !operand(1).affine) break;
            const ItemForm b = scaled(operand(1), op.code == Opcode::Add ? 1 : -1);
            ItemForm out = operand(0);
            for (size_t d = 0; d < out.step.size(); ++d) out.step[d] += b.step[d];
            out.base = out.base && b.base ? std::optional(*out.base + *b.base) : std::nullopt;
            return out;
        }
        case Opcode::Mul:
            if (!is_index(type)) break;
            for (size_t i = 0; i < 2; ++i) {
                const ItemForm& factor = operand(i);
                if (factor.uniform() && factor.base && operand(1 - i).affine) {
                    return scaled(operand(1 - i), *factor.base);
                }
            }
            break;
        case Opcode::Cast:
            // Widening keeps the number.
            if (is_index(type) && is_index(op.operands[0]->type) && operand(0).affine &&
                scalar_bits(type.element()) >= scalar_bits(op.operands[0]->type.element())) {
                return operand(0);
            }
            break;
        // What one item sees of memory that changes, others need not.
        case Opcode::Atomic:
        case Opcode::Call:
        case Opcode::Snippet:
        case Opcode::LocalArray:
        case Opcode::StackNew:
        case Opcode::StackKeep:
        case Opcode::StackPop:
        case Opcode::StackRead:
        case Opcode::StackPosition:
            return ItemForm::varying();
        default:
            break;
    }
    return uniform_operands ? ItemForm{} : ItemForm::varying();
}

}  // namespace weft::opt
