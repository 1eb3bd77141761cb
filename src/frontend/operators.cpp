// Operators, and builtins on values, by the rows of the registry.
#include "frontend/operator_names.h"

#include <algorithm>
#include <map>

#include "builtins/pattern.h"
#include "builtins/registry.h"
#include "frontend/function_lowering.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;

std::string builtin_of(const std::string& op) {
    static const std::map<std::string, std::string> names = {
        {"+", "add"},       {"-", "sub"},     {"*", "mul"},    {"@", "mul"},     {"/", "div"},
        {"//", "floordiv"}, {"%", "mod"},     {"**", "pow"},   {"&", "bit_and"}, {"|", "bit_or"},
        {"^", "bit_xor"},   {"<<", "lshift"}, {">>", "rshift"}};
    return names.at(op);
}

std::string builtin_of_unary(const std::string& op) {
    static const std::map<std::string, std::string> names = {{"+", "pos"}, {"-", "neg"}, {"~", "invert"}};
    return names.at(op);
}

Entity FunctionLowering::call_operator(const std::string& builtin, const std::string& op, std::vector<Entity> operands,
                                       const Expr& e) {
    for (auto& operand : operands) operand = settle(operand, e.span);
    // What a constant right side makes meaningless is refused; at run time it has a defined value (ops.def).
    if (operands.size() == 2 && operands[1].type().is_int() && operands[0].type().is_int()) {
        const auto right = ir::constant_integer(operands[1].value());
        if (right == 0 && (builtin == "div" || builtin == "floordiv" || builtin == "mod")) {
            fail(ErrorKind::Value, e.span, "integer division by zero");
        }
        const int width = ir::scalar_bits(operands[0].type().element());
        if (right && (builtin == "lshift" || builtin == "rshift") && (*right < 0 || *right >= width)) {
            fail(ErrorKind::Value, e.span,
                 "shift by " + std::to_string(*right) + ": " + user_name(operands[0].type()) + " has " +
                     std::to_string(width) + " bits");
        }
    }
    if (instances_.options().checks && operands.size() == 2 && operands[1].type().is_int() &&
        operands[0].type().is_int() && (builtin == "div" || builtin == "floordiv" || builtin == "mod")) {
        Value* divisor = operands[1].value();
        check(builder_.compare(Opcode::Ne, divisor, builder_.constant(divisor->type, 0)), "integer division by zero",
              e.span);
    }
    at(e.span);
    const bool overloaded = has_user_operator(builtin, operands);
    if (!overloaded) {
        if (auto result = try_rows(builtin, operands, e.span)) return *result;
    }
    // A user's function of the operator's name: how structs get operators.
    if (const OverloadSet* set = user_operator(builtin)) {
        std::vector<Argument> arguments;
        for (const auto& operand : operands) arguments.push_back({"", operand, e.span, nullptr});
        return call_function(*set, e, std::move(arguments));
    }
    std::string found;
    for (const auto& operand : operands) found += (found.empty() ? "" : " and ") + operand.describe();
    std::vector<std::string> notes;
    if (operands.size() == 2 && operands[0].type().is_scalar() && operands[1].type().is_scalar() &&
        operands[0].type() != operands[1].type()) {
        const std::string left = user_name(operands[0].type());
        const std::string right = user_name(operands[1].type());
        notes.push_back("Input types must be the same, got ['" + left + "', '" + right +
                        "']: nothing is converted, write " + left + "(...) or " + right + "(...) around one of them");
    } else {
        std::string list;
        for (const auto* row : builtins::find(builtin)->rows) list += "\n    " + row->signature().str();
        notes.push_back("`" + op + "` takes:" + list);
    }
    fail(ErrorKind::Type, e.span, "`" + op + "` has no meaning for " + found, notes);
}

const OverloadSet* FunctionLowering::user_operator(const std::string& builtin) {
    const auto [it, fresh] = operators_.try_emplace(builtin);
    if (fresh) {
        const Binding binding = source_.environment->name(builtin);
        if (const auto* set = std::get_if<std::shared_ptr<const OverloadSet>>(&binding)) it->second = *set;
    }
    return it->second.get();
}

bool FunctionLowering::has_user_operator(const std::string& builtin, std::span<const Entity> operands) {
    const OverloadSet* set = user_operator(builtin);
    if (!set) return false;
    for (const auto& function : set->functions) {
        // Inside itself the operator is the builtin.
        if (instances_.is_active(*function)) continue;
        const auto& parameters = instances_.signature(*function);
        bool fits = parameters.size() == operands.size();
        for (size_t i = 0; fits && i < operands.size(); ++i)
            fits = parameters[i].type.is_exact() && parameters[i].type.exact == operands[i].type();
        if (fits) return true;
    }
    return false;
}

std::optional<Entity> FunctionLowering::try_rows(const std::string& name, std::span<const Entity> arguments,
                                                 const Span& span) {
    const auto* builtin = builtins::find(name);
    WEFT_CHECK(builtin, "no builtin is called " + name);
    std::vector<Type> types;
    for (const auto& a : arguments) {
        types.push_back(a.type());
        if (!types.back()) return std::nullopt;
    }
    for (const auto* row : builtin->rows) {
        const auto& parameters = row->signature().parameters;
        if (std::holds_alternative<builtins::LowerSpecial>(row->lowering) || types.size() > parameters.size()) continue;
        builtins::Matches matches;
        bool fits = true;
        for (size_t i = 0; i < parameters.size() && fits; ++i) {
            fits = i < types.size() ? builtins::match(parameters[i].type, types[i], matches)
                                    : !parameters[i].default_text.empty();
        }
        if (!fits) continue;
        std::vector<Value*> values;
        for (const auto& a : arguments) values.push_back(materialize(a, span));
        for (size_t i = types.size(); i < parameters.size(); ++i) {
            values.push_back(builder_.constant(builtins::substitute(parameters[i].type, matches),
                                               std::stod(parameters[i].default_text)));
        }
        return lower_row(*row, values, builtins::substitute(row->signature().result, matches), span);
    }
    return std::nullopt;
}

Entity FunctionLowering::lower_row(const builtins::Row& row, std::span<Value* const> arguments, Type result,
                                   const Span& span) {
    at(span);
    const auto entity = [](Value* v) { return v ? Entity(v) : Entity(Unknown{}); };
    if (const auto* op = std::get_if<builtins::LowerOp>(&row.lowering)) {
        return arguments.size() == 1 ? builder_.unary(op->code, arguments[0])
                                     : builder_.binary(op->code, arguments[0], arguments[1]);
    }
    if (const auto* math = std::get_if<builtins::LowerMath>(&row.lowering)) return builder_.math(math->fn, arguments);
    if (const auto* expand = std::get_if<builtins::LowerExpand>(&row.lowering)) {
        return entity(expand->expand({builder_, arguments, result}));
    }
    std::vector<Type> types;
    for (const Value* v : arguments) types.push_back(v->type);
    if (const auto* native = std::get_if<builtins::LowerNative>(&row.lowering)) {
        return builder_.native(native->symbol(types), result, arguments);
    }
    WEFT_CHECK(std::holds_alternative<builtins::LowerPrelude>(row.lowering),
               "row " + row.name + " has no lowering on values");
    Entity results = call_instance(instances_.prelude(row, types, source_.location(span)), arguments);
    const auto& updates = std::get<builtins::LowerPrelude>(row.lowering).updates;
    if (updates.empty()) return results;
    // The last results go back into the arguments.
    const auto& parts = results.as<TupleEntity>()->parts;
    const size_t kept = parts.size() - updates.size();
    for (size_t i = 0; i < row.signature().parameters.size(); ++i) {
        const auto it = std::find(updates.begin(), updates.end(), row.signature().parameters[i].name);
        if (it == updates.end()) continue;
        const auto which = kept + static_cast<size_t>(it - updates.begin());
        updated_.emplace_back(static_cast<int>(i), parts[which].value());
    }
    return kept ? parts[0] : Entity(Unknown{});
}

}  // namespace weft::frontend
