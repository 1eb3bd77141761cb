// Calls: which function is meant, which argument goes to which parameter.
#include <algorithm>
#include <set>
#include <utility>

#include "builtins/pattern.h"
#include "builtins/registry.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;

namespace {

// Whether a builtin is called as functions are, by the values of its arguments: the others are forms of the language.
bool is_regular(const std::string& name) {
    static const std::set<std::string> forms = {"address_of", "adjoint", "cast",   "grad", "print",
                                                "printf",     "range",   "static", "tid",  "type"};
    return !forms.contains(name);
}

}  // namespace

Entity FunctionLowering::call(const Expr& e) {
    callee_ = &e.child(0);
    const Entity callee = expression(e.child(0));
    if (const auto* builtin = callee.as<BuiltinName>()) return call_builtin(builtin->name, e);
    if (const auto* set = callee.as<std::shared_ptr<const OverloadSet>>()) return call_function(**set, e, arguments(e));
    if (const auto* gradient = callee.as<GradientEntity>()) return call_gradient(*gradient, e);
    if (const auto* type = callee.as<Type>()) {
        const auto given = arguments(e);
        at(e.span);
        return construct(*type, given, e);
    }
    fail(ErrorKind::Type, e.child(0).span, callee.describe() + " cannot be called");
}

namespace {

// Whether the builtin takes so many values of the first one's type, and the others are of another.
bool takes_one_type(const builtins::Builtin& builtin, const std::vector<ir::Type>& given) {
    if (given.size() < 2 || !std::ranges::all_of(given, [](ir::Type type) { return static_cast<bool>(type); }))
        return false;
    const ir::Type type = given[0];
    if (std::ranges::all_of(given, [&](ir::Type other) { return other == type; })) return false;
    return std::ranges::any_of(builtin.rows, [&](const builtins::Row* row) {
        const auto& parameters = row->signature().parameters;
        builtins::Matches matches;
        return parameters.size() == given.size() &&
               std::ranges::all_of(parameters, [&](const auto& p) { return builtins::match(p.type, type, matches); });
    });
}

}  // namespace

std::vector<FunctionLowering::Argument> FunctionLowering::arguments(const Expr& e) {
    std::vector<Argument> result;
    for (size_t i = 1; i < e.children.size(); ++i) {
        const Expr& one = e.child(i);
        if (one.kind == ExprKind::Keyword) {
            result.push_back({one.text, expression(one.child(0)), one.child(0).span, &one.child(0)});
        } else if (one.kind == ExprKind::Starred) {
            if (starred_slice(one.child(0), result)) continue;
            const Entity entity = expression(one.child(0));
            const Type type = entity.type();
            if (const auto* tuple = entity.as<TupleEntity>()) {
                for (const auto& part : tuple->parts) result.push_back({"", part, one.span, nullptr});
            } else if (type.is(ir::TypeKind::Mat)) {
                const Type row = Type::vec(type.columns(), type.element());
                for (int row_index = 0; row_index < type.rows(); ++row_index) {
                    std::vector<Value*> parts;
                    for (int k = 0; k < type.columns(); ++k)
                        parts.push_back(builder_.extract(entity.value(), row_index * type.columns() + k));
                    result.push_back({"", builder_.compose(row, parts), one.span, nullptr});
                }
            } else if (const auto* shape = entity.as<ShapeEntity>()) {
                for (int k = 0; k < shape->array->type.ndim(); ++k)
                    result.push_back({"", builder_.shape(shape->array, k), one.span, nullptr});
            } else if (type.is_aggregate() && !type.is(ir::TypeKind::Struct)) {
                for (int k = 0; k < type.part_count(); ++k)
                    result.push_back({"", builder_.extract(entity.value(), k), one.span, nullptr});
            } else {
                fail(ErrorKind::Type, one.span,
                     "Starred expressions are only supported for vectors, matrices, tuples and slices of arrays, "
                     "found " +
                         entity.describe());
            }
        } else {
            result.push_back({"", expression(one), one.span, &one});
            if (result.back().entity.as<Unknown>())
                fail(ErrorKind::Type, one.span, "this argument has no value: what is called here returns nothing");
        }
    }
    return result;
}

// ---- builtins ----

Entity FunctionLowering::call_builtin(const std::string& name, const Expr& e) {
    if (name == "static") return static_value(e);
    const auto* builtin = builtins::find(name);
    if (!builtin) {
        fail(ErrorKind::Unsupported, e.span, "the builtin `" + name + "` is not available yet");
    }
    auto given = arguments(e);
    at(e.span);
    if (const auto it = specials().find(name); it != specials().end()) return (this->*it->second)(e, std::move(given));

    // Named arguments take their place in the rows that have such parameters.
    std::vector<Entity> positional;
    for (const auto& a : given) {
        if (a.name.empty()) positional.push_back(a.entity);
    }
    if (positional.size() == given.size()) {
        if (auto result = try_rows(name, positional, e.span)) {
            write_back(e);
            return *result;
        }
    } else {
        for (const auto* row : builtin->rows) {
            std::vector<Entity> ordered = positional;
            const auto& parameters = row->signature().parameters;
            for (size_t i = positional.size(); i < parameters.size(); ++i) {
                const auto it = std::find_if(given.begin(), given.end(),
                                             [&](const Argument& a) { return a.name == parameters[i].name; });
                if (it != given.end()) ordered.push_back(it->entity);
            }
            if (ordered.size() != given.size()) continue;
            if (auto result = try_rows(name, ordered, e.span)) return *result;
        }
    }
    std::string found;
    for (const auto& a : given)
        found += (found.empty() ? "" : ", ") + (a.name.empty() ? "" : a.name + "=") + a.entity.describe();
    std::string list;
    for (const auto* row : builtin->rows) list += "\n    " + name + row->signature().str();
    std::vector<std::string> notes;
    std::vector<ir::Type> given_types;
    for (const auto& a : given) given_types.push_back(a.entity.type());
    if (takes_one_type(*builtin, given_types)) {
        std::string types;
        for (const ir::Type type : given_types)
            types += (types.empty() ? "'" : ", '") + builtins::class_name(type) + "'";
        notes.push_back("Input types must be exactly the same, got [" + types + "]: nothing is converted");
    }
    notes.push_back("its forms:" + list);
    fail(ErrorKind::Type, e.span, "`" + name + "` has no form for (" + found + ")", notes);
}

// An argument that the builtin updates is a variable; of any other expression the new value is lost, as a temporary is.
void FunctionLowering::write_back(const Expr& call) {
    for (const auto& [argument, new_value] : std::exchange(updated_, {})) {
        const Expr& target = call.child(static_cast<size_t>(argument) + 1);
        const bool assignable =
            target.kind == ExprKind::Name || target.kind == ExprKind::Attribute || target.kind == ExprKind::Subscript;
        if (assignable) write(place(target), new_value, target.span);
    }
}

// ---- functions of the user ----

std::optional<std::vector<FunctionLowering::Argument>> FunctionLowering::match_parameters(
    const FunctionSource& f, std::span<const Argument> arguments, std::string* why) {
    const auto& parameters = f.tree->parameters;
    std::vector<std::optional<Argument>> slots(parameters.size());
    size_t next = 0;
    for (const auto& a : arguments) {
        size_t slot = next;
        if (a.name.empty()) {
            ++next;
        } else {
            slot = 0;
            while (slot < parameters.size() && parameters[slot].name != a.name) ++slot;
            if (slot == parameters.size()) {
                *why = "has no parameter `" + a.name + "`";
                return std::nullopt;
            }
        }
        if (slot >= parameters.size()) {
            *why =
                "takes " + std::to_string(parameters.size()) + " arguments, found " + std::to_string(arguments.size());
            return std::nullopt;
        }
        if (slots[slot]) {
            *why = "gets `" + parameters[slot].name + "` twice";
            return std::nullopt;
        }
        slots[slot] = a;
    }
    std::vector<Argument> result;
    for (size_t i = 0; i < slots.size(); ++i) {
        if (!slots[i]) {
            const Binding value = f.environment->default_value(parameters[i].name);
            std::optional<Entity> entity;
            if (!std::holds_alternative<Unknown>(value)) entity = entity_of(value, builder_);
            if (entity) slots[i] = Argument{"", *entity, parameters[i].span, nullptr};
        }
        if (!slots[i]) {
            *why = "needs a value for `" + parameters[i].name + "`";
            return std::nullopt;
        }
        result.push_back(*slots[i]);
    }
    return result;
}

// wp.grad(f)(...): the derivative of f by each of its arguments that is a value; zero for integers.
Entity FunctionLowering::call_gradient(const GradientEntity& gradient, const Expr& e) {
    auto given = arguments(e);
    if (gradient.functions) return call_function(*gradient.functions, e, std::move(given), true);
    std::vector<InstanceArgument> types;
    std::vector<Value*> values;
    for (const Argument& a : given) {
        values.push_back(materialize(a.entity, a.span));
        types.push_back({values.back()->type, {}});
    }
    std::vector<Type> operands;
    for (const Value* v : values) operands.push_back(v->type);
    const Instance& instance = instances_.instance(instances_.calling(BuiltinName{gradient.builtin}, operands), types,
                                                   source_.location(e.span));
    at(e.span);
    return gradient_of(instance, values);
}

Entity FunctionLowering::gradient_of(const Instance& instance, std::span<Value* const> values) {
    const auto results = builder_.gradient(*instance.function, values);
    TupleEntity all;
    size_t next = 0;
    for (Value* v : values) {
        if (v->type.contains_array()) continue;
        all.parts.emplace_back(v->type.is_differentiable() ? results[next++] : builder_.zero(v->type));
    }
    return all.parts.size() == 1 ? all.parts[0] : Entity(all);
}

Entity FunctionLowering::call_function(const OverloadSet& set, const Expr& e, std::vector<Argument> arguments,
                                       bool derivative) {
    std::vector<std::string> reasons;
    // The latest definition that fits exactly; else the latest generic one.
    for (const bool generic : {false, true}) {
        for (auto it = set.functions.rbegin(); it != set.functions.rend(); ++it) {
            const auto& parameters = instances_.signature(**it);
            const bool is_generic = std::any_of(parameters.begin(), parameters.end(),
                                                [](const ParameterInfo& p) { return !p.type.is_exact(); });
            if (is_generic != generic) continue;
            std::string why;
            auto entities = match_parameters(**it, arguments, &why);
            std::vector<InstanceArgument> types;
            builtins::Matches matches;
            for (size_t i = 0; entities && i < entities->size(); ++i) {
                Entity& entity = (*entities)[i].entity;
                entity = settle(entity, e.span);
                InstanceArgument argument{entity.value() ? entity.value()->type : Type(),
                                          entity.value() ? Entity() : entity};
                if (entity.as<TupleEntity>()) argument = {entity.type(), {}};
                const Type wanted = parameters[i].type.exact;
                if (wanted.is(ir::TypeKind::Ref) && argument.type == wanted.target()) argument.type = wanted;
                const auto* builtin = argument.constant.as<BuiltinName>();
                if (builtin && !is_regular(builtin->name)) {
                    why = "cannot take the unsupported built-in function '" + builtin->name + "' for `" +
                          parameters[i].name + "`: only calls by its name have a meaning";
                    entities.reset();
                    break;
                }
                if (!accepts(parameters[i].type, argument, matches)) {
                    why = "needs " + parameters[i].type.str() + " for `" + parameters[i].name + "`, found " +
                          entity.describe();
                    entities.reset();
                    break;
                }
                types.push_back(argument);
            }
            if (!entities) {
                std::string text = "`" + set.name + "(";
                for (size_t i = 0; i < parameters.size(); ++i)
                    text += (i ? ", " : "") + parameters[i].name + ": " + parameters[i].type.str();
                reasons.push_back(text + ")` " + why);
                continue;
            }
            std::vector<Value*> values;
            std::vector<std::function<void()>> back;
            for (size_t i = 0; i < types.size(); ++i) {
                const Argument& given = (*entities)[i];
                if (types[i].type.is(ir::TypeKind::Ref)) {
                    if (!given.expr)
                        fail(ErrorKind::Type, given.span, "this has no address that a function could take");
                    std::function<void()> write_back;
                    values.push_back(reference_to(*given.expr, &write_back));
                    if (write_back) back.push_back(std::move(write_back));
                } else if (types[i].type) {
                    values.push_back(materialize(given.entity, e.span));
                }
            }
            const Instance& instance = instances_.instance(*it, types, source_.location(e.span));
            at(e.span);
            if (derivative) return gradient_of(instance, values);
            const Entity result = call_instance(instance, values);
            for (const auto& write_back : back) write_back();
            return result;
        }
    }
    if (reasons.size() == 1) fail(ErrorKind::Type, e.span, reasons[0]);
    fail(ErrorKind::Type, e.span, "no overload of `" + set.name + "` takes these arguments", reasons);
}

Entity FunctionLowering::call_instance(const Instance& instance, std::span<Value* const> arguments) {
    const auto results = builder_.call(*instance.function, arguments);
    if (instance.returns_tuple) {
        TupleEntity tuple;
        for (Value* v : results) tuple.parts.emplace_back(v);
        return tuple;
    }
    return results.empty() ? Entity(Unknown{}) : Entity(results[0]);
}

}  // namespace weft::frontend
