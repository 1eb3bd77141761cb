#include "ad/rules.h"

#include "base/error.h"
#include "builtins/registry.h"

namespace weft::ad {
namespace {

using namespace ir;

// Computes a value of uniform type element by element; for scalars, once.
Value* by_element(Builder& b, std::span<Value* const> operands,
                  const std::function<Value*(std::span<Value* const>)>& element) {
    const Type type = operands[0]->type;
    if (type.is_scalar()) return element(operands);
    std::vector<Value*> parts;
    for (int i = 0; i < type.part_count(); ++i) {
        std::vector<Value*> scalars;
        for (Value* v : operands) scalars.push_back(b.extract(v, i));
        parts.push_back(element(scalars));
    }
    return b.compose(type, parts);
}

// A singular derivative times an adjoint of zero is zero, not NaN: what an arm of `where` that was not chosen, or an
// output that nobody used, must contribute.
Value* unless_zero(Builder& b, Value* g, Value* contribution) {
    Value* operands[] = {g, contribution};
    return by_element(b, operands, [&](std::span<Value* const> v) {
        Value* zero = b.zero(v[0]->type);
        return b.select(b.compare(Opcode::Eq, v[0], zero), zero, v[1]);
    });
}

// The gradient of min and max goes to the second operand on ties, to neither with NaN.
void min_max(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    const Opcode wins = op.code == Opcode::Min ? Opcode::Lt : Opcode::Gt;
    const Opcode ties = op.code == Opcode::Min ? Opcode::Le : Opcode::Ge;
    Value* operands[] = {c.primal(op.operands[0]), c.primal(op.operands[1]), g};
    const auto first = [&](std::span<Value* const> v) {
        return b.select(b.compare(wins, v[0], v[1]), v[2], b.zero(v[2]->type));
    };
    const auto second = [&](std::span<Value* const> v) {
        return b.select(b.compare(ties, v[1], v[0]), v[2], b.zero(v[2]->type));
    };
    c.adjoints.add(op.operands[0], by_element(b, operands, first));
    c.adjoints.add(op.operands[1], by_element(b, operands, second));
}

void absolute(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    Value* operands[] = {c.primal(op.operands[0]), g};
    c.adjoints.add(op.operands[0], by_element(b, operands, [&](std::span<Value* const> v) {
                       return b.select(b.compare(Opcode::Lt, v[0], b.zero(v[0]->type)), b.neg(v[1]), v[1]);
                   }));
}

void math(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    std::vector<Value*> all;
    for (const Value* operand : op.operands) all.push_back(c.primal(operand));
    const size_t count = all.size();
    all.push_back(c.primal(op.result()));
    all.push_back(g);
    const auto& rule = builtins::derivative(op.math());
    for (size_t k = 0; k < count; ++k) {
        bool flat = false;  // no adjoint: constant almost everywhere, as floor is
        Value* contribution = by_element(b, all, [&](std::span<Value* const> v) {
            Value* adjoint = rule(b, v.first(count), v[count], v[count + 1])[k];
            flat = !adjoint;
            return flat ? b.zero(v[0]->type) : adjoint;
        });
        if (!flat) c.adjoints.add(op.operands[k], unless_zero(b, g, contribution));
    }
}

Value* sum_of_elements(Builder& b, Value* v) {
    if (v->type.is_scalar()) return v;
    Value* sum = b.extract(v, 0);
    for (int i = 1; i < v->type.part_count(); ++i) sum = b.add(sum, b.extract(v, i));
    return sum;
}

// x / y: g / y and -x g / y^2, by one division: the reciprocal of y. A vector over a number takes that number's.
void quotient(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    const Value* x = op.operands[0];
    const Value* y = op.operands[1];
    // Only where the number's adjoint is gathered in the same region as the quotient's.
    const bool splat = c.reverse && y->op && y->op->code == Opcode::Splat && y->op->parent == op.parent;
    const Value* divisor = splat ? y->op->operands[0] : y;
    Value* reciprocal = b.div(b.fill(divisor->type, 1.0), c.primal(divisor));
    Value* scaled = unless_zero(b, g, b.mul(g, splat ? b.splat(g->type, reciprocal) : reciprocal));
    c.adjoints.add(x, scaled);
    Value* product = b.mul(scaled, c.primal(x));
    if (splat) product = sum_of_elements(b, product);
    c.adjoints.add(divisor, unless_zero(b, product, b.neg(b.mul(product, reciprocal))));
}

void arithmetic(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    const Value* x = op.operands[0];
    const Value* y = op.operands.size() > 1 ? op.operands[1] : nullptr;
    switch (op.code) {
        case Opcode::Add:
            c.adjoints.add(x, g);
            c.adjoints.add(y, g);
            break;
        case Opcode::Sub:
            c.adjoints.add(x, g);
            c.adjoints.add(y, b.neg(g));
            break;
        case Opcode::Mul:
            // Products are too frequent to guard them where no arm is left unchosen.
            for (const auto& [to, factor] : {std::pair{x, y}, std::pair{y, x}}) {
                Value* contribution = b.mul(g, c.primal(factor));
                c.adjoints.add(to, c.selects ? unless_zero(b, g, contribution) : contribution);
            }
            break;
        case Opcode::Div:
            quotient(c, op, g);
            break;
        case Opcode::Rem: {  // x - y * trunc(x / y)
            c.adjoints.add(x, g);
            Value* turns = b.math(MathFn::Trunc, b.div(c.primal(x), c.primal(y)));
            c.adjoints.add(y, unless_zero(b, g, b.neg(b.mul(g, turns))));
            break;
        }
        case Opcode::Neg:
            c.adjoints.add(x, b.neg(g));
            break;
        case Opcode::Abs:
            absolute(c, op, g);
            break;
        case Opcode::Min:
        case Opcode::Max:
            min_max(c, op, g);
            break;
        case Opcode::Math:
            math(c, op, g);
            break;
        default:
            break;  // floordiv is constant almost everywhere; bit operations have no derivative
    }
}

}  // namespace

bool apply_rule(const RuleContext& c, const Op& op, Value* g) {
    Builder& b = c.builder;
    if (is_elementwise(op.code)) {
        arithmetic(c, op, g);
        return true;
    }
    if (op.operands.empty()) return is_pure(op.code);  // constants and the item's coordinates
    const Value* x = op.operands[0];
    switch (op.code) {
        case Opcode::Eq:
        case Opcode::Ne:
        case Opcode::Lt:
        case Opcode::Le:
        case Opcode::Gt:
        case Opcode::Ge:
        case Opcode::Bitcast:
            return true;
        case Opcode::Select: {
            Value* condition = c.primal(x);
            c.adjoints.add(op.operands[1], b.select(condition, g, b.zero(g->type)));
            c.adjoints.add(op.operands[2], b.select(condition, b.zero(g->type), g));
            return true;
        }
        case Opcode::Cast:
            if (x->type.has_float_elements()) c.adjoints.add(x, b.cast(x->type, g));
            return true;
        case Opcode::Compose:
            for (size_t i = 0; i < op.operands.size(); ++i) {
                if (op.operands[i]->type.is_differentiable()) {
                    c.adjoints.add(op.operands[i], b.extract(g, static_cast<int>(i)));
                }
            }
            return true;
        case Opcode::Splat:
            c.adjoints.add(x, sum_of_elements(b, g));
            return true;
        case Opcode::Extract:
            c.adjoints.add_part(x, static_cast<int>(op.ints[0]), g);
            return true;
        case Opcode::Insert: {
            const auto part = static_cast<int>(op.ints[0]);
            for (int i = 0; i < x->type.part_count(); ++i) {
                if (i != part && x->type.part(i).is_differentiable()) c.adjoints.add_part(x, i, b.extract(g, i));
            }
            c.adjoints.add(op.operands[1], b.extract(g, part));
            return true;
        }
        case Opcode::ExtractAt:
            c.adjoints.add(x, b.insert_at(b.zero(x->type), g, c.primal(op.operands[1])));
            return true;
        case Opcode::InsertAt: {
            Value* index = c.primal(op.operands[2]);
            c.adjoints.add(x, b.insert_at(g, b.zero(g->type.element_type()), index));
            c.adjoints.add(op.operands[1], b.extract_at(g, index));
            return true;
        }
        default:
            return false;
    }
}

}  // namespace weft::ad
