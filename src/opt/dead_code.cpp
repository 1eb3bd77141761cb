// Mark and sweep over the structured IR. Marking starts from effects and returns; a value that is needed marks what it
// is computed from, a result of an If the yields behind it, a carried value of a loop every way it gets its value.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "opt/opt.h"

namespace weft::opt {
namespace {

using namespace ir;

class DeadCode {
  public:
    DeadCode(const Module& module, Function& function) : module_(module), function_(function) {}

    void run() {
        collect(function_.body, nullptr);
        // Only now: what marks a loop marks all its exits.
        for (Op* root : roots_) mark(*root);
        while (!pending_.empty()) {
            const Value* value = pending_.back();
            pending_.pop_back();
            spread(*value);
        }
        sweep(function_.body);
    }

  private:
    // Finds the roots, and which terminators and stack ops belong together.
    void collect(Region& region, Op* loop) {
        for (Op* op : region.ops) {
            if (op->code == Opcode::Break || op->code == Opcode::Continue) exits_[loop].push_back(op);
            if (op->code == Opcode::Yield && is_loop_body(region)) exits_[region.parent].push_back(op);
            if (op->code == Opcode::StackPush || op->code == Opcode::StackPop || op->code == Opcode::StackRead ||
                op->code == Opcode::StackSeek) {
                stacks_[op->operands[0]].push_back(op);
            }
            if (const Op* local = stores(*op) ? local_array_of(op->operands[0]) : nullptr) {
                local_stores_[local].push_back(op);  // of use only if the array is read
                continue;
            }
            for (const auto& inner : op->regions) collect(*inner, is_loop(*op) ? op : loop);
            if (is_root(*op)) roots_.push_back(op);
        }
    }

    static bool is_loop_body(const Region& region) {
        return region.parent && is_loop(*region.parent) && region.parent->regions.back().get() == &region;
    }

    static bool stores(const Op& op) { return op.code == Opcode::Store || op.code == Opcode::Atomic; }

    bool is_root(const Op& op) const {
        if (op.code == Opcode::Return || op.code == Opcode::Unreachable) return true;
        if (op.code == Opcode::Call) return has_effects(module_, *module_.find(op.text));
        return has_effect(op);
    }

    void need(const Value* value) {
        if (live_values_.insert(value).second) pending_.push_back(value);
    }

    // The op runs: what decides whether and how it runs is needed. Its regions' values are needed only if used.
    void mark(Op& op) {
        if (!live_ops_.insert(&op).second) return;
        if (op.parent && op.parent->parent) mark(*op.parent->parent);
        if (is_loop(op)) {
            for (size_t i = 0; i < first_carried(op); ++i) need(op.operands[i]);
            if (op.code == Opcode::While) {
                Op* condition = op.regions[0]->terminator();
                live_ops_.insert(condition);
                need(condition->operands[0]);
            }
            for (Op* exit : exits_[&op]) {
                if (exit->code != Opcode::Yield) mark(*exit);
            }
        } else if (op.code == Opcode::If) {
            need(op.operands[0]);
        } else if (op.code != Opcode::Break && op.code != Opcode::Continue) {
            for (const Value* operand : op.operands) need(operand);
        }
    }

    void spread(const Value& value) {
        if (!value.op) {
            Op* parent = value.region->parent;
            if (!parent) return;
            mark(*parent);
            const size_t first = first_argument(*parent);
            if (static_cast<size_t>(value.index) >= first)
                need_carried(*parent, static_cast<size_t>(value.index) - first);
            return;
        }
        Op& op = *value.op;
        const auto index = static_cast<size_t>(value.index);
        mark(op);
        if (op.code == Opcode::If) {
            for (const auto& region : op.regions) {
                if (region->terminator()->code == Opcode::Yield) need(region->terminator()->operands[index]);
            }
        } else if (is_loop(op)) {
            need_carried(op, index);
        } else if (op.code == Opcode::LocalArray) {
            for (Op* store : local_stores_[&op]) mark(*store);
        } else if (op.code == Opcode::StackPop || op.code == Opcode::StackRead || op.code == Opcode::StackKeep) {
            for (Op* other : stacks_[op.operands[0]]) mark(*other);
        }
    }

    void need_carried(Op& loop, size_t k) {
        if (!carried_.insert({&loop, k}).second) return;
        need(loop.operands[first_carried(loop) + k]);
        for (Op* exit : exits_[&loop]) need(exit->operands[k]);
    }

    // Sweeping ------------------------------------------------------------------------------------------------------

    void sweep(Region& region) {
        std::erase_if(region.ops, [&](const Op* op) { return !is_terminator(op->code) && !live_ops_.contains(op); });
        for (Op* op : region.ops) {
            if (is_loop(*op)) {
                sweep_loop(*op);
            } else if (op->code == Opcode::If) {
                std::vector<bool> keep;
                for (const Value* result : op->results) keep.push_back(live_values_.contains(result));
                filter(op->results, keep);
                for (const auto& inner : op->regions) {
                    Op& end = *inner->terminator();
                    if (end.code == Opcode::Yield) filter(end.operands, keep, 0);
                }
            }
            for (const auto& inner : op->regions) sweep(*inner);
        }
    }

    void sweep_loop(Op& loop) {
        std::vector<bool> keep;
        for (size_t k = 0; k < loop.results.size(); ++k) keep.push_back(carried_.contains({&loop, k}));
        filter(loop.results, keep);
        filter(loop.operands, keep, first_carried(loop));
        for (const auto& region : loop.regions) {
            filter(region->arguments, keep, first_argument(loop));
            renumber(region->arguments);
        }
        for (Op* exit : exits_[&loop]) filter(exit->operands, keep, 0);
    }

    static void filter(std::vector<Value*>& values, const std::vector<bool>& keep, size_t from) {
        std::vector<Value*> kept(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(from));
        for (size_t k = 0; k < keep.size(); ++k) {
            if (keep[k]) kept.push_back(values[from + k]);
        }
        values = std::move(kept);
    }

    // Definitions are renumbered as well.
    static void filter(std::vector<Value*>& values, const std::vector<bool>& keep) {
        filter(values, keep, 0);
        renumber(values);
    }

    static void renumber(std::vector<Value*>& values) {
        for (size_t i = 0; i < values.size(); ++i) values[i]->index = static_cast<int>(i);
    }

    struct PairHash {
        size_t operator()(const std::pair<const Op*, size_t>& p) const {
            return std::hash<const void*>()(p.first) * 31 + p.second;
        }
    };

    const Module& module_;
    Function& function_;
    std::vector<Op*> roots_;
    std::unordered_map<const Op*, std::vector<Op*>> exits_;      // of each loop: what sets its carried values
    std::unordered_map<const Value*, std::vector<Op*>> stacks_;  // pushes and pops of each stack
    std::unordered_map<const Op*, std::vector<Op*>> local_stores_;
    std::unordered_set<const Op*> live_ops_;
    std::unordered_set<const Value*> live_values_;
    std::unordered_set<std::pair<const Op*, size_t>, PairHash> carried_;
    std::vector<const Value*> pending_;
};

}  // namespace

void dead_code(Module& module, Function& function) { DeadCode(module, function).run(); }

void dead_code(Module& module) {
    for (const auto& function : module.functions) dead_code(module, *function);
}

}  // namespace weft::opt
