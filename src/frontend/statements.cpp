// Statements: assignment, return, and branches with what their arms leave behind.
#include <algorithm>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "frontend/messages.h"
#include "frontend/operator_names.h"

namespace weft::frontend {

using builtins::user_name;
using ir::AtomicKind;
using ir::Opcode;

namespace {

// The values inside an entity: itself, or the parts of a tuple.
bool flatten(const Entity& entity, std::vector<ir::Value*>& values) {
    if (ir::Value* v = entity.value()) {
        values.push_back(v);
        return true;
    }
    const auto* tuple = entity.as<TupleEntity>();
    return tuple && std::all_of(tuple->parts.begin(), tuple->parts.end(),
                                [&](const Entity& part) { return flatten(part, values); });
}

// "wp.vec3" as the language calls it.
std::string without_prefix(const std::string& written) {
    const auto dot = written.rfind('.');
    return dot == std::string::npos || written.find_first_of("[(") != std::string::npos ? written
                                                                                        : written.substr(dot + 1);
}

// The same shape with other values.
Entity rebuild(const Entity& shape, std::span<ir::Value* const>& values) {
    if (const auto* tuple = shape.as<TupleEntity>()) {
        TupleEntity result;
        for (const auto& part : tuple->parts) result.parts.push_back(rebuild(part, values));
        return result;
    }
    ir::Value* v = values.front();
    values = values.subspan(1);
    return v;
}

}  // namespace

void FunctionLowering::block(const std::vector<StmtPtr>& statements) {
    for (const auto& s : statements) {
        if (!reachable_) return;
        statement(*s);
    }
}

void FunctionLowering::statement(const Stmt& s) {
    at(s.span);
    switch (s.kind) {
        case StmtKind::Assign: {
            const Expr& target = s.child(0);
            if (target.kind == ExprKind::Tuple) {
                unpacked_ = &s.child(1);
                unpacked_count_ = target.children.size();
            }
            const Entity value = expression(s.child(1));
            unpacked_ = nullptr;
            for (size_t i = 0; i < s.children.size(); ++i) {
                const Expr& one = s.child(i);
                if (i == 1) continue;
                if (one.kind == ExprKind::Tuple) {
                    assign_tuple(one, value, s.child(1).span);
                } else {
                    assign(one, value, s.child(1).span);
                }
            }
            return;
        }
        case StmtKind::Augment:
            return augment(s);
        case StmtKind::Expression:
            if (s.child(0).kind != ExprKind::String) expression(s.child(0));
            return;
        case StmtKind::If:
            return if_statement(s);
        case StmtKind::For:
            return for_statement(s);
        case StmtKind::While:
            return while_statement(s);
        case StmtKind::Break:
        case StmtKind::Continue:
            return leave(s);
        case StmtKind::Return:
            return return_statement(s);
        case StmtKind::Assert:
            if (instances_.options().assertions) assertion(s);
            return;
        case StmtKind::Pass:
            return;
        case StmtKind::Unsupported:
            fail(ErrorKind::Syntax, s.span, "kernels cannot contain " + s.text);
    }
}

void FunctionLowering::assertion(const Stmt& s) {
    std::string message;
    for (const char c : s.text) message += c == '%' ? std::string("%%") : std::string(1, c);
    check(truth(expression(s.child(0)), s.child(0).span), message, s.child(0).span);
}

namespace {

bool is_function(const Entity& entity) {
    return entity.as<std::shared_ptr<const OverloadSet>>() || entity.as<BuiltinName>() || entity.as<GradientEntity>();
}

}  // namespace

// A name keeps the function that it stands for. (The turns of an unrolled loop each bind it anew, in one place.)
void FunctionLowering::check_rebinding(const Expr& target, const Entity& value) {
    const auto it = names_.find(target.text);
    if (it != names_.end() && is_function(it->second)) {
        const auto bound = function_names_.find(target.text);
        const bool same_place = bound != function_names_.end() && bound->second.line == target.span.line &&
                                bound->second.column == target.span.column;
        if (!same_place && it->second.as<GradientEntity>()) {
            fail(ErrorKind::Type, target.span,
                 "Cannot reassign local '" + target.text + "', which stands for a wp.grad(...); use another name");
        }
        if (!same_place && !same(it->second, value)) {
            fail(ErrorKind::Type, target.span,
                 "rebinding function-valued local `" + target.text + "`" +
                     (is_function(value) ? "" : " to a non-function value") + " is not supported: use another name");
        }
    }
    if (is_function(value)) function_names_[target.text] = target.span;
}

void FunctionLowering::assign(const Expr& target, Entity value, const Span& span) {
    if (target.kind == ExprKind::Name) {
        check_rebinding(target, value);
        if (value.as<NoneValue>())
            fail(ErrorKind::Type, span, "None cannot be assigned: there are no null values in kernels");
        if (value.as<Unknown>())
            fail(ErrorKind::Type, span, "there is no value to assign: what is called here returns nothing");
        const bool literal = value.is_literal();
        const std::string typed = literal ? "wp." + user_name(value.type()) + "(" + source_.text(span) + ")" : "";
        bind(target.text, std::move(value), span);
        if (literal) literal_names_[target.text] = typed;
        return;
    }
    if (target.kind == ExprKind::Attribute || target.kind == ExprKind::Subscript) {
        const Place p = place(target);
        return write(p, materialize(value, span), target.span);
    }
    fail(ErrorKind::Syntax, target.span, "only names, elements and members can be assigned");
}

void FunctionLowering::assign_tuple(const Expr& target, const Entity& value, const Span& span) {
    for (const auto& one : target.children) {
        if (one->kind == ExprKind::Starred)
            fail(ErrorKind::Syntax, one->span, "kernels cannot contain a starred target: each value needs a name");
    }
    std::vector<Entity> parts;
    if (const auto* tuple = value.as<TupleEntity>()) {
        parts = tuple->parts;
    } else if (const auto* shape = value.as<ShapeEntity>()) {
        for (int i = 0; i < shape->array->type.ndim(); ++i) parts.emplace_back(builder_.shape(shape->array, i));
    } else if (Value* v = value.value(); v && (v->type.is(ir::TypeKind::Vec) || v->type.is(ir::TypeKind::Tuple))) {
        for (int i = 0; i < v->type.part_count(); ++i) parts.emplace_back(builder_.extract(v, i));
    } else {
        fail(ErrorKind::Type, span, "several names need several values, found " + value.describe());
    }
    if (parts.size() != target.children.size()) {
        fail(ErrorKind::Type, target.span,
             std::to_string(target.children.size()) + " names for " + std::to_string(parts.size()) + " values");
    }
    for (size_t i = 0; i < parts.size(); ++i) parts[i] = settle(parts[i], span);
    for (size_t i = 0; i < parts.size(); ++i) {
        const Expr& one = target.child(i);
        // `_` takes anything.
        if (one.kind == ExprKind::Name && one.text == "_") continue;
        if (one.kind == ExprKind::Tuple) {
            assign_tuple(one, parts[i], span);
        } else {
            assign(one, parts[i], span);
        }
    }
}

void FunctionLowering::augment(const Stmt& s) {
    const Expr& target = s.child(0);
    const std::string& op = s.text;
    const Expr& right = s.child(1);
    Place p = place(target);
    if (p.ref) {
        // Elements in memory: + - & | ^ are atomic, so that items may meet there; the others read and write.
        const bool bits = op == "&" || op == "|" || op == "^";
        const auto element = p.type;
        const bool numbers = (element.is_scalar() && !element.is_bool()) || (element.is_uniform());
        if ((op == "+" || op == "-" || bits) && numbers && !p.alone) {
            Value* v = value(right);
            const Entity types[] = {Entity(builder_.zero(element)), Entity(v)};
            if (has_user_operator(builtin_of(op), types)) {
                const Entity result = call_operator(builtin_of(op), op + "=", {read(p, target.span), v}, right);
                at(s.span);
                return write(p, materialize(result, s.span), s.span);
            }
            if (v->type != element) {
                fail(ErrorKind::Type, right.span,
                     "`" + op + "=` on an element of type " + user_name(element) + " needs that type, found " +
                         user_name(v->type) + "; nothing is converted");
            }
            if (bits && !ir::is_int(element.element())) {
                fail(ErrorKind::Type, s.span, "`" + op + "=` needs integers, found " + user_name(element));
            }
            const AtomicKind kind = op == "&"   ? AtomicKind::And
                                    : op == "|" ? AtomicKind::Or
                                    : op == "^" ? AtomicKind::Xor
                                    : op == "-" ? AtomicKind::Sub
                                                : AtomicKind::Add;
            return atomic_into(p, kind, v, s.span);
        }
    }
    if (!p.ref && p.local.empty()) fail(ErrorKind::Syntax, target.span, "this cannot be assigned");
    const Entity old = read(p, target.span);
    if (target.kind == ExprKind::Name) check_rebinding(target, old);
    const Entity result = call_operator(builtin_of(op), op + "=", {old, expression(right)}, right);
    at(s.span);
    if (p.path.empty() && !p.ref) {
        // The name may have been set anew while the right side was computed only by itself: bind as an assignment does.
        return bind(p.local, result, s.span);
    }
    if (target.kind == ExprKind::Name && p.ref && p.path.empty() && result.type() != p.type) {
        fail(ErrorKind::Type, s.span,
             "augmented assignment to ref parameter `" + target.text + "`, which is " + user_name(p.type) + ", gives " +
                 result.describe() + "; nothing is converted");
    }
    write(p, materialize(result, s.span), s.span);
}

void FunctionLowering::return_statement(const Stmt& s) {
    std::vector<Value*> values;
    bool tuple = false;
    if (!s.children.empty() && kind_ == ir::FunctionKind::Kernel) fail(ErrorKind::Type, s.span, kKernelReturns);
    if (!s.children.empty() && s.child(0).kind != ExprKind::None) {
        const Expr& e = s.child(0);
        if (gradient_)
            fail(ErrorKind::Syntax, s.span, "a gradient function returns nothing: it adds to wp.adjoint[...]");
        const Entity entity = expression(e);
        if (const auto* parts = entity.as<TupleEntity>()) {
            tuple = true;
            for (const auto& part : parts->parts) values.push_back(materialize(part, e.span));
        } else if (!entity.as<Unknown>()) {
            values.push_back(materialize(entity, e.span));
        }
    }
    at(s.span);
    if (gradient_) {
        builder_.return_(gradient_results());
    } else {
        std::vector<Type> types;
        for (const Value* v : values) types.push_back(v->type);
        set_results(types, tuple, s.span);
        builder_.return_(values);
    }
    reachable_ = false;
}

void FunctionLowering::set_results(const std::vector<Type>& types, bool tuple, const Span& span) {
    const auto describe = [&](const std::vector<Type>& list) {
        std::string text;
        for (const Type t : list) text += (text.empty() ? "" : ", ") + user_name(t);
        if (list.empty()) return std::string("no value");
        return tuple ? "a tuple with types `(" + text + ")`" : "a value of type `" + text + "`";
    };
    if (results_) {
        if (*results_ != types) {
            fail(ErrorKind::Type, span,
                 "`" + source_.name + "` returns " + describe(types) + " here and " + describe(*results_) +
                     " in line " + std::to_string(first_return_.line));
        }
        return;
    }
    const Binding annotation = source_.environment->annotation("return");
    const Type given = types.empty() ? Type() : tuple ? Type::tuple(types) : types[0];
    builtins::Matches matches;
    bool fits = true;
    std::optional<size_t> wanted;  // how many values
    if (const auto* type = std::get_if<Type>(&annotation)) {
        fits = *type == given;
        wanted = type->is(ir::TypeKind::Tuple) ? static_cast<size_t>(type->part_count()) : 1;
    } else if (const auto* pattern = std::get_if<builtins::TypePattern>(&annotation)) {
        fits = given && builtins::match(*pattern, given, matches);
        const bool several = pattern->kind == builtins::TypePattern::Kind::Tuple;
        if (!several || pattern->lengths.empty()) wanted = several ? pattern->parts.size() : 1;
    } else if (std::holds_alternative<NoneValue>(annotation)) {
        fits = types.empty();
    }
    if (!fits) {
        const bool other_count = wanted && *wanted != types.size() && !types.empty();
        const std::string annotated = other_count && *wanted > 1
                                          ? "a tuple of " + std::to_string(*wanted) + " elements"
                                          : "`" + without_prefix(source_.text(source_.tree->returns_span)) + "`";
        fail(ErrorKind::Type, span,
             "The function `" + source_.name + "` has its return type annotated as " + annotated +
                 " but the code returns " + (other_count ? std::to_string(types.size()) + " values" : describe(types)) +
                 ".");
    }
    results_ = types;
    returns_tuple_ = tuple;
    first_return_ = span;
}

// ---- branches ----

ir::Value* FunctionLowering::add_result(ir::Op& op, Type type) {
    Value* v = function_.new_value(type);
    v->op = &op;
    v->index = static_cast<int>(op.results.size());
    op.results.push_back(v);
    return v;
}

std::vector<ir::Value*> FunctionLowering::branch(Value* condition, const std::function<std::vector<Value*>()>& then,
                                                 const std::function<std::vector<Value*>()>& otherwise) {
    ir::Op& op = builder_.emit_op(Opcode::If, {&condition, 1}, {});
    const Names before = names_;
    std::vector<Value*> first;
    for (const auto* arm : {&then, &otherwise}) {
        builder_.fill_region(op, {}, [&](ir::Region&) {
            const std::vector<Value*> values = (*arm)();
            if (first.empty()) first = values;
            check_unchanged(before, {}, "a part of an expression that may not be computed");
            builder_.yield(values);
        });
    }
    for (const Value* v : first) add_result(op, v->type);
    return op.results;
}

void FunctionLowering::if_statement(const Stmt& s) {
    Value* condition = truth(expression(s.child(0)), s.child(0).span);
    // A condition that is known drops the other branch, which may then contain anything.
    if (const auto known = ir::constant_integer(condition)) return block(*known != 0 ? s.body : s.otherwise);

    const Names before = names_;
    const auto unrolled = unrolled_;
    ir::Op& op = builder_.emit_op(Opcode::If, {&condition, 1}, {});
    const auto arm = [&](const std::vector<StmtPtr>& statements) {
        names_ = before;
        reachable_ = true;
        builder_.fill_region(op, {}, [&](ir::Region&) { block(statements); });
        return std::pair(std::move(names_), reachable_);
    };
    const auto [then, then_returns] = arm(s.body);
    const auto [otherwise, otherwise_returns] = arm(s.otherwise);
    unrolled_ = unrolled;
    names_ = before;
    reachable_ = then_returns || otherwise_returns;
    at(s.span);
    if (!reachable_) return builder_.unreachable();

    std::vector<Value*> then_yields;
    std::vector<Value*> otherwise_yields;
    for (const auto& [name, entity] : then_returns ? then : otherwise) {
        const Entity* other = nullptr;
        if (then_returns && otherwise_returns) {
            const auto it = otherwise.find(name);
            if (it == otherwise.end()) continue;  // has a value on one path only: see NeedsDefinition
            other = &it->second;
        } else if (const auto it = before.find(name); it != before.end()) {
            other = &it->second;
        }
        if (other && same(entity, *other)) {
            names_[name] = entity;
            continue;
        }
        std::vector<Value*> values;
        std::vector<Value*> others;
        const bool run_time = flatten(entity, values) && (!other || !(then_returns && otherwise_returns) ||
                                                          (flatten(*other, others) && others.size() == values.size()));
        if (!run_time) {
            if (then_returns && otherwise_returns) {
                fail(ErrorKind::Type, s.span,
                     "`" + name + "` stands for different things on the two paths of this `if`");
            }
            names_[name] = entity;
            continue;
        }
        then_yields.insert(then_yields.end(), values.begin(), values.end());
        otherwise_yields.insert(otherwise_yields.end(), others.begin(), others.end());
        std::vector<Value*> results;
        for (const Value* v : values) {
            results.push_back(add_result(op, v->type));
            if (entity.value()) results.back()->name = name;
        }
        std::span<Value* const> rest(results);
        names_[name] = rebuild(entity, rest);
    }
    if (then_returns) op.regions[0]->terminator()->operands = then_yields;
    if (otherwise_returns) op.regions[1]->terminator()->operands = then_returns ? otherwise_yields : then_yields;
}

// ---- values carried by loops ----

// Only what is carried may change where values cannot leave in another way.
void FunctionLowering::check_unchanged(const Names& before, const std::vector<std::string>& carried,
                                       const char* where) const {
    for (const auto& [name, entity] : before) {
        const auto it = names_.find(name);
        if (it != names_.end() && same(it->second, entity)) continue;
        if (std::find(carried.begin(), carried.end(), name) != carried.end()) continue;
        throw UserError(ErrorKind::Syntax,
                        "`" + name + "` cannot be changed in " + where + "; give the new value a statement of its own",
                        builder_.location());
    }
}

std::vector<std::string> FunctionLowering::carried_names(const std::set<std::string>& assigned) const {
    std::vector<std::string> names;
    for (const auto& entry : assigned) {
        const bool part = entry[0] == '.';
        const std::string name = part ? entry.substr(1) : entry;
        if (part && assigned.contains(name)) continue;
        const auto it = names_.find(name);
        // An element of an array is memory: the name stays what it is.
        if (part && it != names_.end() && it->second.type().is(ir::TypeKind::Array)) continue;
        std::vector<Value*> values;
        if (it != names_.end() && flatten(it->second, values)) names.push_back(name);
    }
    return names;
}

std::vector<ir::Value*> FunctionLowering::carried_values(const std::vector<std::string>& names, const Span& span) {
    std::vector<Value*> values;
    for (const auto& name : names) {
        if (!flatten(names_.at(name), values)) {
            fail(ErrorKind::Type, span, "`" + name + "` becomes something that is no value inside a loop");
        }
    }
    return values;
}

void FunctionLowering::set_carried(const std::vector<std::string>& names, std::span<Value* const> values) {
    for (const auto& name : names) {
        Entity& entity = names_.at(name);
        entity = rebuild(entity, values);
        if (Value* v = entity.value()) v->name = name;
    }
}

}  // namespace weft::frontend
