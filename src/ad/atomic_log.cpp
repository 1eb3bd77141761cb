#include "ad/atomic_log.h"

#include <unordered_set>

#include "opt/in_loop.h"

namespace weft::ad {

using namespace ir;

Type log_type() { return Type::array(i64(), 2); }

AtomicLog loggable_atomics(const Function& kernel) {
    std::unordered_set<const Value*> used;
    walk(kernel.body, [&](const Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    AtomicLog log;
    walk(kernel.body, [&](const Op& op) {
        if (op.code != Opcode::Atomic || !op.result()->type.is_int() || !used.contains(op.result())) return;
        if (local_array_of(op.operands[0])) return;
        const bool is_stack = opt::in_loop(op);
        log.places.push_back({&op, log.columns, is_stack});
        if (is_stack) log.stacks.push_back(log.columns);
        log.columns += is_stack ? 2 : 1;
    });
    return log;
}

Value* place_in_log(Builder& b, Value* log, int column) {
    Value* item = b.zero(i64());
    for (int d = 0; d < 4; ++d) {
        item = b.add(b.mul(item, b.cast(i64(), b.launch_dim(d))), b.cast(i64(), b.thread_index(d)));
    }
    Value* indices[] = {item, b.constant(i64(), column)};
    return b.at(log, indices);
}

void add_logged(Module& module, const Function& kernel, const AtomicLog& log) {
    Function& made = module.add(kernel.name + ".logged", FunctionKind::Kernel);
    made.location = kernel.location;
    Builder b(module, made);
    ValueMap map;
    for (const Value* p : kernel.parameters()) map[p] = b.parameter(p->type, p->name);
    Value* kept = b.parameter(log_type(), "log");
    ValueMap stacks;  // by result
    for (const AtomicLog::Place& place : log.places) {
        if (place.is_stack) stacks[place.atomic->result()] = b.stack_new(i64());
    }
    const std::function<bool(const Op&, ValueMap&)> keep = [&](const Op& op, ValueMap& values) {
        const AtomicLog::Place* place = log.find(op);
        if (!place) return false;
        b.set_location(op.location);
        Value* old = b.atomic(op.atomic(), values.at(op.operands[0]), values.at(op.operands[1]));
        values[op.result()] = old;
        Value* word = b.cast(i64(), old);
        if (place->is_stack) {
            b.stack_push(stacks.at(op.result()), word);
        } else {
            b.store(place_in_log(b, kept, place->column), word);
        }
        return true;
    };
    clone_into(b, kernel.body, map, keep);
    for (const AtomicLog::Place& place : log.places) {
        if (!place.is_stack) continue;
        Value* stack = stacks.at(place.atomic->result());
        b.store(place_in_log(b, kept, place.column + 1), b.stack_position(stack));
        b.store(place_in_log(b, kept, place.column), b.stack_keep(stack));
    }
    clone_op(b, *kernel.body.terminator(), map);
}

}  // namespace weft::ad
