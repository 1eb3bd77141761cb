// The forward sweep: a region's ops again, without their effects, with what its reverse needs put on stacks. Loads from
// memory whose content does not last are recorded the first time and read from the record in later sweeps; results of
// atomics in loops come with their records.
#include "ad/reverse_function.h"

#include <algorithm>

#include "ad/overwritten.h"
#include "ad/snippets.h"
#include "base/error.h"
#include "opt/opt.h"

namespace weft::ad {

using namespace ir;

// Copies the ops of a region without their effects. `taped`: loops of this very region leave what their reverse
// needs; those further in are taped when their own region is reversed.
void ReverseFunction::forward(const Region& region, bool taped) {
    for (const Op* op : region.ops) {
        if (is_terminator(op->code)) continue;
        b_.set_location(op->location);
        const bool loop = op->code == Opcode::For || op->code == Opcode::While;
        if (loop && taped) {
            taped_loop(*op);
        } else if (op->code == Opcode::If && taped) {
            Positions& positions = positions_[op];
            for (Value* record : records_inside(*op)) positions.emplace_back(record, b_.stack_position(record));
            plain(*op);
        } else {
            plain(*op);
        }
    }
}

void ReverseFunction::plain(const Op& op) {
    clone_op(b_, op, primal_, [this](const Op& inner, ValueMap& map) { return without_effect(inner, map); });
}

bool ReverseFunction::without_effect(const Op& op, ValueMap& map) {
    b_.set_location(op.location);
    switch (op.code) {
        case Opcode::LocalArray:
            // Its gradient lives as long: each sweep of the region makes both anew.
            map[op.result()] = b_.local_array(op.result()->type.target(), op.ints);
            if (op.result()->type.is_differentiable()) {
                shadows_.set(op.result(), b_.local_array(op.result()->type.target(), op.ints));
            }
            return true;
        case Opcode::Load: {
            const auto record = records_.find(&op);
            if (record == records_.end()) {
                if (!before_snippets_.contains(&op)) return false;
                map[op.result()] = b_.load(map.at(op.operands[0]));
                map[op.result()]->op->text = kBeforeSnippet;
                return true;
            }
            if (recording_) {
                map[op.result()] = b_.load(map.at(op.operands[0]));
                b_.stack_push(record->second, map[op.result()]);
            } else {
                map[op.result()] = b_.stack_read(record->second);
            }
            return true;
        }
        case Opcode::Store:
            if (recording_ && is_restored(op.operands[0])) {
                b_.store(map.at(op.operands[0]), map.at(op.operands[1]));
            }
            return true;
        case Opcode::Print:
        case Opcode::Assert:
            return true;
        case Opcode::Snippet:
            check_memory_of_snippet(op);
            repeat_snippet(b_, op, map);
            return true;
        case Opcode::Atomic: {
            // The value before the atomic depends on the order of items: should it be needed, this load is refused.
            Value* ref = map.at(op.operands[0]);
            if (const AtomicLog::Place* place = log_.find(op)) {
                Value* word = place->is_stack ? b_.stack_read(records_.at(&op))
                                              : b_.load(place_in_log(b_, logged_, place->column));
                map[op.result()] = b_.cast(op.result()->type, word);
            } else {
                Value* old = b_.load(ref);
                old->op->text = kAtomicResult;
                map[op.result()] = old;
            }
            if (recording_ && is_restored(op.operands[0])) b_.atomic(op.atomic(), ref, map.at(op.operands[1]));
            return true;
        }
        case Opcode::Call: {
            if (has_snippets(maker_.module(), *maker_.module().find(op.text))) check_memory_of_snippet(op);
            Values arguments;
            for (const Value* v : op.operands) arguments.push_back(map.at(v));
            const Values results = b_.call(maker_.replay_of(*maker_.module().find(op.text)), arguments);
            for (size_t i = 0; i < results.size(); ++i) map[op.results[i]] = results[i];
            return true;
        }
        default:
            return false;
    }
}

// Memory whose earlier content is needed: what is loaded from it is recorded.
bool ReverseFunction::is_restored(const Value* ref) const {
    if (local_array_of(ref)) return true;
    for (const int parameter : root_parameters(ref, original_)) {
        if (std::find(restored_.begin(), restored_.end(), parameter) != restored_.end()) return true;
    }
    return false;
}

void ReverseFunction::check_memory_of_snippet(const Op& op) {
    for (const Value* v : op.operands) {
        if (!v->type.contains_array() || !is_restored(v)) continue;
        throw UserError(ErrorKind::Gradient,
                        local_array_of(v)
                            ? "no gradient through an array made in the kernel that a native snippet takes"
                            : "no gradient through a native snippet that takes an array which the kernel "
                              "itself overwrites and whose earlier values it needs",
                        op.location);
    }
}

// One record (a stack) for each load from a restored array, and for what the log has of an atomic in a loop.
void ReverseFunction::make_records() {
    walk(original_.body, [&](const Op& op) {
        if (op.code == Opcode::Load && is_restored(op.operands[0])) {
            records_[&op] = b_.stack_new(op.result()->type);
        }
    });
    for (const AtomicLog::Place& place : log_.places) {
        if (!place.is_stack) continue;
        Value* address = b_.load(place_in_log(b_, logged_, place.column));
        records_[place.atomic] = b_.stack_kept(i64(), address, b_.load(place_in_log(b_, logged_, place.column + 1)));
    }
}

Values ReverseFunction::records_inside(const Op& op) const {
    Values out;
    for (const auto& region : op.regions) {
        walk(*region, [&](const Op& inner) {
            const auto record = records_.find(&inner);
            if (record != records_.end()) out.push_back(record->second);
        });
    }
    return out;
}

void ReverseFunction::keep(const Op&, const Tape& tape, Value* turn, std::span<Value* const> carried) {
    for (const auto& [record, stack] : tape.positions) b_.stack_push(stack, b_.stack_position(record));
    for (size_t k = 0; k < carried.size(); ++k) b_.stack_push(tape.stacks[k], carried[k]);
    if (tape.kept) b_.stack_push(tape.kept, turn);
}

// A part of the way that is left, so that the turns that are kept are few, and denser toward the end.
Value* ReverseFunction::next_kept(Value* turn, Value* last) {
    Value* gap = b_.sub(last, turn);
    Value* rounded = b_.add(gap, b_.constant(i64(), kKeptTurns - 1));
    Value* part = b_.binary(Opcode::Shr, rounded, b_.constant(i64(), kKeptTurnsLog));
    return b_.add(turn, b_.binary(Opcode::Max, part, b_.constant(i64(), 1)));
}

void ReverseFunction::taped_loop(const Op& op) {
    Tape tape;
    for (Value* record : records_inside(op)) tape.positions.emplace_back(record, b_.stack_new(i64()));
    const bool counted = op.code == Opcode::For;
    const size_t fixed = counted ? 3 : 0;
    for (const Value* v : op.results) tape.stacks.push_back(v->type.contains_array() ? nullptr : b_.stack_new(v->type));
    const auto enter = [&](const Region& region, std::span<Value* const> arguments) {
        for (size_t k = 0; k < arguments.size(); ++k) {
            primal_[region.arguments[k]] = arguments[k];
            arguments[k]->name = region.arguments[k]->name;
        }
    };
    for (const Value* stack : tape.stacks) {
        if (stack) continue;
        throw UserError(ErrorKind::Gradient,
                        "no gradient through a loop that rebinds an array; use one name for each array", op.location);
    }
    if (counted) tape.turns = trip_count(op);
    // What is recorded of memory is recorded for every turn; a loop that is known to be short needs nothing cleverer.
    const std::optional<int64_t> known = counted ? constant_integer(tape.turns) : std::nullopt;
    if (tape.positions.empty() && !tape.stacks.empty() && (!known || *known > kKeptTurns))
        tape.kept = b_.stack_new(i64());
    Values initial = primals(std::span(op.operands).subspan(fixed));
    Values results;
    if (counted && !tape.kept) {
        results = b_.for_(primal(op.operands[0]), primal(op.operands[1]), primal(op.operands[2]), initial,
                          [&](Value* index, std::span<Value* const> carried) {
                              Values arguments = {index};
                              arguments.insert(arguments.end(), carried.begin(), carried.end());
                              enter(*op.regions[0], arguments);
                              keep(op, tape, nullptr, carried);
                              forward(*op.regions[0], false);
                              b_.yield(primals(op.regions[0]->terminator()->operands));
                          });
    } else if (counted) {
        Value* one = b_.constant(i64(), 1);
        Value* last = b_.sub(tape.turns, one);
        initial.push_back(b_.zero(i64()));  // the turn
        initial.push_back(b_.zero(i64()));  // the next one to keep
        results = b_.for_(primal(op.operands[0]), primal(op.operands[1]), primal(op.operands[2]), initial,
                          [&](Value* index, std::span<Value* const> carried) {
                              const auto own = carried.first(carried.size() - 2);
                              Value* turn = carried[own.size()];
                              Value* next = carried[own.size() + 1];
                              Values arguments = {index};
                              arguments.insert(arguments.end(), own.begin(), own.end());
                              enter(*op.regions[0], arguments);
                              Value* now = b_.compare(Opcode::Eq, turn, next);
                              b_.if_(now, {}, [&] { keep(op, tape, turn, own); }, [] {});
                              forward(*op.regions[0], false);
                              Values ends = primals(op.regions[0]->terminator()->operands);
                              ends.push_back(b_.add(turn, one));
                              ends.push_back(b_.select(now, next_kept(turn, last), next));
                              b_.yield(ends);
                          });
        results.resize(results.size() - 2);
    } else {
        initial.push_back(b_.constant(i64(), 0));
        results = b_.while_(
            initial,
            [&](std::span<Value* const> carried) {
                enter(*op.regions[0], carried.first(carried.size() - 1));
                forward(*op.regions[0], false);
                b_.condition(primal(op.regions[0]->terminator()->operands[0]));
            },
            [&](std::span<Value* const> carried) {
                const auto own = carried.first(carried.size() - 1);
                enter(*op.regions[1], own);
                if (!tape.kept) {
                    keep(op, tape, nullptr, own);
                } else {
                    Value* early = b_.compare(Opcode::Lt, carried.back(), b_.constant(i64(), kKeptTurns));
                    b_.if_(early, {}, [&] { keep(op, tape, carried.back(), own); }, [] {});
                }
                forward(*op.regions[1], false);
                Values next = primals(op.regions[1]->terminator()->operands);
                next.push_back(b_.add(carried.back(), b_.constant(i64(), 1)));
                b_.yield(next);
            });
        tape.turns = results.back();
        results.pop_back();
    }
    for (size_t k = 0; k < results.size(); ++k) primal_[op.results[k]] = results[k];
    tapes_[&op] = std::move(tape);
}

}  // namespace weft::ad
