// Reverse mode, in this order:
//   1. single_exit: every loop and function ends in one place (opt).
//   2. Per function, a forward sweep: the body is copied without stores, prints and asserts; every loop at this level
//      pushes its carried values on per-item stacks at the start of each turn ("taped").
//   3. The reverse sweep over the ops, last to first. An If becomes an If, a loop runs its turns backwards; inside each
//      the region's forward sweep is repeated from what is at hand (the popped values), then reversed. So nothing is
//      assumed about trip counts, and depth d costs d forward sweeps at most.
//   4. dead_code: whatever the derivative does not use goes, stacks and whole forward loops included. What is left is
//      what must be saved or recomputed, decided by use.
//   5. A value that is left, loaded from an array that the kernel writes, would not be what it was (overwritten.cpp).
//      Then the adjoint is made again so that it starts from a copy of that array as it was: its first forward sweep
//      repeats the stores to it and records every load from it, later sweeps read the record.
#include "ad/reverse.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ad/adjoints.h"
#include "ad/overwritten.h"
#include "ad/rules.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::ad {
namespace {

using namespace ir;
using Values = std::vector<Value*>;

bool contains(std::span<const int> list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

bool has_shadow(Type type) { return type.contains_array() && type.is_differentiable(); }
// Has an adjoint value of its own: floats that are not behind an array. Of a struct with arrays besides, the arrays in
// the adjoint are null.
bool is_active(Type type) {
    if (type.is_scalar() || type.is_uniform()) return type.has_float_elements();
    if (!type.is_aggregate()) return false;
    for (int i = 0; i < type.part_count(); ++i) {
        if (is_active(type.part(i))) return true;
    }
    return false;
}
// Whether the function's adjoint gives the adjoint of such a parameter: one the user wrote has the arrays' only.
bool is_given_back(const Function& callee, Type parameter) {
    return is_active(parameter) && (callee.adjoint.empty() || !parameter.contains_array());
}

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

// Makes adjoint functions of a module on demand.
class Maker {
  public:
    explicit Maker(Module& module) : module_(module) {}

    Module& module() { return module_; }

    // The adjoint of a function that is called.
    const Function& adjoint_of(const Function& function);
    // The function without its effects; itself when it has none.
    const Function& replay_of(const Function& function);

  private:
    Module& module_;
};

// The adjoint of one function.
class Reverse {
  public:
    // `restored`: parameters whose arrays are given as they were before the kernel ran.
    Reverse(Maker& maker, const Function& original, Function& made, std::vector<int> restored = {})
        : maker_(maker), original_(original), b_(maker.module(), made), restored_(std::move(restored)) {}

    void run() {
        const bool kernel = original_.kind == FunctionKind::Kernel;
        for (const Value* p : original_.parameters()) primal_[p] = b_.parameter(p->type, p->name);
        for (const Value* p : original_.parameters()) {
            if (has_shadow(p->type)) shadow_[p] = b_.parameter(p->type, "adj_" + p->name);
        }
        Values seeds;
        for (const Type type : original_.results) {
            if (type.is_differentiable()) seeds.push_back(b_.parameter(type, "adj_result"));
        }
        Adjoints adjoints(b_);
        make_records();
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

  private:
    // Where the cursors of the records of loads inside an If or a loop stood when it was entered: pairs of record and
    // position, or of record and the stack of a loop's positions.
    using Positions = std::vector<std::pair<Value*, Value*>>;

    struct Tape {
        Values stacks;           // one a carried value
        Positions positions;     // one a record
        Value* turns = nullptr;  // While: how many there were
    };

    Value* primal(const Value* value) const {
        const auto it = primal_.find(value);
        WEFT_CHECK(it != primal_.end(), "no forward value in " + original_.name);
        return it->second;
    }

    Values primals(std::span<Value* const> values) const {
        Values out;
        for (const Value* v : values) out.push_back(primal(v));
        return out;
    }

    // Forward sweep -------------------------------------------------------------------------------------------------

    // Copies the ops of a region without their effects. `taped`: loops of this very region leave what their reverse
    // needs; those further in are taped when their own region is reversed.
    void forward(const Region& region, bool taped) {
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

    void plain(const Op& op) {
        clone_op(b_, op, primal_, [this](const Op& inner, ValueMap& map) { return without_effect(inner, map); });
    }

    bool without_effect(const Op& op, ValueMap& map) {
        b_.set_location(op.location);
        switch (op.code) {
            case Opcode::LocalArray:
                // Its gradient lives as long: each sweep of the region makes both anew.
                map[op.result()] = b_.local_array(op.result()->type.target(), op.ints);
                if (op.result()->type.is_differentiable()) {
                    shadow_[op.result()] = b_.local_array(op.result()->type.target(), op.ints);
                }
                return true;
            case Opcode::Load: {
                const auto record = records_.find(&op);
                if (record == records_.end()) return false;
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
            case Opcode::Atomic: {
                // The value before the atomic depends on the order of items: should it be needed, this load is refused.
                Value* ref = map.at(op.operands[0]);
                Value* old = b_.load(ref);
                old->op->text = kAtomicResult;
                map[op.result()] = old;
                if (recording_ && is_restored(op.operands[0])) b_.atomic(op.atomic(), ref, map.at(op.operands[1]));
                return true;
            }
            case Opcode::Call: {
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
    bool is_restored(const Value* ref) const {
        if (local_array_of(ref)) return true;
        for (const int parameter : root_parameters(ref, original_)) {
            if (contains(restored_, parameter)) return true;
        }
        return false;
    }

    // One record (a stack) for each load from a restored array.
    void make_records() {
        walk(original_.body, [&](const Op& op) {
            if (op.code == Opcode::Load && is_restored(op.operands[0])) {
                records_[&op] = b_.stack_new(op.result()->type);
            }
        });
    }

    Values records_inside(const Op& op) const {
        Values out;
        for (const auto& region : op.regions) {
            walk(*region, [&](const Op& inner) {
                const auto record = records_.find(&inner);
                if (record != records_.end()) out.push_back(record->second);
            });
        }
        return out;
    }

    void taped_loop(const Op& op) {
        Tape tape;
        for (Value* record : records_inside(op)) tape.positions.emplace_back(record, b_.stack_new(i64()));
        const bool counted = op.code == Opcode::For;
        const size_t fixed = counted ? 3 : 0;
        for (const Value* v : op.results)
            tape.stacks.push_back(v->type.contains_array() ? nullptr : b_.stack_new(v->type));
        const auto enter = [&](const Region& region, std::span<Value* const> arguments) {
            for (size_t k = 0; k < arguments.size(); ++k) {
                primal_[region.arguments[k]] = arguments[k];
                arguments[k]->name = region.arguments[k]->name;
            }
        };
        const auto push = [&](std::span<Value* const> carried) {
            for (const auto& [record, stack] : tape.positions) b_.stack_push(stack, b_.stack_position(record));
            for (size_t k = 0; k < carried.size(); ++k) {
                if (!tape.stacks[k]) {
                    throw UserError(ErrorKind::Gradient,
                                    "no gradient through a loop that rebinds an array; use one name for each array",
                                    op.location);
                }
                b_.stack_push(tape.stacks[k], carried[k]);
            }
        };
        Values initial = primals(std::span(op.operands).subspan(fixed));
        Values results;
        if (counted) {
            results = b_.for_(primal(op.operands[0]), primal(op.operands[1]), primal(op.operands[2]), initial,
                              [&](Value* index, std::span<Value* const> carried) {
                                  Values arguments = {index};
                                  arguments.insert(arguments.end(), carried.begin(), carried.end());
                                  enter(*op.regions[0], arguments);
                                  push(carried);
                                  forward(*op.regions[0], false);
                                  b_.yield(primals(op.regions[0]->terminator()->operands));
                              });
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
                    push(own);
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

    // Reverse sweep -------------------------------------------------------------------------------------------------

    void reverse(const Region& region, Adjoints& adjoints) {
        for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) {
            const Op& op = **it;
            if (is_terminator(op.code)) continue;
            b_.set_location(op.location);
            this->op(op, adjoints);
        }
    }

    void op(const Op& op, Adjoints& adjoints) {
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
        const RuleContext context{b_, adjoints, [this](const Value* v) { return primal(v); }, selects_};
        if (apply_rule(context, op, g)) return;
        throw UserError(ErrorKind::Gradient,
                        "no derivative for '" + (op.text.empty() ? std::string(mnemonic(op.code)) : op.text) + "'",
                        op.location);
    }

    // The place of the gradient that belongs to an array or a Ref; null when it has none (its element type has no
    // derivative, or it is not reached from a parameter).
    Value* shadow(const Value* value) {
        const auto it = shadow_.find(value);
        if (it != shadow_.end()) return it->second;
        if (value->op && value->op->code == Opcode::Zero) return b_.zero(value->type);
        if (!value->op || value->op->operands.empty()) return nullptr;
        const Op& op = *value->op;
        if (op.code == Opcode::Select) {
            Value* first = shadow(op.operands[1]);
            Value* second = shadow(op.operands[2]);
            return first && second ? b_.select(primal(op.operands[0]), first, second) : nullptr;
        }
        // Structs with arrays, made of parts: so are their gradients.
        if (op.code == Opcode::Compose || op.code == Opcode::Insert) {
            const auto part = [&](const Value* v) -> Value* {
                return has_shadow(v->type) ? shadow(v) : b_.zero(v->type);
            };
            Values parts;
            for (const Value* v : op.operands) {
                parts.push_back(part(v));
                if (!parts.back()) return nullptr;
            }
            return op.code == Opcode::Compose ? b_.compose(op.result()->type, parts)
                                              : b_.insert(parts[0], parts[1], static_cast<int>(op.ints[0]));
        }
        if (op.code != Opcode::View && op.code != Opcode::Slice && op.code != Opcode::Extract &&
            op.code != Opcode::At && op.code != Opcode::Member && op.code != Opcode::MemberAt) {
            return nullptr;
        }
        Value* base = shadow(op.operands[0]);
        if (!base) return nullptr;
        const auto indices = primals(std::span(op.operands).subspan(1));
        switch (op.code) {
            case Opcode::View:
                return b_.view(base, indices);
            case Opcode::Slice: {
                bool ranges[8] = {};
                for (size_t d = 0; d < op.ints.size(); ++d) ranges[d] = op.ints[d] != 0;
                return b_.slice(base, {ranges, op.ints.size()}, indices);
            }
            case Opcode::At:
                return b_.at(base, indices);
            case Opcode::Extract:
                return b_.extract(base, static_cast<int>(op.ints[0]));
            case Opcode::Member:
                return b_.member(base, static_cast<int>(op.ints[0]));
            default:
                return b_.member_at(base, indices[0]);
        }
    }

    // The array that a Ref points into, in the adjoint's own terms.
    static Value* array_of(Value* ref) {
        while (ref->op && ref->op->code != Opcode::At) ref = ref->op->operands[0];
        WEFT_CHECK(ref->op, "a gradient of what is no element of an array");
        return ref->op->operands[0];
    }

    Value* shadow_ref(const Op& op) {
        const Value* ref = op.operands[0];
        Value* place = shadow(ref);
        if (!place) {
            throw UserError(ErrorKind::Gradient, "no gradient through an array that is chosen while the kernel runs",
                            op.location);
        }
        return place;
    }

    // Gradients are only kept for arrays that have one.
    void if_kept(Value* place, const std::function<void()>& then) {
        b_.if_(b_.is_valid(array_of(place)), {}, then, [] {});
    }

    Value* load_gradient(Value* place) {
        const std::vector<Type> types = {place->type.target()};
        return b_.if_(
            b_.is_valid(array_of(place)), types,
            [&] {
                Value* g = b_.load(place);
                b_.yield({&g, 1});
            },
            [&] {
                Value* zero = b_.zero(types[0]);
                b_.yield({&zero, 1});
            })[0];
    }

    // Adds to memory, leaf by leaf: atomically, as other items may add to the same place.
    void add_gradient(Value* place, Value* g) {
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

    void clear_gradient(Value* place) {
        const Type type = place->type.target();
        if (!type.contains_array()) return b_.store(place, b_.zero(type));
        for (int i = 0; i < type.part_count(); ++i) {
            if (is_active(type.part(i))) clear_gradient(b_.member(place, i));
        }
    }

    void load(const Op& op, Adjoints& adjoints) {
        if (!is_active(op.result()->type)) return;
        Value* g = adjoints.get(op.result());
        if (!g) return;
        Value* place = shadow_ref(op);
        if_kept(place, [&] { add_gradient(place, g); });
    }

    // What was written takes the place's gradient with it; what stood there before has none through this place.
    void store(const Op& op, Adjoints& adjoints) {
        const Type type = op.operands[1]->type;
        if (!is_active(type)) return;
        Value* place = shadow_ref(op);
        Value* g = load_gradient(place);
        if_kept(place, [&] { clear_gradient(place); });
        adjoints.add(op.operands[1], g);
    }

    void atomic(const Op& op, Adjoints& adjoints) {
        const Type type = op.operands[1]->type;
        if (!is_active(type)) return;
        Value* place = shadow_ref(op);
        Value* old = adjoints.get(op.result());
        switch (op.atomic()) {
            case AtomicKind::Add:
                adjoints.add(op.operands[1], load_gradient(place));
                break;
            case AtomicKind::Sub:
                adjoints.add(op.operands[1], b_.neg(load_gradient(place)));
                break;
            case AtomicKind::Min:
            case AtomicKind::Max: {
                // To every item whose value is the extreme one that the array ended with.
                Value* g = load_gradient(place);
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
        if (old) if_kept(place, [&] { add_gradient(place, old); });
    }

    Value* where_equal(Value* a, Value* b, Value* g) {
        if (a->type.is_scalar()) return b_.select(b_.compare(Opcode::Eq, a, b), g, b_.zero(g->type));
        Values parts;
        for (int i = 0; i < a->type.part_count(); ++i) {
            parts.push_back(where_equal(b_.extract(a, i), b_.extract(b, i), b_.extract(g, i)));
        }
        return b_.compose(a->type, parts);
    }

    void call(const Op& op, Adjoints& adjoints) {
        const Function& callee = *maker_.module().find(op.text);
        bool wanted = false;
        for (const Value* v : op.operands) wanted = wanted || has_shadow(v->type);
        wanted = wanted && opt::has_effects(maker_.module(), callee);
        for (const Value* v : op.results) wanted = wanted || adjoints.has(v);
        if (!wanted) return;
        Values arguments = primals(op.operands);
        for (const Value* v : op.operands) {
            if (!has_shadow(v->type)) continue;
            Value* gradient = shadow(v);
            if (!gradient) {
                throw UserError(ErrorKind::Gradient,
                                "no gradient through an array that is chosen while the kernel runs", op.location);
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

    void branch(const Op& op, Adjoints& adjoints) {
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
    Value* trip_count(const Op& op) {
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

    void loop(const Op& op, Adjoints& adjoints) {
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

        Value* turns = counted ? trip_count(op) : tape.turns;
        Value* one = b_.constant(i64(), 1);
        Value* begin = counted ? primal(op.operands[0]) : nullptr;
        Value* step = counted ? primal(op.operands[2]) : nullptr;
        const Values results = b_.for_(b_.sub(turns, one), b_.constant(i64(), -1), b_.constant(i64(), -1), initial,
                                       [&](Value* turn, std::span<Value* const> carried) {
                                           if (counted) {
                                               Value* index = b_.add(begin, b_.mul(b_.cast(begin->type, turn), step));
                                               index->name = body.arguments[0]->name;
                                               primal_[body.arguments[0]] = index;
                                           }
                                           for (size_t k = 0; k < carried_arguments.size(); ++k) {
                                               primal_[carried_arguments[k]] = b_.stack_pop(tape.stacks[k]);
                                           }
                                           for (const auto& [record, stack] : tape.positions)
                                               b_.stack_seek(record, b_.stack_pop(stack));
                                           forward(body, true);
                                           Adjoints inner(b_);
                                           for (size_t i = 0; i < active.size(); ++i)
                                               inner.add(yields[active[i]], carried[i]);
                                           reverse(body, inner);
                                           Values next;
                                           for (const size_t k : active)
                                               next.push_back(inner.get_or_zero(carried_arguments[k]));
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

    Maker& maker_;
    const Function& original_;
    Builder b_;
    ValueMap primal_;
    ValueMap shadow_;
    std::unordered_map<const Op*, Tape> tapes_;
    std::vector<int> restored_;
    std::unordered_map<const Op*, Value*> records_;
    std::unordered_map<const Op*, Positions> positions_;
    bool recording_ = false;
    bool selects_ = false;
};

const Function& Maker::adjoint_of(const Function& function) {
    if (!function.adjoint.empty()) return *module_.find(function.adjoint);
    const std::string name = function.name + ".adjoint";
    if (const Function* made = module_.find(name)) return *made;
    Function& adjoint = module_.add(name, function.kind);
    adjoint.location = function.location;
    Reverse(*this, function, adjoint).run();
    return adjoint;
}

const Function& Maker::replay_of(const Function& function) {
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
        if (op.code == Opcode::Atomic && !local_array_of(op.operands[0]))
            values[op.result()] = b.load(values.at(op.operands[0]));
        if (op.code == Opcode::Call) {
            Values arguments;
            for (const Value* v : op.operands) arguments.push_back(values.at(v));
            const Values results = b.call(replay_of(*module_.find(op.text)), arguments);
            for (size_t i = 0; i < results.size(); ++i) values[op.results[i]] = results[i];
            return true;
        }
        const bool stores = op.code == Opcode::Store || op.code == Opcode::Atomic;
        return writes_memory(op.code) && !(stores && local_array_of(op.operands[0]));
    };
    clone_into(b, function.body, map, without_effect);
    clone_op(b, *function.body.terminator(), map);
    return replay;
}

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
                           op.code == Opcode::Call || op.code == Opcode::Native;
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
    opt::unchanged_values(module);
    for (const auto& f : module.functions) opt::single_exit(module, *f);
    return Maker(module).adjoint_of(function);
}

std::string add_adjoint(Module& module, const std::string& kernel, std::vector<int>* restored) {
    Function* function = module.find(kernel);
    WEFT_CHECK(function && function->kind == FunctionKind::Kernel, "no kernel " + kernel);
    opt::unchanged_values(module);
    for (const auto& f : module.functions) opt::single_exit(module, *f);
    for (const auto& f : module.functions) {
        // What happens to memory of the item is followed within one body.
        if (passes_local_memory(*f)) opt::inline_calls(module, *f);
    }
    for (const auto& f : module.functions) check_local_arrays(*f);
    Maker maker(module);
    const Function* adjoint = &maker.adjoint_of(*function);
    opt::dead_code(module);
    // Stores that are repeated may need values of further arrays: until nothing is missing.
    for (;;) {
        auto lost = overwritten(module, *function, *adjoint);
        if (restored) std::erase_if(lost, [&](const auto& entry) { return contains(*restored, entry.first); });
        if (lost.empty()) break;
        if (!restored) refuse_overwritten(module, *function, lost);
        const std::string name = adjoint->name;
        std::erase_if(module.functions, [&](const auto& f) { return f->name == name; });
        // What a callee loads must be recorded where it happens: one body for all.
        opt::inline_calls(module, *function);
        for (const auto& [parameter, location] : lost) restored->push_back(parameter);
        Function& again = module.add(name, FunctionKind::Kernel);
        again.location = function->location;
        Reverse(maker, *function, again, *restored).run();
        adjoint = &again;
        opt::dead_code(module);
    }
    check_atomic_results(*function, *adjoint);
    verify(module);
    return adjoint->name;
}

}  // namespace weft::ad
