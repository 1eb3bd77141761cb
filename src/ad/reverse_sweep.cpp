// The reverse sweep over the ops of a region, last to first: memory and calls here, values by the rules of rules.h.
#include "ad/reverse_function.h"

#include "ad/overwritten.h"
#include "ad/rules.h"
#include "base/error.h"
#include "opt/opt.h"

namespace weft::ad {

using namespace ir;

namespace {

// Whether the function's adjoint gives the adjoint of such a parameter: one the user wrote has the arrays' only.
bool is_given_back(const Function& callee, Type parameter) {
    return is_active(parameter) && (callee.adjoint.empty() || !parameter.contains_array());
}

}  // namespace

void ReverseFunction::reverse(const Region& region, Adjoints& adjoints) {
    for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) {
        const Op& op = **it;
        if (is_terminator(op.code)) continue;
        b_.set_location(op.location);
        this->op(op, adjoints);
    }
}

void ReverseFunction::op(const Op& op, Adjoints& adjoints) {
    switch (op.code) {
        case Opcode::Load:
            load(op, adjoints);
            return;
        case Opcode::Store:
            store(op, adjoints);
            return;
        case Opcode::Atomic:
            atomic(op, adjoints);
            return;
        case Opcode::Call:
            call(op, adjoints);
            return;
        case Opcode::Snippet:
            snippet(op, adjoints);
            return;
        case Opcode::If:
            branch(op, adjoints);
            return;
        case Opcode::For:
        case Opcode::While:
            loop(op, adjoints);
            return;
        default:
            break;
    }
    if (op.results.empty() || !is_active(op.result()->type)) return;
    Value* g = adjoints.get(op.result());
    if (!g) return;
    const RuleContext context{b_, adjoints, [this](const Value* v) { return primal(v); }, selects_, true};
    if (apply_rule(context, op, g)) return;
    throw UserError(ErrorKind::Gradient,
                    "no derivative for '" + (op.text.empty() ? std::string(mnemonic(op.code)) : op.text) + "'",
                    op.location);
}

// Adds to memory, leaf by leaf: atomically, as other items may add to the same place.
void ReverseFunction::add_gradient(Value* place, Value* g) {
    const Type type = g->type;
    if (type.has_float_elements() && local_array_of(place)) {
        b_.store(place, b_.add(b_.load(place), g));
    } else if (type.has_float_elements()) {
        b_.atomic(AtomicKind::Add, place, g);
    } else if (type.is_aggregate()) {
        for (int i = 0; i < type.part_count(); ++i) {
            if (is_active(type.part(i))) add_gradient(b_.member(place, i), b_.extract(g, i));
        }
    }
}

void ReverseFunction::clear_gradient(Value* place) {
    const Type type = place->type.target();
    if (!type.contains_array()) return b_.store(place, b_.zero(type));
    for (int i = 0; i < type.part_count(); ++i) {
        if (is_active(type.part(i))) clear_gradient(b_.member(place, i));
    }
}

void ReverseFunction::load(const Op& op, Adjoints& adjoints) {
    if (!is_active(op.result()->type)) return;
    Value* g = adjoints.get(op.result());
    if (!g) return;
    Value* place = shadows_.of_ref(op);
    shadows_.if_kept(place, [&] { add_gradient(place, g); });
}

// What was written takes the place's gradient with it; what stood there before has none through this place.
void ReverseFunction::store(const Op& op, Adjoints& adjoints) {
    const Type type = op.operands[1]->type;
    if (!is_active(type)) return;
    Value* place = shadows_.of_ref(op);
    Value* g = shadows_.load(place);
    shadows_.if_kept(place, [&] { clear_gradient(place); });
    adjoints.add(op.operands[1], g);
}

void ReverseFunction::atomic(const Op& op, Adjoints& adjoints) {
    const Type type = op.operands[1]->type;
    if (!is_active(type)) return;
    Value* place = shadows_.of_ref(op);
    Value* old = adjoints.get(op.result());
    switch (op.atomic()) {
        case AtomicKind::Add:
            adjoints.add(op.operands[1], shadows_.load(place));
            break;
        case AtomicKind::Sub:
            adjoints.add(op.operands[1], b_.neg(shadows_.load(place)));
            break;
        case AtomicKind::Min:
        case AtomicKind::Max: {
            // To every item whose value is the extreme one that the array ended with.
            Value* g = shadows_.load(place);
            Value* value = primal(op.operands[1]);
            if (is_restored(op.operands[0])) {
                throw UserError(ErrorKind::Gradient,
                                "no gradient through an atomic min or max of an array whose earlier "
                                "values the kernel needs",
                                op.location);
            }
            Value* extreme = b_.load(primal(op.operands[0]));
            extreme->op->text = kFinalLoad;
            adjoints.add(op.operands[1], where_equal(value, extreme, g));
            break;
        }
        default:
            throw UserError(ErrorKind::Gradient,
                            "no derivative for atomic " + std::string(mnemonic(op.atomic())) + " of floats",
                            op.location);
    }
    if (old) shadows_.if_kept(place, [&] { add_gradient(place, old); });
}

Value* ReverseFunction::where_equal(Value* a, Value* b, Value* g) {
    if (a->type.is_scalar()) return b_.select(b_.compare(Opcode::Eq, a, b), g, b_.zero(g->type));
    Values parts;
    for (int i = 0; i < a->type.part_count(); ++i) {
        parts.push_back(where_equal(b_.extract(a, i), b_.extract(b, i), b_.extract(g, i)));
    }
    return b_.compose(a->type, parts);
}

void ReverseFunction::call(const Op& op, Adjoints& adjoints) {
    const Function& callee = *maker_.module().find(op.text);
    bool wanted = false;
    for (const Value* v : op.operands) wanted = wanted || has_shadow(v->type);
    wanted = wanted && opt::has_effects(maker_.module(), callee);
    for (const Value* v : op.results) wanted = wanted || adjoints.has(v);
    if (!wanted) return;
    Values arguments = primals(op.operands);
    for (const Value* v : op.operands) {
        if (!has_shadow(v->type)) continue;
        Value* gradient = shadows_.of(v);
        if (!gradient) {
            throw UserError(ErrorKind::Gradient, "no gradient through an array that is chosen while the kernel runs",
                            op.location);
        }
        arguments.push_back(gradient);
    }
    for (const Value* v : op.results) {
        if (v->type.is_differentiable()) arguments.push_back(adjoints.get_or_zero(v));
    }
    const Values results = b_.call(maker_.adjoint_of(callee), arguments);
    size_t k = 0;
    for (const Value* v : op.operands) {
        if (is_given_back(callee, v->type)) adjoints.add(v, results[k++]);
    }
}

void ReverseFunction::snippet(const Op& op, Adjoints& adjoints) {
    bool wanted = false;
    for (const Value* v : op.operands) wanted = wanted || has_shadow(v->type);
    for (const Value* v : op.results) wanted = wanted || adjoints.has(v);
    if (!wanted) return;
    throw UserError(ErrorKind::Gradient, "this native function has no adj_snippet: its derivative is not known",
                    op.location)
        .with_note("give @wp.func_native an adj_snippet; an empty one says that the derivative is zero");
}

}  // namespace weft::ad
