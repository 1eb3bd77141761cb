// Turns break, continue and early return into flags. A piece of code that may leave early yields how it left (a code)
// and what it leaves with (the loop's carried values, the function's results); what follows it runs only when the code
// says that nothing was left. A loop that is left becomes a While over its own condition and that code.
#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "ir/builder.h"
#include "opt/opt.h"

namespace weft::opt {
namespace {

using namespace ir;
using Values = std::vector<Value*>;

enum Code : int { kStays = 0, kContinues = 1, kBreaks = 2, kReturns = 3 };

// How a piece of code ended: the code (an i32) and the values of each way; those of the ways not taken are zeros.
struct Outcome {
    Value* code = nullptr;
    Values yields;   // of the enclosing region's yield
    Values carried;  // of the enclosing loop
    Values results;  // of the function
};

struct LoopContext {
    std::vector<Type> carried;
};

class SingleExit {
  public:
    SingleExit(Module& module, const Function& old, Function& made) : old_(old), b_(module, made) {
        made.results = old.results;
    }

    void run() {
        for (const Value* parameter : old_.parameters()) {
            map_[parameter] = b_.parameter(parameter->type, parameter->name);
        }
        const Outcome end = rest(old_.body, 0, nullptr, {});
        b_.return_(end.results);
    }

    static bool needed(const Function& function) {
        bool found = false;
        walk(function.body, [&](const Op& op) {
            found = found || op.code == Opcode::Break || op.code == Opcode::Continue ||
                    (op.code == Opcode::Return && op.parent != &function.body);
        });
        return found;
    }

  private:
    // Whether an op may leave the region that holds it, past itself (breaks of loops inside it stay inside).
    static bool leaves(const Op& op) {
        if (op.code == Opcode::If) {
            return std::any_of(op.regions.begin(), op.regions.end(), [](const auto& r) { return region_leaves(*r); });
        }
        bool returns = false;
        for (const auto& region : op.regions) {
            walk(*region, [&](const Op& inner) { returns = returns || inner.code == Opcode::Return; });
        }
        return returns;
    }

    static bool region_leaves(const Region& region) {
        return region.terminator()->code != Opcode::Yield ||
               std::any_of(region.ops.begin(), region.ops.end(), [](const Op* op) { return leaves(*op); });
    }

    static bool is_left(const Op& loop) {  // by a break or a return
        bool left = false;
        const auto look = [&](const auto& self, const Region& region) -> void {
            for (const Op* op : region.ops) {
                left = left || op->code == Opcode::Break || op->code == Opcode::Return;
                const bool inner_loop = op->code == Opcode::For || op->code == Opcode::While;
                if (inner_loop) left = left || leaves(*op);
                if (!inner_loop) {
                    for (const auto& inner : op->regions) self(self, *inner);
                }
            }
        };
        look(look, *loop.regions.back());
        return left;
    }

    Value* code(Code c) { return b_.constant(i32(), static_cast<int>(c)); }

    Values zeros(std::span<const Type> types) {
        Values out;
        for (const Type type : types) out.push_back(b_.zero(type));
        return out;
    }

    Values mapped(std::span<Value* const> values) const {
        Values out;
        for (const Value* v : values) out.push_back(map_.at(v));
        return out;
    }

    static std::vector<Type> types_of(std::span<Value* const> values) {
        std::vector<Type> out;
        for (const Value* v : values) out.push_back(v->type);
        return out;
    }

    // Emits the ops of a region from `first` on; `yields` are the types of its yield.
    Outcome rest(const Region& region, size_t first, const LoopContext* loop, std::span<const Type> yields) {
        for (size_t i = first; i < region.ops.size(); ++i) {
            const Op& op = *region.ops[i];
            b_.set_location(op.location);
            if (is_terminator(op.code)) return terminator(op, loop, yields);
            if (op.code == Opcode::If && leaves(op)) return after(branch(op, loop), op, region, i, loop, yields);
            if (op.code == Opcode::For || op.code == Opcode::While) {
                const Outcome outcome = this->loop(op, loop);
                if (leaves(op)) return after(outcome, op, region, i, loop, yields);
                define(op, outcome.yields);
            } else {
                clone_op(b_, op, map_, [&](const Op& inner, ValueMap&) { return replaces(inner); });
            }
        }
        WEFT_CHECK(false, "region without a terminator");
    }

    // Loops inside cloned ifs are rewritten as well.
    bool replaces(const Op& op) {
        if (op.code != Opcode::For && op.code != Opcode::While) return false;
        define(op, loop(op, nullptr).yields);
        return true;
    }

    void define(const Op& op, const Values& values) {
        for (size_t k = 0; k < op.results.size(); ++k) {
            map_[op.results[k]] = values[k];
            if (values[k]->name.empty()) values[k]->name = op.results[k]->name;
        }
    }

    Outcome terminator(const Op& op, const LoopContext* loop, std::span<const Type> yields) {
        Outcome out;
        const Values values = mapped(op.operands);
        const bool leaves_loop = op.code == Opcode::Continue || op.code == Opcode::Break;
        out.yields = op.code == Opcode::Yield ? values : zeros(yields);
        out.carried = leaves_loop ? values : loop ? zeros(loop->carried) : Values{};
        out.results = op.code == Opcode::Return ? values : zeros(old_.results);
        out.code = code(op.code == Opcode::Continue ? kContinues
                        : op.code == Opcode::Break  ? kBreaks
                        : op.code == Opcode::Yield  ? kStays
                                                    : kReturns);
        return out;
    }

    // Packs an outcome into the yields of an if, and back.
    static Values pack(const Outcome& o) {
        Values all = {o.code};
        for (const Values* part : {&o.yields, &o.carried, &o.results})
            all.insert(all.end(), part->begin(), part->end());
        return all;
    }

    Outcome unpack(const Values& all, size_t yields, size_t carried) const {
        Outcome o;
        o.code = all[0];
        auto at = all.begin() + 1;
        o.yields.assign(at, at + static_cast<std::ptrdiff_t>(yields));
        at += static_cast<std::ptrdiff_t>(yields);
        o.carried.assign(at, at + static_cast<std::ptrdiff_t>(carried));
        o.results.assign(at + static_cast<std::ptrdiff_t>(carried), all.end());
        return o;
    }

    std::vector<Type> packed_types(std::span<const Type> yields, const LoopContext* loop) const {
        std::vector<Type> types = {i32()};
        types.insert(types.end(), yields.begin(), yields.end());
        if (loop) types.insert(types.end(), loop->carried.begin(), loop->carried.end());
        types.insert(types.end(), old_.results.begin(), old_.results.end());
        return types;
    }

    Outcome branch(const Op& op, const LoopContext* loop) {
        const auto yields = types_of(op.results);
        const auto arm = [&](size_t k) { return [&, k] { b_.yield(pack(rest(*op.regions[k], 0, loop, yields))); }; };
        const Values all = b_.if_(map_.at(op.operands[0]), packed_types(yields, loop), arm(0), arm(1));
        return unpack(all, yields.size(), loop ? loop->carried.size() : 0);
    }

    // The ops behind `op`, which ended as `outcome` says, run only when it stayed.
    Outcome after(const Outcome& outcome, const Op& op, const Region& region, size_t index, const LoopContext* loop,
                  std::span<const Type> yields) {
        define(op, outcome.yields);
        const auto types = packed_types(yields, loop);
        Value* stays = b_.compare(Opcode::Eq, outcome.code, code(kStays));
        const Values all = b_.if_(
            stays, types, [&] { b_.yield(pack(rest(region, index + 1, loop, yields))); },
            [&] {
                Outcome left = outcome;
                left.yields = zeros(yields);
                b_.yield(pack(left));
            });
        return unpack(all, yields.size(), loop ? loop->carried.size() : 0);
    }

    // The values with which a body goes into the next turn, or leaves the loop: those of its yield where it stayed.
    Values next_carried(const Outcome& o) {
        Value* stays = b_.compare(Opcode::Eq, o.code, code(kStays));
        Values out;
        for (size_t k = 0; k < o.yields.size(); ++k) out.push_back(b_.select(stays, o.yields[k], o.carried[k]));
        return out;
    }

    // Emits a loop. `yields` of the outcome are the loop's results, its code says whether the function was left in it.
    Outcome loop(const Op& op, const LoopContext* outer) {
        const LoopContext context{types_of(op.results)};
        Outcome out;
        out.code = code(kStays);
        if (outer) out.carried = zeros(outer->carried);
        out.results = zeros(old_.results);
        if (is_left(op)) {
            left_loop(op, context, out);
        } else if (op.code == Opcode::For) {
            const Values initial = mapped(std::span(op.operands).subspan(3));
            out.yields = b_.for_(map_.at(op.operands[0]), map_.at(op.operands[1]), map_.at(op.operands[2]), initial,
                                 [&](Value* index, std::span<Value* const> carried) {
                                     enter(*op.regions[0], index, carried);
                                     b_.yield(next_carried(rest(*op.regions[0], 0, &context, context.carried)));
                                 });
        } else {
            out.yields = b_.while_(
                mapped(op.operands), [&](auto carried) { b_.condition(condition(op, carried)); },
                [&](auto carried) {
                    enter(*op.regions[1], nullptr, carried);
                    b_.yield(next_carried(rest(*op.regions[1], 0, &context, context.carried)));
                });
        }
        return out;
    }

    void enter(const Region& region, Value* index, std::span<Value* const> carried) {
        size_t k = 0;
        for (const Value* argument : region.arguments) {
            Value* value = index && k == 0 ? index : carried[k - (index ? 1 : 0)];
            value->name = argument->name;
            map_[argument] = value;
            ++k;
        }
    }

    Value* condition(const Op& op, std::span<Value* const> carried) {
        enter(*op.regions[0], nullptr, carried);
        clone_into(b_, *op.regions[0], map_, [&](const Op& inner, ValueMap&) { return replaces(inner); });
        return map_.at(op.regions[0]->terminator()->operands[0]);
    }

    // A loop with break or return: a While that carries [index], the loop's values, the code, the function's results.
    void left_loop(const Op& op, const LoopContext& context, Outcome& out) {
        const bool counted = op.code == Opcode::For;
        const size_t fixed = counted ? 1 : 0;
        const size_t n = context.carried.size();
        Values initial;
        if (counted) initial.push_back(map_.at(op.operands[0]));
        for (Value* v : mapped(std::span(op.operands).subspan(counted ? 3 : 0))) initial.push_back(v);
        initial.push_back(code(kStays));
        for (Value* v : out.results) initial.push_back(v);
        Value* end = counted ? map_.at(op.operands[1]) : nullptr;
        Value* step = counted ? map_.at(op.operands[2]) : nullptr;
        Value* zero = counted ? b_.zero(step->type) : nullptr;

        const auto turns = [&](std::span<Value* const> carried) {
            if (!counted) return condition(op, carried.subspan(0, n));
            Value* up = b_.compare(Opcode::Gt, step, zero);
            Value* down = b_.compare(Opcode::Lt, step, zero);
            Value* before = b_.compare(Opcode::Lt, carried[0], end);
            Value* behind = b_.compare(Opcode::Gt, carried[0], end);
            return b_.binary(Opcode::Or, b_.binary(Opcode::And, up, before), b_.binary(Opcode::And, down, behind));
        };
        const std::vector<Type> one_bool = {boolean()};
        const Values all = b_.while_(
            initial,
            [&](auto carried) {
                Value* stays = b_.compare(Opcode::Eq, carried[fixed + n], code(kStays));
                b_.condition(b_.if_(
                    stays, one_bool,
                    [&] {
                        Value* value = turns(carried);
                        b_.yield({&value, 1});
                    },
                    [&] {
                        Value* value = b_.boolean(false);
                        b_.yield({&value, 1});
                    })[0]);
            },
            [&](auto carried) {
                enter(*op.regions.back(), counted ? carried[0] : nullptr, carried.subspan(fixed, n));
                Value* index = counted ? carried[0] : nullptr;
                const Outcome o = rest(*op.regions.back(), 0, &context, context.carried);
                Values next;
                if (counted) next.push_back(b_.add(index, step));
                for (Value* v : next_carried(o)) next.push_back(v);
                // A continue stays in the loop.
                Value* leaves = b_.compare(Opcode::Ge, o.code, code(kBreaks));
                next.push_back(b_.select(leaves, o.code, code(kStays)));
                next.insert(next.end(), o.results.begin(), o.results.end());
                b_.yield(next);
            });
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(fixed);
        const auto values_end = begin + static_cast<std::ptrdiff_t>(n);
        out.yields.assign(begin, values_end);
        Value* returned = b_.compare(Opcode::Eq, *values_end, code(kReturns));
        out.code = b_.select(returned, code(kReturns), code(kStays));
        out.results.assign(values_end + 1, all.end());
    }

    const Function& old_;
    Builder b_;
    ValueMap map_;
};

}  // namespace

void single_exit(Module& module, Function& function) {
    if (!SingleExit::needed(function)) return;
    Function made;
    SingleExit(module, function, made).run();
    function.replace_body(std::move(made));
    dead_code(module, function);
}

}  // namespace weft::opt
