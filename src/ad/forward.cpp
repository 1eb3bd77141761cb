// One walk over the ops. A value whose tangent is known to be zero has none (null). Elementwise ops take the rule of
// reverse mode with the operand's tangent in the place of the adjoint: their derivative is diagonal, so it is the same.
#include "ad/forward.h"

#include <algorithm>
#include <unordered_set>

#include "ad/adjoints.h"
#include "ad/rules.h"
#include "ad/shadows.h"
#include "ad/snippets.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "opt/opt.h"

namespace weft::ad {
namespace {

using namespace ir;
using Values = std::vector<Value*>;

// Has a tangent that is a value: differentiable, and neither memory nor a stack.
bool has_tangent(Type type) {
    return type.is_differentiable() && !type.is(TypeKind::Ref) && !type.is(TypeKind::Stack) && !type.contains_array();
}

const Function& tangent_of(Module& module, const Function& function);

class Tangent {
  public:
    Tangent(Module& module, const Function& original, Function& made)
        : module_(module),
          original_(original),
          b_(module, made),
          shadows_(b_, [this](const Value* v) { return map_.at(v); }) {}

    void run() {
        for (const Value* p : original_.parameters()) map_[p] = b_.parameter(p->type, p->name);
        for (const Value* p : original_.parameters()) {
            if (!p->type.is_differentiable()) continue;
            Value* tangent = b_.parameter(p->type, "dot_" + p->name);
            if (has_tangent(p->type)) {
                tangents_[p] = tangent;
            } else {
                shadows_.set(p, tangent);
            }
        }
        b_.function().results = original_.results;
        for (const Type type : original_.results) {
            if (type.is_differentiable()) b_.function().results.push_back(type);
        }
        region(original_.body);
    }

  private:
    Values primals(std::span<Value* const> values) const {
        Values out;
        for (const Value* v : values) out.push_back(map_.at(v));
        return out;
    }

    Value* tangent(const Value* value) const {
        const auto it = tangents_.find(value);
        return it == tangents_.end() ? nullptr : it->second;
    }

    Value* tangent_or_zero(const Value* value) {
        Value* t = tangent(value);
        return t ? t : b_.zero(value->type);
    }

    // The values, then the tangents of those that have one.
    Values with_tangents(std::span<Value* const> values) {
        Values out = primals(values);
        for (const Value* v : values) {
            if (has_tangent(v->type)) out.push_back(tangent_or_zero(v));
        }
        return out;
    }

    static std::vector<Type> types_with_tangents(std::span<Value* const> values) {
        std::vector<Type> out;
        for (const Value* v : values) out.push_back(v->type);
        for (const Value* v : values) {
            if (has_tangent(v->type)) out.push_back(v->type);
        }
        return out;
    }

    // `made` are values and tangents as with_tangents() orders them.
    void define(std::span<Value* const> originals, std::span<Value* const> made) {
        size_t next = originals.size();
        for (size_t i = 0; i < originals.size(); ++i) {
            map_[originals[i]] = made[i];
            if (made[i]->name.empty()) made[i]->name = originals[i]->name;
            if (has_tangent(originals[i]->type)) tangents_[originals[i]] = made[next++];
        }
    }

    void region(const Region& r) {
        for (const Op* op : r.ops) {
            b_.set_location(op->location);
            if (is_terminator(op->code)) {
                terminator(*op);
            } else {
                this->op(*op);
            }
        }
    }

    void terminator(const Op& op) {
        if (op.code == Opcode::Condition) return b_.condition(map_.at(op.operands[0]));
        if (op.code == Opcode::Return) {
            Values values = primals(op.operands);
            for (const Value* v : op.operands) {
                if (v->type.is_differentiable()) values.push_back(tangent_or_zero(v));
            }
            return b_.return_(values);
        }
        b_.emit_op(op.code, with_tangents(op.operands), {});
    }

    void op(const Op& op) {
        switch (op.code) {
            case Opcode::If: {
                Op& made = b_.emit_op(Opcode::If, primals(op.operands), types_with_tangents(op.results));
                for (const auto& r : op.regions) {
                    b_.fill_region(made, {}, [&](Region&) { region(*r); });
                }
                return define(op.results, made.results);
            }
            case Opcode::For:
            case Opcode::While:
                return loop(op);
            case Opcode::Call:
                return call(op);
            case Opcode::Snippet:
                refuse_snippet(op);
                break;
            case Opcode::Store:
                b_.store(map_.at(op.operands[0]), map_.at(op.operands[1]));
                if (has_tangent(op.operands[1]->type)) {
                    Value* place = shadows_.of_ref(op);
                    Value* t = tangent_or_zero(op.operands[1]);
                    shadows_.if_kept(place, [&] { b_.store(place, t); });
                }
                return;
            case Opcode::Atomic:
                return atomic(op);
            case Opcode::LocalArray:
                map_[op.result()] = b_.local_array(op.result()->type.target(), op.ints);
                if (op.result()->type.is_differentiable()) {
                    shadows_.set(op.result(), b_.local_array(op.result()->type.target(), op.ints));
                }
                return;
            case Opcode::StackNew:
                if (!op.operands.empty()) break;  // of integers
                map_[op.result()] = b_.stack_new(op.result()->type.target());
                if (has_tangent(op.result()->type.target())) {
                    stacks_[op.result()] = b_.stack_new(op.result()->type.target());
                }
                return;
            case Opcode::StackPush:
                b_.stack_push(map_.at(op.operands[0]), map_.at(op.operands[1]));
                if (Value* stack = twin(op)) b_.stack_push(stack, tangent_or_zero(op.operands[1]));
                return;
            case Opcode::StackPop:
                map_[op.result()] = b_.stack_pop(map_.at(op.operands[0]));
                if (Value* stack = twin(op)) tangents_[op.result()] = b_.stack_pop(stack);
                return;
            case Opcode::StackSeek:  // a stack and its twin hold as many values of one size: one position serves both
                b_.stack_seek(map_.at(op.operands[0]), map_.at(op.operands[1]));
                if (Value* stack = twin(op)) b_.stack_seek(stack, map_.at(op.operands[1]));
                return;
            case Opcode::StackRead:
                map_[op.result()] = b_.stack_read(map_.at(op.operands[0]));
                if (Value* stack = twin(op)) tangents_[op.result()] = b_.stack_read(stack);
                return;
            default:
                break;
        }
        clone_op(b_, op, map_);
        if (op.results.empty() || !has_tangent(op.result()->type)) return;
        if (Value* t = value_tangent(op)) tangents_[op.result()] = t;
    }

    Value* twin(const Op& op) const {
        const auto it = stacks_.find(op.operands[0]);
        return it == stacks_.end() ? nullptr : it->second;
    }

    // The tangent of an op that computes a value; null for zero.
    Value* value_tangent(const Op& op) {
        if (op.code == Opcode::Load) return shadows_.load(shadows_.of_ref(op));
        bool any = false;
        for (const Value* v : op.operands) any = any || tangent(v);
        if (!any) return nullptr;
        if (is_elementwise(op.code)) return elementwise(op);
        const auto zero_or = [&](size_t i) { return tangent_or_zero(op.operands[i]); };
        const auto part = [&] { return static_cast<int>(op.ints[0]); };
        switch (op.code) {
            case Opcode::Select:
                return b_.select(map_.at(op.operands[0]), zero_or(1), zero_or(2));
            case Opcode::Cast:
                return b_.cast(op.result()->type, zero_or(0));
            case Opcode::Compose: {
                Values parts;
                for (const Value* v : op.operands) {
                    parts.push_back(has_tangent(v->type) ? tangent_or_zero(v) : b_.zero(v->type));
                }
                return b_.compose(op.result()->type, parts);
            }
            case Opcode::Splat:
                return b_.splat(op.result()->type, zero_or(0));
            case Opcode::Extract:
                return b_.extract(zero_or(0), part());
            case Opcode::Insert: {
                Value* inserted = has_tangent(op.operands[1]->type) ? zero_or(1) : b_.zero(op.operands[1]->type);
                return b_.insert(zero_or(0), inserted, part());
            }
            case Opcode::ExtractAt:
                return b_.extract_at(zero_or(0), map_.at(op.operands[1]));
            case Opcode::InsertAt:
                return b_.insert_at(zero_or(0), zero_or(1), map_.at(op.operands[2]));
            case Opcode::Bitcast:
                return nullptr;
            default:
                throw UserError(ErrorKind::Gradient,
                                "no tangent for '" + (op.text.empty() ? std::string(mnemonic(op.code)) : op.text) + "'",
                                op.location);
        }
    }

    Value* elementwise(const Op& op) {
        const RuleContext context{b_, sums_, [this](const Value* v) { return map_.at(v); }};
        Value* sum = nullptr;
        std::unordered_set<const Value*> seen;
        for (const Value* v : op.operands) {
            Value* t = tangent(v);
            if (!t || !seen.insert(v).second) continue;
            sums_ = Adjoints(b_);
            apply_rule(context, op, t);
            Value* contribution = sums_.get(v);
            if (contribution) sum = sum ? b_.add(sum, contribution) : contribution;
        }
        return sum;
    }

    void loop(const Op& op) {
        const size_t fixed = first_carried(op);
        Values operands = primals(std::span(op.operands).first(fixed));
        const auto initial = with_tangents(std::span(op.operands).subspan(fixed));
        operands.insert(operands.end(), initial.begin(), initial.end());
        Op& made = b_.emit_op(op.code, operands, types_with_tangents(op.results));
        for (const auto& r : op.regions) {
            const size_t index = op.code == Opcode::For ? 1 : 0;
            const auto carried = std::span<Value* const>(r->arguments).subspan(index);
            std::vector<Type> types = types_with_tangents(carried);
            if (index == 1) types.insert(types.begin(), r->arguments[0]->type);
            b_.fill_region(made, types, [&](Region& inner) {
                if (index == 1) {
                    map_[r->arguments[0]] = inner.arguments[0];
                    inner.arguments[0]->name = r->arguments[0]->name;
                }
                define(carried, std::span<Value* const>(inner.arguments).subspan(index));
                region(*r);
            });
        }
        define(op.results, made.results);
    }

    void atomic(const Op& op) {
        const Type type = op.operands[1]->type;
        Value* old = b_.atomic(op.atomic(), map_.at(op.operands[0]), map_.at(op.operands[1]));
        map_[op.result()] = old;
        if (!has_tangent(type)) return;
        if (op.atomic() != AtomicKind::Add && op.atomic() != AtomicKind::Sub) {
            throw UserError(ErrorKind::Gradient,
                            "no tangent for atomic " + std::string(mnemonic(op.atomic())) + " of floats", op.location);
        }
        Value* place = shadows_.of_ref(op);
        Value* t = tangent_or_zero(op.operands[1]);
        tangents_[op.result()] = shadows_.load(place);
        shadows_.if_kept(place, [&] { b_.atomic(op.atomic(), place, t); });
    }

    void refuse_snippet(const Op& op) {
        const bool derives =
            std::ranges::any_of(op.operands, [](const Value* v) { return v->type.is_differentiable(); });
        if (!derives) return;
        throw UserError(ErrorKind::Gradient, "no tangent for a native function: forward mode cannot look into it",
                        op.location);
    }

    void call(const Op& op) {
        const Function& original = *module_.find(op.text);
        if (!original.adjoint.empty() && has_snippets(module_, *module_.find(original.adjoint))) refuse_snippet(op);
        if (!original.adjoint.empty()) return call_with_gradient(op, original);
        const Function& callee = tangent_of(module_, original);
        Values arguments = primals(op.operands);
        for (const Value* v : op.operands) {
            if (!v->type.is_differentiable()) continue;
            Value* t = has_tangent(v->type) ? tangent_or_zero(v) : shadows_.of(v);
            if (!t) {
                throw UserError(ErrorKind::Gradient, "no tangent through an array that is chosen while the kernel runs",
                                op.location);
            }
            arguments.push_back(t);
        }
        const Values made = b_.call(callee, arguments);
        size_t next = op.results.size();
        for (size_t i = 0; i < op.results.size(); ++i) {
            map_[op.results[i]] = made[i];
            if (!op.results[i]->type.is_differentiable()) continue;
            if (has_tangent(op.results[i]->type)) {
                tangents_[op.results[i]] = made[next];
            } else {
                shadows_.set(op.results[i], made[next]);
            }
            ++next;
        }
    }

    // A function with a gradient of its own means that one: each number of its results has as tangent the product of
    // its gradient, by a seed of 1, with the tangents of the arguments.
    void call_with_gradient(const Op& op, const Function& callee) {
        const Values values = primals(op.operands);
        const Values results = b_.call(callee, values);
        for (size_t i = 0; i < results.size(); ++i) map_[op.results[i]] = results[i];
        bool any = false;
        for (const Value* v : op.operands) {
            any = any || tangent(v);
            if (!v->type.contains_array() || !v->type.is_differentiable()) continue;
            throw UserError(ErrorKind::Gradient,
                            "no tangent through '" + callee.name + "', whose gradient is its own and adds to arrays",
                            op.location);
        }
        if (!any) return;
        const Function& adjoint = *module_.find(callee.adjoint);
        Values seeds;
        for (const Value* result : op.results) {
            if (result->type.is_differentiable()) seeds.push_back(b_.zero(result->type));
        }
        size_t which = 0;
        for (const Value* result : op.results) {
            if (!result->type.is_differentiable()) continue;
            Value* zero = seeds[which];
            tangents_[result] = by_number(result->type, [&](Value* seed, Type number) {
                seeds[which] = seed;
                return product_with_gradient(op, adjoint, values, seeds, number);
            });
            seeds[which++] = zero;
        }
    }

    // A value of the type, number by number: `make` gets the value that is 1 there and 0 elsewhere, and the number's
    // type.
    Value* by_number(Type type, const std::function<Value*(Value*, Type)>& make) {
        if (type.is_scalar()) return type.is_float() ? make(b_.constant(type, 1.0), type) : b_.zero(type);
        if (!type.is_aggregate()) return b_.zero(type);
        Values parts;
        for (int i = 0; i < type.part_count(); ++i) {
            parts.push_back(by_number(type.part(i), [&](Value* seed, Type number) {
                return make(b_.insert(b_.zero(type), seed, i), number);
            }));
        }
        return b_.compose(type, parts);
    }

    Value* product_with_gradient(const Op& op, const Function& adjoint, Values arguments, const Values& seeds,
                                 Type number) {
        arguments.insert(arguments.end(), seeds.begin(), seeds.end());
        const Values gradients = b_.call(adjoint, arguments);
        Value* sum = b_.zero(number);
        size_t next = 0;
        for (const Value* v : op.operands) {
            if (!v->type.is_differentiable()) continue;
            Value* gradient = gradients[next++];
            if (Value* t = tangent(v)) add_product(sum, gradient, t);
        }
        return sum;
    }

    // Adds the products of all numbers of two values of one type.
    void add_product(Value*& sum, Value* a, Value* b) {
        if (a->type.is_float()) {
            sum = b_.add(sum, b_.cast(sum->type, b_.mul(a, b)));
        } else if (a->type.is_aggregate()) {
            for (int i = 0; i < a->type.part_count(); ++i) add_product(sum, b_.extract(a, i), b_.extract(b, i));
        }
    }

    Module& module_;
    const Function& original_;
    Builder b_;
    ValueMap map_;
    ValueMap tangents_;
    ValueMap stacks_;
    Shadows shadows_;
    Adjoints sums_{b_};
};

const Function& tangent_of(Module& module, const Function& function) {
    const std::string name = function.name + ".tangent";
    if (const Function* made = module.find(name)) return *made;
    Function& tangent = module.add(name, function.kind);
    tangent.location = function.location;
    Tangent(module, function, tangent).run();
    return tangent;
}

}  // namespace

std::string add_tangent(Module& module, const std::string& kernel) {
    const Function* function = module.find(kernel);
    WEFT_CHECK(function && function->kind == FunctionKind::Kernel, "no kernel " + kernel);
    opt::unchanged_values(module);
    const Function& tangent = tangent_of(module, *function);
    opt::dead_code(module);
    verify(module);
    return tangent.name;
}

}  // namespace weft::ad
