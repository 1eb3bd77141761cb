// Expressions: literals, conditions and comparisons; what is read from places is in places.cpp.
#include <algorithm>
#include <array>

#include "builtins/pattern.h"
#include "frontend/function_lowering.h"
#include "frontend/operator_names.h"

namespace weft::frontend {

using builtins::user_name;
using ir::Opcode;
using ir::Scalar;

namespace {

// Nothing in it can fail, touch memory or take long: both sides of `and` may be computed.
bool is_cheap(const Expr& e) {
    switch (e.kind) {
        case ExprKind::Name:
        case ExprKind::Int:
        case ExprKind::Float:
        case ExprKind::Bool:
            return true;
        case ExprKind::Binary:
            if (e.text == "/" || e.text == "//" || e.text == "%" || e.text == "**" || e.text == "@") return false;
            [[fallthrough]];
        case ExprKind::Unary:
        case ExprKind::And:
        case ExprKind::Or:
        case ExprKind::Compare:
            return std::all_of(e.children.begin(), e.children.end(), [](const ExprPtr& c) { return is_cheap(*c); });
        case ExprKind::Attribute:
            return is_cheap(e.child(0));
        default:
            return false;
    }
}

// The type in which C++ compares two numbers.
Scalar common_type(Scalar a, Scalar b) {
    if (a == b) return a;
    if (ir::is_float(a) || ir::is_float(b)) {
        if (!ir::is_float(a)) return b;
        if (!ir::is_float(b)) return a;
        if (ir::scalar_bits(a) == ir::scalar_bits(b)) return Scalar::F32;  // float16 and bfloat16
        return ir::scalar_bits(a) > ir::scalar_bits(b) ? a : b;
    }
    const auto promoted = [](Scalar s) { return s == Scalar::Bool || ir::scalar_bits(s) < 32 ? Scalar::I32 : s; };
    a = promoted(a);
    b = promoted(b);
    if (a == b) return a;
    const int wide_a = ir::scalar_bits(a);
    const int wide_b = ir::scalar_bits(b);
    if (wide_a != wide_b) return wide_a > wide_b ? a : b;
    return ir::is_signed_int(a) ? b : a;  // of one width and unlike signs: the unsigned one
}

Opcode comparison_code(const std::string& op) {
    static const std::map<std::string, Opcode> codes = {{"==", Opcode::Eq}, {"!=", Opcode::Ne}, {"<", Opcode::Lt},
                                                        {"<=", Opcode::Le}, {">", Opcode::Gt},  {">=", Opcode::Ge}};
    return codes.at(op);
}

}  // namespace

ir::Value* FunctionLowering::value(const Expr& e) {
    const Entity entity = expression(e);
    if (entity.as<Unknown>())
        fail(ErrorKind::Type, e.span, "a value is needed here, but what is called returns nothing");
    return materialize(entity, e.span);
}

Entity FunctionLowering::expression(const Expr& e) {
    switch (e.kind) {
        case ExprKind::Name: {
            Entity entity = lookup(e.text, e.span);
            if (const auto* reference = entity.as<Reference>()) return builder_.load(reference->ref);
            return entity;
        }
        case ExprKind::Int: {
            IntNumber number;
            for (const char digit : e.text) {
                uint64_t next = 0;
                if (__builtin_mul_overflow(number.magnitude, uint64_t{10}, &next) ||
                    __builtin_add_overflow(next, static_cast<uint64_t>(digit - '0'), &next)) {
                    number.too_large = true;
                    break;
                }
                number.magnitude = next;
            }
            return number;
        }
        case ExprKind::Float:
            return FloatNumber{e.number};
        case ExprKind::Bool:
            return BoolNumber{e.number != 0};
        case ExprKind::String:
            return StringValue{e.text};
        case ExprKind::None:
            return NoneValue{};
        case ExprKind::Attribute:
        case ExprKind::Subscript:
            return read(place(e), e.span);
        case ExprKind::Call:
            return call(e);
        case ExprKind::Unary:
            return unary(e);
        case ExprKind::Binary:
            return binary(e);
        case ExprKind::And:
        case ExprKind::Or:
            return logical(e);
        case ExprKind::Compare:
            return comparison(e);
        case ExprKind::Conditional:
            return conditional(e);
        case ExprKind::Tuple: {
            TupleEntity tuple;
            for (const auto& part : e.children) tuple.parts.push_back(expression(*part));
            return tuple;
        }
        case ExprKind::Slice:
            fail(ErrorKind::Syntax, e.span, "a slice can stand inside [...] only");
        case ExprKind::Starred:
            fail(ErrorKind::Syntax, e.span, "`*` can stand before an argument of a call only");
        case ExprKind::Unsupported:
            fail(ErrorKind::Syntax, e.span, "kernels cannot contain " + e.text,
                 e.text == "a list" ? std::vector<std::string>{"use a vector, as wp.vec3(...), or an array of this "
                                                               "item: wp.zeros(shape=..., dtype=...)"}
                                    : std::vector<std::string>{});
        case ExprKind::Keyword:
        case ExprKind::Missing:
            break;
    }
    WEFT_CHECK(false, "an expression of kind " + std::string(word(e.kind)));
}

Entity FunctionLowering::unary(const Expr& e) {
    const Entity operand = expression(e.child(0));
    if (e.text == "not") {
        if (operand.type().is_float() || !operand.type() || operand.type().is_uniform()) {
            fail(ErrorKind::Type, e.child(0).span, "`not` needs a bool or an integer, found " + operand.describe());
        }
        return builder_.logical_not(truth(operand, e.child(0).span));
    }
    // Signs of literals are part of them, so that -2147483648 and wp.int64(-5) are exact.
    if (e.text == "-" || e.text == "+") {
        const bool minus = e.text == "-";
        if (const auto* n = operand.as<IntNumber>()) {
            IntNumber result = *n;
            result.negative = result.magnitude != 0 && (minus ? !n->negative : n->negative);
            return result;
        }
        if (const auto* n = operand.as<FloatNumber>()) return FloatNumber{minus ? -n->value : n->value};
    }
    return call_operator(builtin_of_unary(e.text), e.text, {operand}, e);
}

Entity FunctionLowering::binary(const Expr& e) {
    const Entity a = expression(e.child(0));
    const Entity b = expression(e.child(1));
    at(e.span);
    return call_operator(builtin_of(e.text), e.text, {a, b}, e);
}

ir::Value* FunctionLowering::truth(const Entity& entity, const Span& span) {
    if (entity.as<NoneValue>()) fail(ErrorKind::Type, span, "None has no truth value in kernels");
    const Type type = entity.type();
    if (type.is_scalar()) return builder_.cast(ir::boolean(), materialize(entity, span));
    if (type.is(ir::TypeKind::Array)) return builder_.is_valid(entity.value());
    fail(ErrorKind::Type, span, "a condition needs a bool, a number or an array, found " + entity.describe());
}

Entity FunctionLowering::logical(const Expr& e) {
    const bool conjunction = e.kind == ExprKind::And;
    Value* result = truth(expression(e.child(0)), e.child(0).span);
    for (size_t i = 1; i < e.children.size(); ++i) {
        const Expr& next = e.child(i);
        // Known already: the rest is not even looked at.
        if (const auto known = ir::constant_integer(result); known && (*known != 0) != conjunction) return result;
        if (ir::constant_integer(result)) {
            result = truth(expression(next), next.span);
        } else if (is_cheap(next)) {
            result =
                builder_.binary(conjunction ? Opcode::And : Opcode::Or, result, truth(expression(next), next.span));
        } else {
            const auto rest = [&]() -> std::vector<Value*> { return {truth(expression(next), next.span)}; };
            const auto decided = [&]() -> std::vector<Value*> { return {builder_.boolean(!conjunction)}; };
            result = conjunction ? branch(result, rest, decided)[0] : branch(result, decided, rest)[0];
        }
    }
    return result;
}

Entity FunctionLowering::comparison(const Expr& e) {
    std::vector<std::string> operators;
    size_t start = 0;
    while (start < e.text.size()) {
        const size_t end = std::min(e.text.find(' ', start), e.text.size());
        operators.push_back(e.text.substr(start, end - start));
        start = end + 1;
    }
    Entity left = expression(e.child(0));
    // Strings and types are compared when the kernel is compiled.
    const auto known = [&](const Entity& a, const Entity& b, const std::string& op) -> std::optional<Entity> {
        const bool strings = a.as<StringValue>() && b.as<StringValue>();
        const bool types = a.as<ir::Type>() && b.as<ir::Type>();
        if ((op != "==" && op != "!=") || (!strings && !types)) return std::nullopt;
        return Entity(builder_.boolean(same(a, b) == (op == "==")));
    };
    const std::function<Value*(const Entity&, size_t)> chain = [&](const Entity& a, size_t i) -> Value* {
        const Expr& next = e.child(i + 1);
        const Entity b = settle(expression(next), next.span);
        Value* one = nullptr;
        if (const auto decided = known(a, b, operators[i])) {
            one = decided->value();
        } else {
            one = compare(operators[i], a, b, e);
        }
        if (i + 1 == operators.size()) return one;
        bool cheap = true;
        for (size_t k = i + 2; k < e.children.size(); ++k) cheap = cheap && is_cheap(e.child(k));
        if (cheap) return builder_.binary(Opcode::And, one, chain(b, i + 1));
        return branch(
            one, [&]() -> std::vector<Value*> { return {chain(b, i + 1)}; },
            [&]() -> std::vector<Value*> { return {builder_.boolean(false)}; })[0];
    };
    return chain(left, 0);
}

ir::Value* FunctionLowering::compare(const std::string& op, const Entity& a, const Entity& b, const Expr& e) {
    if (op == "is" || op == "is_not" || op == "in" || op == "not_in") {
        std::string written = op;
        std::replace(written.begin(), written.end(), '_', ' ');
        fail(ErrorKind::Syntax, e.span, "`" + written + "` is not supported in kernels; compare with == or !=");
    }
    if (a.as<NoneValue>() || b.as<NoneValue>()) {
        fail(ErrorKind::Type, e.span, "None cannot be compared with: whether an array was given is `if array:`");
    }
    const Type ta = a.type();
    const Type tb = b.type();
    const Opcode code = comparison_code(op);
    if (ta.is_scalar() && tb.is_scalar()) {
        Value* x = materialize(a, e.span);
        Value* y = materialize(b, e.span);
        const Type common = Type::scalar(common_type(ta.element(), tb.element()));
        at(e.span);
        return builder_.compare(code, builder_.cast(common, x), builder_.cast(common, y));
    }
    if (ta == tb && ta.is_uniform() && (code == Opcode::Eq || code == Opcode::Ne)) {
        Value* all = nullptr;
        for (int i = 0; i < ta.part_count(); ++i) {
            Value* one = builder_.compare(code, builder_.extract(a.value(), i), builder_.extract(b.value(), i));
            all = all ? builder_.binary(code == Opcode::Eq ? Opcode::And : Opcode::Or, all, one) : one;
        }
        return all;
    }
    fail(ErrorKind::Type, e.span, "`" + op + "` cannot compare " + a.describe() + " with " + b.describe());
}

Entity FunctionLowering::conditional(const Expr& e) {
    Value* condition = truth(expression(e.child(0)), e.child(0).span);
    if (const auto known = ir::constant_integer(condition)) return expression(e.child(*known != 0 ? 1 : 2));
    Type type;
    const auto arm = [&](const Expr& one) -> std::function<std::vector<Value*>()> {
        return [&]() -> std::vector<Value*> {
            Value* v = value(one);
            if (type && v->type != type) {
                fail(ErrorKind::Type, e.span,
                     "both values of `... if ... else ...` need one type, found " + user_name(type) + " and " +
                         user_name(v->type));
            }
            type = v->type;
            return {v};
        };
    };
    return branch(condition, arm(e.child(1)), arm(e.child(2)))[0];
}

namespace {

bool mentions(const Expr& e, const std::function<bool(const std::string&)>& wanted) {
    if (e.kind == ExprKind::Name && wanted(e.text)) return true;
    return std::any_of(e.children.begin(), e.children.end(),
                       [&](const ExprPtr& child) { return mentions(*child, wanted); });
}

bool has_unsupported(const Expr& e) {
    return e.kind == ExprKind::Unsupported || std::any_of(e.children.begin(), e.children.end(),
                                                          [](const ExprPtr& child) { return has_unsupported(*child); });
}

}  // namespace

// What a static expression over locals is, where their types say it (`len(v)`); nothing where they do not.
std::optional<Entity> FunctionLowering::known_locally(const Expr& e) {
    const auto local = [&](const std::string& name) {
        const auto it = names_.find(name);
        if (it == names_.end() || unrolled_.contains(name)) return false;
        return !it->second.as<std::shared_ptr<const OverloadSet>>();
    };
    if (has_unsupported(e) || !mentions(e, local)) return std::nullopt;
    const auto statics = [&](const auto& self, const Expr& part) -> bool {
        if (part.kind == ExprKind::Call && part.child(0).text == "static") return true;
        return std::any_of(part.children.begin(), part.children.end(),
                           [&](const ExprPtr& child) { return self(self, *child); });
    };
    if (statics(statics, e)) return std::nullopt;
    try {
        Entity entity = settle(expression(e), e.span);
        if (Value* v = entity.value(); v && v->type.is_scalar() && ir::constant_number(v)) return entity;
        if (entity.as<ir::Type>() || entity.as<StringValue>()) return entity;
    } catch (const UserError&) {
        return std::nullopt;  // Python's own words are better
    }
    return std::nullopt;
}

Entity FunctionLowering::static_value(const Expr& call) {
    if (call.children.size() != 2) fail(ErrorKind::Argument, call.span, "wp.static takes one expression");
    const Expr& expression = call.child(1);
    if (auto known = known_locally(expression)) return *known;
    std::vector<std::pair<std::string, Binding>> locals;
    std::set<std::string> constants = unrolled_;
    for (const auto& [name, literal] : literal_names_) constants.insert(name);
    for (const auto& name : constants) {
        const auto it = names_.find(name);
        if (it != names_.end() && it->second.type().is_float()) {
            if (const auto real = ir::constant_number(it->second.value()))
                locals.emplace_back(name, FloatNumber{*real});
            continue;
        }
        const auto number =
            it == names_.end() || !it->second.value() ? std::nullopt : ir::constant_integer(it->second.value());
        if (!number) continue;
        const bool negative = *number < 0;
        locals.emplace_back(name, IntNumber{negative, static_cast<uint64_t>(negative ? -*number : *number)});
    }
    try {
        const Binding binding = source_.environment->evaluate(source_.text(expression.span), expression.span, locals);
        return from_binding(binding, source_.text(expression.span), expression.span);
    } catch (const UserError& error) {
        throw error.at(source_.location(expression.span));
    }
}

}  // namespace weft::frontend
