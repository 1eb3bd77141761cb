// Carried values of loops that every turn hands on as they came, and results of ifs that are the same value in both
// arms, are replaced by that value. What the front end makes when it takes a name for assigned that was only written
// through.
#include <unordered_map>

#include "opt/opt.h"

namespace weft::opt {
namespace {

using namespace ir;

class UnchangedValues {
  public:
    bool run(Function& function) {
        region(function.body);
        return changed_;
    }

  private:
    Value* resolve(Value* value) const {
        for (auto it = same_.find(value); it != same_.end(); it = same_.find(value)) value = it->second;
        return value;
    }

    void replace(Value* value, Value* by) {
        same_[value] = by;
        changed_ = true;
    }

    void region(Region& r) {
        for (Op* op : r.ops) {
            for (Value*& operand : op->operands) operand = resolve(operand);
            if (is_loop(*op)) loop(*op);
            for (const auto& inner : op->regions) region(*inner);
            if (op->code == Opcode::If) branch(*op);
        }
    }

    // The operands by which a carried value is set again in the loop's body.
    static void exits(const Region& r, const Op& loop, std::vector<Op*>& out) {
        for (Op* op : r.ops) {
            const bool yields = op->code == Opcode::Yield && r.parent == &loop;
            if (yields || op->code == Opcode::Break || op->code == Opcode::Continue) out.push_back(op);
            if (is_loop(*op)) continue;
            for (const auto& inner : op->regions) exits(*inner, loop, out);
        }
    }

    void loop(Op& op) {
        std::vector<Op*> ends;
        exits(*op.regions.back(), op, ends);
        for (size_t k = 0; k < op.results.size(); ++k) {
            Value* argument = op.regions.back()->arguments[first_argument(op) + k];
            Value* initial = op.operands[first_carried(op) + k];
            bool kept = !same_.contains(op.results[k]);
            for (const Op* end : ends) {
                Value* next = resolve(end->operands[k]);
                kept = kept && (next == argument || next == initial);
            }
            if (!kept) continue;
            for (const auto& r : op.regions) replace(r->arguments[first_argument(op) + k], initial);
            replace(op.results[k], initial);
        }
    }

    void branch(Op& op) {
        const Op& then = *op.regions[0]->terminator();
        const Op& otherwise = *op.regions[1]->terminator();
        for (size_t k = 0; k < op.results.size(); ++k) {
            // An arm that does not come back has no say.
            Value* value = then.code == Opcode::Yield ? resolve(then.operands[k]) : nullptr;
            Value* other = otherwise.code == Opcode::Yield ? resolve(otherwise.operands[k]) : value;
            if (!value) value = other;
            if (value && value == other && !defined_inside(value, op)) replace(op.results[k], value);
        }
    }

    static bool defined_inside(const Value* value, const Op& op) {
        const Region* r = value->op ? value->op->parent : value->region;
        for (; r; r = r->parent ? r->parent->parent : nullptr) {
            if (r->parent == &op) return true;
        }
        return false;
    }

    std::unordered_map<const Value*, Value*> same_;
    bool changed_ = false;
};

}  // namespace

void unchanged_values(Module& module) {
    for (const auto& function : module.functions) {
        // A loop's inner ifs become simple only after its body was seen: again until nothing changes.
        while (UnchangedValues().run(*function)) dead_code(module, *function);
    }
}

}  // namespace weft::opt
