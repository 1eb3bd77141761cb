// Loops: what `range` means, unrolling, and the names that a loop carries from turn to turn.
#include <algorithm>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;

namespace {

// A loop that must be unrolled, because a static expression names its variable, may have so many turns.
constexpr int64_t kMostForcedTurns = 4096;

}  // namespace

bool leaves_loop(const std::vector<StmtPtr>& body, bool breaks_only) {
    for (const auto& s : body) {
        if (s->kind == StmtKind::Break || (s->kind == StmtKind::Continue && !breaks_only)) return true;
        if (s->kind == StmtKind::If && (leaves_loop(s->body, breaks_only) || leaves_loop(s->otherwise, breaks_only))) {
            return true;
        }
    }
    return false;
}

// Begin, end and step of `range(...)`.
bool FunctionLowering::range_bounds(const Expr& e, Value* bounds[3]) {
    if (e.kind != ExprKind::Call) return false;
    const Entity callee = expression(e.child(0));
    const auto* builtin = callee.as<BuiltinName>();
    if (!builtin || builtin->name != "range") return false;
    const size_t count = e.children.size() - 1;
    if (count < 1 || count > 3) {
        fail(ErrorKind::Argument, e.span, "range takes 1 to 3 arguments, found " + std::to_string(count));
    }
    Type type;
    std::vector<Value*> given;
    for (size_t i = 0; i < count; ++i) {
        Value* v = value(e.child(i + 1));
        if (v->type.is_bool() && ir::constant_integer(v)) v = builder_.cast(ir::i32(), v);
        if (!v->type.is_signed() || (type && v->type != type)) {
            fail(ErrorKind::Type, e.child(i + 1).span,
                 "range needs " + (type ? user_name(type) + " as before" : std::string("int32")) + ", found " +
                     user_name(v->type));
        }
        type = v->type;
        given.push_back(v);
    }
    bounds[0] = count == 1 ? builder_.constant(type, 0) : given[0];
    bounds[1] = count == 1 ? given[0] : given[1];
    bounds[2] = count == 3 ? given[2] : builder_.constant(type, 1);
    return true;
}

namespace {

// Whether a wp.static(...) in the statements names the variable: its loop must be unrolled then.
bool static_uses(const Expr& e, const std::string& name, bool inside = false) {
    if (e.kind == ExprKind::Name && inside && e.text == name) return true;
    const bool call = e.kind == ExprKind::Call && e.child(0).text == "static";
    return std::any_of(e.children.begin(), e.children.end(),
                       [&](const ExprPtr& child) { return static_uses(*child, name, inside || call); });
}

bool static_uses(const std::vector<StmtPtr>& statements, const std::string& name) {
    return std::any_of(statements.begin(), statements.end(), [&](const StmtPtr& s) {
        return std::any_of(s->children.begin(), s->children.end(),
                           [&](const ExprPtr& e) { return static_uses(*e, name); }) ||
               static_uses(s->body, name) || static_uses(s->otherwise, name);
    });
}

}  // namespace

// The body once for each value. A `break` or `continue` that is reached whenever the turn is ends the turn there.
void FunctionLowering::unroll(const Stmt& s, std::span<const Entity> turns) {
    const Expr& target = s.child(0);
    loops_.push_back({{}, builder_.region(), {}});
    for (const Entity& turn : turns) {
        if (!reachable_) break;
        at(s.span);
        if (target.kind == ExprKind::Tuple) {
            assign_tuple(target, turn, target.span);
        } else {
            bind(target.text, turn, target.span);
            if (Value* v = names_.at(target.text).value(); v && ir::constant_integer(v)) unrolled_.insert(target.text);
        }
        loops_.back().left.reset();
        block(s.body);
        const auto left = loops_.back().left;
        if (left) reachable_ = true;
        if (left == StmtKind::Break) break;
    }
    loops_.pop_back();
}

// Loops over what is no range: the parts of tuples, vectors and matrices, the members of enums.
bool FunctionLowering::iterate(const Stmt& s) {
    const Expr& iterable = s.child(1);
    const Entity entity = expression(iterable);
    std::vector<Entity> turns;
    const Type type = entity.type();
    if (const auto* tuple = entity.as<TupleEntity>()) {
        turns = tuple->parts;
    } else if (const auto* object = entity.as<Object>()) {
        for (const auto& binding : source_.environment->items(*object))
            turns.push_back(from_binding(binding, "item", iterable.span));
        if (turns.empty()) return false;
    } else if (const auto* shape = entity.as<ShapeEntity>()) {
        for (int i = 0; i < shape->array->type.ndim(); ++i) turns.emplace_back(builder_.shape(shape->array, i));
    } else if (type.is(ir::TypeKind::Mat)) {
        const Type row = Type::vec(type.columns(), type.element());
        for (int i = 0; i < type.rows(); ++i) {
            std::vector<Value*> parts;
            for (int k = 0; k < type.columns(); ++k)
                parts.push_back(builder_.extract(entity.value(), i * type.columns() + k));
            turns.emplace_back(builder_.compose(row, parts));
        }
    } else if (type.is_uniform() || type.is(ir::TypeKind::Tuple)) {
        for (int i = 0; i < type.part_count(); ++i) turns.emplace_back(builder_.extract(entity.value(), i));
    } else {
        return false;
    }
    unroll(s, turns);
    return true;
}

void FunctionLowering::for_statement(const Stmt& s) {
    const Expr& target = s.child(0);
    if (!s.otherwise.empty())
        fail(ErrorKind::Syntax, s.otherwise[0]->span, "`else` of a loop is not supported in kernels");
    Value* bounds[3];
    const Expr* iterable = &s.child(1);
    // reversed(range(...)): the same numbers, last to first.
    bool backwards = false;
    if (iterable->kind == ExprKind::Call && iterable->child(0).kind == ExprKind::Name &&
        iterable->child(0).text == "reversed" && iterable->children.size() == 2 && !names_.contains("reversed")) {
        backwards = true;
        iterable = &iterable->child(1);
    }
    if (!range_bounds(*iterable, bounds)) {
        if (!backwards && iterate(s)) return;
        fail(ErrorKind::Syntax, s.child(1).span,
             "`for` goes over range(...), and over tuples, vectors, matrices and enums");
    }
    if (target.kind != ExprKind::Name) fail(ErrorKind::Syntax, target.span, "the variable of a loop must be a name");
    if (backwards) {
        // From begin + (turns - 1) * step down to begin.
        const Type type = bounds[0]->type;
        Value* zero = builder_.constant(type, 0);
        Value* one = builder_.constant(type, 1);
        Value* up = builder_.compare(ir::Opcode::Gt, bounds[2], zero);
        Value* stride = builder_.select(up, bounds[2], builder_.neg(bounds[2]));
        Value* distance = builder_.select(up, builder_.sub(bounds[1], bounds[0]), builder_.sub(bounds[0], bounds[1]));
        Value* turns = builder_.div(builder_.add(distance, builder_.sub(stride, one)), stride);
        turns = builder_.binary(ir::Opcode::Max, turns, zero);
        Value* last = builder_.add(bounds[0], builder_.mul(builder_.sub(turns, one), bounds[2]));
        bounds[1] = builder_.sub(bounds[0], bounds[2]);
        bounds[0] = last;
        bounds[2] = builder_.neg(bounds[2]);
    }
    const auto begin = ir::constant_integer(bounds[0]);
    const auto end = ir::constant_integer(bounds[1]);
    const auto step = ir::constant_integer(bounds[2]);
    if (step == 0) fail(ErrorKind::Value, s.child(1).span, "the step of this range is 0: the loop would run no turn");
    const std::string& name = target.text;

    const bool forced = static_uses(s.body, name);
    if (begin && end && step && (forced || !leaves_loop(s.body))) {
        const int64_t span = *step > 0 ? *end - *begin : *begin - *end;
        const int64_t width = *step > 0 ? *step : -*step;
        const int64_t turns = span <= 0 ? 0 : (span + width - 1) / width;
        if (turns <= instances_.options().max_unroll || (forced && turns <= kMostForcedTurns)) {
            std::vector<Entity> values;
            for (int64_t turn = 0; turn < turns; ++turn)
                values.emplace_back(builder_.constant(bounds[0]->type, *begin + turn * *step));
            return unroll(s, values);
        }
    }

    std::set<std::string> assigned = {name};
    collect_assigned(s.body, assigned);
    collect_references(s.body, assigned);
    const Names before = names_;
    const auto carried = carried_names(assigned);
    const auto results = builder_.for_(bounds[0], bounds[1], bounds[2], carried_values(carried, s.span),
                                       [&](Value* index, std::span<Value* const> values) {
                                           set_carried(carried, values);
                                           index->name = name;
                                           bind(name, index, target.span);
                                           loops_.push_back({carried, nullptr, {}});
                                           block(s.body);
                                           loops_.pop_back();
                                           at(s.span);
                                           check_unchanged(before, carried, "a loop");
                                           if (reachable_) builder_.yield(carried_values(carried, s.span));
                                       });
    names_ = before;
    set_carried(carried, results);
    for (const auto& changed : assigned) unrolled_.erase(changed);
    reachable_ = true;
}

void FunctionLowering::while_statement(const Stmt& s) {
    if (!s.otherwise.empty())
        fail(ErrorKind::Syntax, s.otherwise[0]->span, "`else` of a loop is not supported in kernels");
    const Expr& condition = s.child(0);
    std::set<std::string> assigned;
    collect_assigned(s.body, assigned);
    collect_references(s.body, assigned);
    const Names before = names_;
    const auto carried = carried_names(assigned);
    bool endless = false;
    for (const auto& changed : assigned) unrolled_.erase(changed);
    const auto results = builder_.while_(
        carried_values(carried, s.span),
        [&](std::span<Value* const> values) {
            set_carried(carried, values);
            const Names start = names_;
            Value* go_on = truth(expression(condition), condition.span);
            at(condition.span);
            check_unchanged(start, {}, "the condition of a loop");
            endless = ir::constant_integer(go_on) == 1 && !leaves_loop(s.body, true);
            builder_.condition(go_on);
        },
        [&](std::span<Value* const> values) {
            names_ = before;
            set_carried(carried, values);
            loops_.push_back({carried, nullptr, {}});
            block(s.body);
            loops_.pop_back();
            at(s.span);
            check_unchanged(before, carried, "a loop");
            if (reachable_) builder_.yield(carried_values(carried, s.span));
        });
    names_ = before;
    set_carried(carried, results);
    reachable_ = !endless;
    at(s.span);
    if (endless) builder_.unreachable();
}

void FunctionLowering::leave(const Stmt& s) {
    const bool breaks = s.kind == StmtKind::Break;
    if (loops_.empty())
        fail(ErrorKind::Syntax, s.span, breaks ? "`break` outside a loop" : "`continue` outside a loop");
    if (Loop& loop = loops_.back(); loop.unrolled_in) {
        if (loop.unrolled_in != builder_.region()) {
            fail(ErrorKind::Syntax, s.span,
                 "this loop is unrolled: it can be left only where that is known when the kernel is compiled");
        }
        loop.left = s.kind;
        reachable_ = false;
        return;
    }
    const auto values = carried_values(loops_.back().carried, s.span);
    if (breaks) {
        builder_.break_(values);
    } else {
        builder_.continue_(values);
    }
    reachable_ = false;
}

}  // namespace weft::frontend
