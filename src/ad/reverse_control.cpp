// The reverse sweep over control flow: an If becomes an If, a loop runs its turns backwards. Adjoints of values from
// outside a region leave it as yields.
#include "ad/reverse_function.h"

#include <limits>
#include <unordered_set>

#include "base/error.h"

namespace weft::ad {

using namespace ir;

namespace {

std::vector<Type> types_of(std::span<Value* const> values) {
    std::vector<Type> out;
    for (const Value* v : values) out.push_back(v->type);
    return out;
}

// The values from outside that ops of the region (or of regions within) use and that have an adjoint.
Values active_from_outside(const Op& op) {
    std::unordered_set<const Value*> inside;
    std::unordered_set<const Value*> seen;
    Values out;
    const auto look = [&](const auto& self, const Region& region) -> void {
        inside.insert(region.arguments.begin(), region.arguments.end());
        for (const Op* inner : region.ops) {
            for (Value* v : inner->operands) {
                const bool constant = v->op && (v->op->code == Opcode::Const || v->op->code == Opcode::Zero);
                if (is_active(v->type) && !constant && !inside.contains(v) && seen.insert(v).second) out.push_back(v);
            }
            for (const auto& r : inner->regions) self(self, *r);
            inside.insert(inner->results.begin(), inner->results.end());
        }
    };
    for (const auto& region : op.regions) look(look, *region);
    return out;
}

}  // namespace

void ReverseFunction::branch(const Op& op, Adjoints& adjoints) {
    const Values outside = active_from_outside(op);
    std::unordered_set<const Value*> reached;
    const auto arm = [&](size_t k) {
        return [&, k] {
            const Region& region = *op.regions[k];
            for (const auto& [record, position] : positions_[&op]) b_.stack_seek(record, position);
            forward(region, true);
            Adjoints inner(b_);
            for (size_t i = 0; i < op.results.size(); ++i) {
                if (!is_active(op.results[i]->type)) continue;
                Value* g = adjoints.get(op.results[i]);
                if (g) inner.add(region.terminator()->operands[i], g);
            }
            reverse(region, inner);
            Values contributions;
            for (const Value* v : outside) {
                if (inner.has(v)) reached.insert(v);
                contributions.push_back(inner.get_or_zero(v));
            }
            b_.yield(contributions);
        };
    };
    // The adjoints of the results are made before the regions that use them.
    for (const Value* v : op.results) {
        if (is_active(v->type)) adjoints.get(v);
    }
    const Values results = b_.if_(primal(op.operands[0]), types_of(outside), arm(0), arm(1));
    for (size_t i = 0; i < outside.size(); ++i) {
        if (reached.contains(outside[i])) adjoints.add(outside[i], results[i]);
    }
}

// How many turns a For has: ceil((end - begin) / step), at least 0.
Value* ReverseFunction::trip_count(const Op& op) {
    Value* begin = primal(op.operands[0]);
    Value* end = primal(op.operands[1]);
    Value* step = primal(op.operands[2]);
    // In 64 bits, where the distance of two 32-bit bounds cannot overflow.
    Value* zero = b_.zero(i64());
    Value* one = b_.constant(i64(), 1);
    Value* stride = b_.cast(i64(), step);
    Value* up = b_.compare(Opcode::Gt, stride, zero);
    Value* distance = b_.sub(b_.cast(i64(), end), b_.cast(i64(), begin));
    distance = b_.select(up, distance, b_.neg(distance));
    Value* magnitude = b_.select(up, stride, b_.neg(stride));
    Value* turns = b_.binary(Opcode::Div, b_.sub(b_.add(distance, magnitude), one), magnitude);  // step 0 gives 0
    return b_.binary(Opcode::Max, turns, zero);
}

// A range from a constant on, step by step, is run backwards as it is; others by their turns.
ReverseFunction::Backwards ReverseFunction::backwards(const Op& op, const Tape& tape) {
    const auto first = op.code == Opcode::For ? constant_integer(op.operands[0]) : std::nullopt;
    const auto by = op.code == Opcode::For ? constant_integer(op.operands[2]) : std::nullopt;
    const Type type = first ? op.operands[0]->type : i64();
    if (first && by && *by == 1 && *first > std::numeric_limits<int32_t>::min()) {
        Value* begin = primal(op.operands[0]);
        Value* one = b_.constant(type, 1);
        Value* last = b_.sub(b_.binary(Opcode::Max, primal(op.operands[1]), begin), one);
        const auto turn = [this, begin](Value* index) { return b_.sub(b_.cast(i64(), index), b_.cast(i64(), begin)); };
        return {last, b_.constant(type, *first - 1), b_.constant(type, -1), true, turn};
    }
    Value* down = b_.constant(i64(), -1);
    return {b_.add(tape.turns, down), down, down, false, [](Value* turn) { return turn; }};
}

Value* ReverseFunction::index_at(const Op& op, Value* turn) {
    Value* begin = primal(op.operands[0]);
    return b_.add(begin, b_.mul(b_.cast(begin->type, turn), primal(op.operands[2])));
}

Values ReverseFunction::carried_at(const Op& op, const Tape& tape, Value* turn) {
    const auto pop = [&] {
        Values values;
        for (Value* stack : tape.stacks) values.push_back(b_.stack_pop(stack));
        return values;
    };
    if (!tape.kept) return pop();
    const Region& body = *op.regions.back();
    const size_t first = first_argument(op);
    std::vector<Type> types;
    for (const Value* v : op.results) types.push_back(v->type);
    Value* one = b_.constant(i64(), 1);
    // From `values` at the beginning of turn `from` to those at the beginning of turn `to`.
    const auto advance = [&](Value* from, Value* to, std::span<Value* const> values) {
        return b_.for_(from, to, one, values, [&](Value* now, std::span<Value* const> carried) {
            if (first == 1) primal_[body.arguments[0]] = index_at(op, now);
            for (size_t k = 0; k < carried.size(); ++k) primal_[body.arguments[first + k]] = carried[k];
            forward(body, false);
            b_.yield(primals(body.terminator()->operands));
        });
    };
    Value* kept = b_.stack_pop(tape.kept);
    const Values found = pop();
    const auto again = [&] {
        keep(op, tape, kept, found);
        Values initial = found;
        initial.push_back(kept);
        Values reached = b_.while_(
            initial,
            [&](std::span<Value* const> carried) { b_.condition(b_.compare(Opcode::Lt, carried.back(), turn)); },
            [&](std::span<Value* const> carried) {
                Value* next = next_kept(carried.back(), turn);
                Values values = advance(carried.back(), next, carried.first(carried.size() - 1));
                b_.if_(b_.compare(Opcode::Lt, next, turn), {}, [&] { keep(op, tape, next, values); }, [] {});
                values.push_back(next);
                b_.yield(values);
            });
        reached.pop_back();
        b_.yield(reached);
    };
    return b_.if_(b_.compare(Opcode::Eq, kept, turn), types, [&] { b_.yield(found); }, again);
}

void ReverseFunction::loop(const Op& op, Adjoints& adjoints) {
    const bool counted = op.code == Opcode::For;
    const size_t fixed = counted ? 3 : 0;
    const Region& body = *op.regions.back();
    const auto carried_arguments = std::span(body.arguments).subspan(counted ? 1 : 0);
    const auto yields = std::span(body.terminator()->operands);
    const Tape& tape = tapes_.at(&op);

    // Carried by the reverse loop: the adjoints of the carried values, then of values from outside.
    std::vector<size_t> active;
    Values initial;
    for (size_t k = 0; k < op.results.size(); ++k) {
        if (!is_active(op.results[k]->type)) continue;
        active.push_back(k);
        initial.push_back(adjoints.get_or_zero(op.results[k]));
    }
    const Values outside = active_from_outside(op);
    for (const Value* v : outside) initial.push_back(b_.zero(v->type));
    std::unordered_set<const Value*> reached;

    const Backwards way = backwards(op, tape);
    const Values results =
        b_.for_(way.begin, way.end, way.step, initial, [&](Value* counter, std::span<Value* const> carried) {
            Value* turn = way.turn(counter);
            const Values values = carried_at(op, tape, turn);
            if (counted) {
                Value* index = way.by_index ? counter : index_at(op, turn);
                index->name = body.arguments[0]->name;
                primal_[body.arguments[0]] = index;
            }
            for (size_t k = 0; k < carried_arguments.size(); ++k) {
                primal_[carried_arguments[k]] = values[k];
            }
            for (const auto& [record, stack] : tape.positions) b_.stack_seek(record, b_.stack_pop(stack));
            forward(body, true);
            Adjoints inner(b_);
            for (size_t i = 0; i < active.size(); ++i) inner.add(yields[active[i]], carried[i]);
            reverse(body, inner);
            Values next;
            for (const size_t k : active) next.push_back(inner.get_or_zero(carried_arguments[k]));
            for (size_t i = 0; i < outside.size(); ++i) {
                Value* sum = carried[active.size() + i];
                Value* g = inner.get(outside[i]);
                if (g) {
                    reached.insert(outside[i]);
                    sum = add_values(b_, sum, g);
                }
                next.push_back(sum);
            }
            b_.yield(next);
        });
    for (size_t i = 0; i < active.size(); ++i) adjoints.add(op.operands[fixed + active[i]], results[i]);
    for (size_t i = 0; i < outside.size(); ++i) {
        if (reached.contains(outside[i])) adjoints.add(outside[i], results[active.size() + i]);
    }
}

}  // namespace weft::ad
