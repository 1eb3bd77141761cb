#include "ad/atomic_log.h"

#include <unordered_set>

namespace weft::ad {

using namespace ir;

namespace {

void find(const Region& region, const std::unordered_set<const Value*>& used, AtomicLog& log) {
    for (const Op* op : region.ops) {
        const bool wanted = op->code == Opcode::Atomic && op->result()->type.is_int() && used.contains(op->result());
        if (wanted && !local_array_of(op->operands[0])) log.emplace(op, static_cast<int>(log.size()));
        if (is_loop(*op)) continue;
        for (const auto& inner : op->regions) find(*inner, used, log);
    }
}

}  // namespace

Type log_type() { return Type::array(i64(), 2); }

AtomicLog loggable_atomics(const Function& kernel) {
    std::unordered_set<const Value*> used;
    walk(kernel.body, [&](const Op& op) { used.insert(op.operands.begin(), op.operands.end()); });
    AtomicLog log;
    find(kernel.body, used, log);
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
    const std::function<bool(const Op&, ValueMap&)> keep = [&](const Op& op, ValueMap& values) {
        const auto column = log.find(&op);
        if (column == log.end()) return false;
        b.set_location(op.location);
        Value* old = b.atomic(op.atomic(), values.at(op.operands[0]), values.at(op.operands[1]));
        values[op.result()] = old;
        b.store(place_in_log(b, kept, column->second), b.cast(i64(), old));
        return true;
    };
    clone_into(b, kernel.body, map, keep);
    clone_op(b, *kernel.body.terminator(), map);
}

}  // namespace weft::ad
