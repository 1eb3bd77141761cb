// Loops: what `range` means, unrolling, and the names that a loop carries from turn to turn.
#include "builtins/pattern.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;

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

void FunctionLowering::for_statement(const Stmt& s) {
    const Expr& target = s.child(0);
    if (target.kind != ExprKind::Name) fail(ErrorKind::Syntax, target.span, "the variable of a loop must be a name");
    if (!s.otherwise.empty())
        fail(ErrorKind::Syntax, s.otherwise[0]->span, "`else` of a loop is not supported in kernels");
    Value* bounds[3];
    if (!range_bounds(s.child(1), bounds)) {
        fail(ErrorKind::Syntax, s.child(1).span, "`for` goes over range(...) only");
    }
    const auto begin = ir::constant_integer(bounds[0]);
    const auto end = ir::constant_integer(bounds[1]);
    const auto step = ir::constant_integer(bounds[2]);
    if (step == 0) fail(ErrorKind::Value, s.child(1).span, "the step of this range is 0: the loop would run no turn");
    const std::string& name = target.text;

    if (begin && end && step && !leaves_loop(s.body)) {
        const int64_t span = *step > 0 ? *end - *begin : *begin - *end;
        const int64_t width = *step > 0 ? *step : -*step;
        const int64_t turns = span <= 0 ? 0 : (span + width - 1) / width;
        if (turns <= instances_.options().max_unroll) {
            for (int64_t turn = 0; turn < turns && reachable_; ++turn) {
                at(s.span);
                bind(name, builder_.constant(bounds[0]->type, *begin + turn * *step), target.span);
                unrolled_.insert(name);
                block(s.body);
            }
            return;
        }
    }

    std::set<std::string> assigned = {name};
    collect_assigned(s.body, assigned);
    const Names before = names_;
    const auto carried = carried_names(assigned);
    const auto results = builder_.for_(bounds[0], bounds[1], bounds[2], carried_values(carried, s.span),
                                       [&](Value* index, std::span<Value* const> values) {
                                           set_carried(carried, values);
                                           index->name = name;
                                           bind(name, index, target.span);
                                           loops_.push_back({carried});
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
            loops_.push_back({carried});
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
    const auto values = carried_values(loops_.back().carried, s.span);
    if (breaks) {
        builder_.break_(values);
    } else {
        builder_.continue_(values);
    }
    reachable_ = false;
}

}  // namespace weft::frontend
