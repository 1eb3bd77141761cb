// Reverse mode, in this order:
//   1. single_exit: every loop and function ends in one place (opt).
//   2. Per function, a forward sweep: the body is copied without stores, prints and asserts; every loop at this level
//      pushes its carried values on per-item stacks at the start of each turn ("taped"), or of some turns where there
//      may be more than kKeptTurns: the reverse computes those in between again, in a way that keeps memory to the
//      logarithm of the number of turns.
//   3. The reverse sweep over the ops, last to first. An If becomes an If, a loop runs its turns backwards; inside each
//      the region's forward sweep is repeated from what is at hand (the popped values), then reversed. So nothing is
//      assumed about trip counts, and depth d costs d forward sweeps at most.
//   4. dead_code: whatever the derivative does not use goes, stacks and whole forward loops included. What is left is
//      what must be saved or recomputed, decided by use.
//   5. A value that is left, loaded from an array that the kernel writes, would not be what it was (overwritten.cpp).
//      Then the adjoint is made again so that it starts from a copy of that array as it was: its first forward sweep
//      repeats the stores to it and records every load from it, later sweeps read the record. Loops with such records
//      keep every turn.
#include "ad/reverse.h"

#include <algorithm>

#include "ad/overwritten.h"
#include "ad/reverse_function.h"
#include "ad/snippets.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::ad {
using namespace ir;

namespace {

bool contains(std::span<const int> list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

}  // namespace

bool is_active(Type type) {
    if (type.is_scalar() || type.is_uniform()) return type.has_float_elements();
    if (!type.is_aggregate()) return false;
    for (int i = 0; i < type.part_count(); ++i) {
        if (is_active(type.part(i))) return true;
    }
    return false;
}
ReverseFunction::ReverseFunction(Maker& maker, const Function& original, Function& made, std::vector<int> restored,
                                 AtomicLog log)
    : maker_(maker),
      original_(original),
      b_(maker.module(), made),
      shadows_(b_, [this](const Value* v) { return primal(v); }),
      restored_(std::move(restored)),
      log_(std::move(log)) {}

Value* ReverseFunction::primal(const Value* value) const {
    const auto it = primal_.find(value);
    WEFT_CHECK(it != primal_.end(), "no forward value in " + original_.name);
    return it->second;
}

Values ReverseFunction::primals(std::span<Value* const> values) const {
    Values out;
    for (const Value* v : values) out.push_back(primal(v));
    return out;
}

void ReverseFunction::run() {
    const bool kernel = original_.kind == FunctionKind::Kernel;
    for (const Value* p : original_.parameters()) primal_[p] = b_.parameter(p->type, p->name);
    for (const Value* p : original_.parameters()) {
        if (has_shadow(p->type)) shadows_.set(p, b_.parameter(p->type, "adj_" + p->name));
    }
    Values seeds;
    for (const Type type : original_.results) {
        if (type.is_differentiable()) seeds.push_back(b_.parameter(type, "adj_result"));
    }
    if (log_.columns > 0) logged_ = b_.parameter(log_type(), "log");
    Adjoints adjoints(b_);
    make_records();
    before_snippets_ = loads_before_snippets(maker_.module(), original_);
    walk(original_.body, [&](const Op& inner) {
        selects_ = selects_ || (inner.code == Opcode::Select && inner.result()->type.is_differentiable());
    });
    recording_ = true;
    forward(original_.body, true);
    recording_ = false;
    const Op& end = *original_.body.terminator();
    WEFT_CHECK(end.code == Opcode::Return, "adjoint of a function that does not end in return");
    size_t seed = 0;
    for (const Value* result : end.operands) {
        if (result->type.is_differentiable()) adjoints.add(result, seeds[seed++]);
    }
    reverse(original_.body, adjoints);
    Values results;
    if (!kernel) {
        for (const Value* p : original_.parameters()) {
            if (!is_active(p->type)) continue;
            results.push_back(adjoints.get_or_zero(p));
            b_.function().results.push_back(p->type);
        }
    }
    b_.return_(results);
}

const Function& Maker::adjoint_of(const Function& function) {
    if (!function.adjoint.empty()) return *module_.find(function.adjoint);
    const std::string name = function.name + ".adjoint";
    if (const Function* made = module_.find(name)) return *made;
    Function& adjoint = module_.add(name, function.kind);
    adjoint.location = function.location;
    ReverseFunction(*this, function, adjoint).run();
    return adjoint;
}

const Function& Maker::replay_of(const Function& function) {
    if (!function.replay.empty()) return *module_.find(function.replay);
    if (!opt::has_effects(module_, function)) return function;
    const std::string name = function.name + ".replay";
    if (const Function* made = module_.find(name)) return *made;
    Function& replay = module_.add(name, function.kind);
    replay.results = function.results;
    replay.location = function.location;
    Builder b(module_, replay);
    ValueMap map;
    for (const Value* p : function.parameters()) map[p] = b.parameter(p->type, p->name);
    const auto without_effect = [&](const Op& op, ValueMap& values) {
        if (op.code == Opcode::Atomic && !local_array_of(op.operands[0])) {
            Value* old = b.load(values.at(op.operands[0]));
            old->op->text = kAtomicResult;
            values[op.result()] = old;
        }
        if (op.code == Opcode::Call) {
            Values arguments;
            for (const Value* v : op.operands) arguments.push_back(values.at(v));
            const Values results = b.call(replay_of(*module_.find(op.text)), arguments);
            for (size_t i = 0; i < results.size(); ++i) values[op.results[i]] = results[i];
            return true;
        }
        if (op.code == Opcode::Snippet) {
            repeat_snippet(b, op, values);
            return true;
        }
        const bool stores = op.code == Opcode::Store || op.code == Opcode::Atomic;
        return writes_memory(op.code) && !(stores && local_array_of(op.operands[0]));
    };
    clone_into(b, function.body, map, without_effect);
    clone_op(b, *function.body.terminator(), map);
    return replay;
}

namespace {

// Whether the function calls another with a reference or an array of its own, or gets arrays from it.
bool passes_local_memory(const Function& function) {
    bool found = false;
    walk(function.body, [&](const Op& op) {
        if (op.code != Opcode::Call) return;
        for (const Value* v : op.operands) found = found || v->type.is(TypeKind::Ref) || local_array_of(v);
        for (const Value* v : op.results) found = found || has_shadow(v->type);
    });
    return found;
}

// Arrays of the item must be known by name wherever they are used, for their gradients to be found.
void check_local_arrays(const Function& function) {
    walk(function.body, [&](const Op& op) {
        const bool place = op.code == Opcode::At || op.code == Opcode::View || op.code == Opcode::Slice ||
                           op.code == Opcode::Shape || op.code == Opcode::Stride || op.code == Opcode::IsValid ||
                           op.code == Opcode::Call || op.code == Opcode::Native || op.code == Opcode::Snippet;
        for (const Value* v : op.operands) {
            if (place || !v->type.is(TypeKind::Array) || !local_array_of(v)) continue;
            throw UserError(ErrorKind::Gradient,
                            op.code == Opcode::Address
                                ? "no gradient through memory of the item whose address is taken"
                                : "no gradient through an array made in the kernel that is chosen while it runs",
                            op.location);
        }
        if (op.code == Opcode::Address && local_array_of(op.operands[0])) {
            throw UserError(ErrorKind::Gradient, "no gradient through memory of the item whose address is taken",
                            op.location);
        }
    });
}

}  // namespace

const Function& adjoint_of(Module& module, const Function& function) {
    pass_values_to_snippets(module);
    opt::unchanged_values(module);
    for (const auto& f : module.functions) opt::single_exit(module, *f);
    return Maker(module).adjoint_of(function);
}

std::string add_adjoint(Module& module, const std::string& kernel, AdjointNeeds* needs) {
    Function* function = module.find(kernel);
    WEFT_CHECK(function && function->kind == FunctionKind::Kernel, "no kernel " + kernel);
    pass_values_to_snippets(module);
    opt::unchanged_values(module);
    for (const auto& f : module.functions) opt::single_exit(module, *f);
    // Which loads come before a snippet is told within one body.
    if (has_snippets(module, *function)) opt::inline_calls(module, *function);
    for (const auto& f : module.functions) {
        // What happens to memory of the item is followed within one body.
        if (passes_local_memory(*f)) opt::inline_calls(module, *f);
    }
    for (const auto& f : module.functions) check_local_arrays(*f);
    Maker maker(module);
    const Function* adjoint = &maker.adjoint_of(*function);
    opt::dead_code(module);
    AtomicLog log;
    bool overlapping = needs != nullptr && !needs->restored.empty();
    // Stores that are repeated may need values of further arrays: until nothing is missing.
    for (;;) {
        auto lost = overwritten(module, *function, *adjoint);
        if (needs) std::erase_if(lost, [&](const auto& entry) { return contains(needs->restored, entry.first); });
        const bool unlogged = log.columns == 0 && uses_atomic_results(module, *adjoint);
        if (lost.empty() && !unlogged && !overlapping) break;
        overlapping = false;
        if (!needs && !lost.empty()) refuse_overwritten(module, *function, lost);
        if (!needs) refuse_atomic_results(module, *function, *adjoint);
        const std::string name = adjoint->name;
        std::erase_if(module.functions, [&](const auto& f) { return f->name == name; });
        // What a callee loads must be recorded where it happens: one body for all.
        opt::inline_calls(module, *function);
        for (const auto& [parameter, location] : lost) needs->restored.push_back(parameter);
        if (log.columns > 0 || unlogged) log = loggable_atomics(*function);
        Function& again = module.add(name, FunctionKind::Kernel);
        again.location = function->location;
        ReverseFunction(maker, *function, again, needs->restored, log).run();
        adjoint = &again;
        opt::dead_code(module);
        if (unlogged && log.columns == 0) break;
    }
    refuse_atomic_results(module, *function, *adjoint);
    refuse_loads_before_snippets(module, *function, *adjoint);
    if (needs) {
        needs->extremes = extreme_parameters(module, *function);
        needs->results = log.columns;
        needs->kept_stacks = log.stacks;
        if (log.columns > 0) add_logged(module, *function, log);
    }
    verify(module);
    return adjoint->name;
}

}  // namespace weft::ad
