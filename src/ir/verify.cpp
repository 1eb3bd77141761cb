#include "ir/verify.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "base/error.h"
#include "ir/text.h"

namespace weft::ir {
namespace {

class Verifier {
  public:
    Verifier(const Module& module, const Function& function) : module_(module), function_(function) {}

    void run() {
        for (const Value* parameter : function_.parameters()) {
            const bool reference = parameter->type.is(TypeKind::Ref) && function_.kind == FunctionKind::Kernel;
            expect(parameter->type && !reference && !parameter->type.is(TypeKind::Stack), nullptr,
                   "parameter of type " + parameter->type.str());
        }
        expect(function_.kind != FunctionKind::Kernel || function_.results.empty(), nullptr, "a kernel has results");
        region(function_.body, Context::Function);
    }

  private:
    enum class Context { Function, If, Loop, WhileCondition };

    void expect(bool condition, const Op* op, const std::string& message) const {
        if (condition) return;
        std::string where = "function " + function_.name;
        if (op) where += ", op " + std::string(mnemonic(op->code));
        throw InternalError("malformed IR in " + where + ": " + message + "\n" + print(function_));
    }

    void region(const Region& r, Context context) {
        const size_t visible = scope_.size();
        for (size_t i = 0; i < r.arguments.size(); ++i) {
            const Value* argument = r.arguments[i];
            expect(argument->region == &r && argument->index == static_cast<int>(i), r.parent, "misplaced argument");
            define(argument);
        }
        expect(!r.ops.empty(), r.parent, "empty region");
        for (size_t i = 0; i < r.ops.size(); ++i) {
            const Op& op = *r.ops[i];
            for (const Value* operand : op.operands) {
                expect(operand && defined_.contains(operand), &op, "operand is not defined here");
            }
            const bool last = i + 1 == r.ops.size();
            expect(is_terminator(op.code) == last, &op, last ? "region does not end" : "terminator inside a region");
            if (last) {
                terminator(op, r, context);
            } else {
                this->op(op);
            }
            for (size_t k = 0; k < op.results.size(); ++k) {
                expect(op.results[k]->op == &op && op.results[k]->index == static_cast<int>(k), &op,
                       "misplaced result");
                define(op.results[k]);
            }
        }
        for (size_t i = visible; i < scope_.size(); ++i) defined_.erase(scope_[i]);
        scope_.resize(visible);
    }

    void define(const Value* value) {
        scope_.push_back(value);
        defined_.insert(value);
    }

    void same_types(const Op& op, std::span<Value* const> values, std::span<const Type> types) const {
        expect(values.size() == types.size(), &op,
               "passes " + std::to_string(values.size()) + " values for " + std::to_string(types.size()));
        for (size_t i = 0; i < types.size(); ++i) {
            expect(values[i]->type == types[i], &op, "passes " + values[i]->type.str() + " for " + types[i].str());
        }
    }

    void terminator(const Op& op, const Region& r, Context context) {
        switch (op.code) {
            case Opcode::Yield:
                expect(context == Context::If || context == Context::Loop, &op, "misplaced");
                same_types(op, op.operands, result_types(*r.parent));
                break;
            case Opcode::Condition:
                expect(context == Context::WhileCondition, &op, "misplaced");
                expect(op.operands.size() == 1 && op.operands[0]->type.is_bool(), &op, "needs one bool");
                break;
            case Opcode::Break:
            case Opcode::Continue:
                expect(!loops_.empty() && context != Context::WhileCondition, &op, "outside a loop");
                same_types(op, op.operands, result_types(*loops_.back()));
                break;
            case Opcode::Return:
                expect(context != Context::WhileCondition, &op, "inside a condition");
                same_types(op, op.operands, function_.results);
                break;
            default:
                expect(context != Context::WhileCondition, &op, "inside a condition");
        }
    }

    static std::vector<Type> result_types(const Op& op) {
        std::vector<Type> types;
        for (const Value* v : op.results) types.push_back(v->type);
        return types;
    }

    void loop(const Op& op, size_t fixed, size_t region_index, Context context) {
        const Region& r = *op.regions[region_index];
        const auto carried = result_types(op);
        same_types(op, std::span(op.operands).subspan(fixed), carried);
        const size_t index = fixed == 0 ? 0 : 1;
        expect(r.arguments.size() == carried.size() + index, &op, "region has the wrong arguments");
        same_types(op, std::span(r.arguments).subspan(index), carried);
        loops_.push_back(&op);
        region(r, context);
        loops_.pop_back();
    }

    void op(const Op& op) {
        const auto operand = [&](size_t i) {
            expect(i < op.operands.size(), &op, "operand " + std::to_string(i) + " is missing");
            return op.operands[i]->type;
        };
        const auto result = [&] {
            expect(op.results.size() == 1, &op, "needs one result");
            return op.results[0]->type;
        };
        const auto word = [&] {
            expect(op.ints.size() == 1, &op, "needs one integer attribute");
            return op.ints[0];
        };
        const auto part = [&](Type aggregate) {
            expect(aggregate.is_aggregate() && word() >= 0 && word() < aggregate.part_count(), &op,
                   "no part " + std::to_string(word()) + " in " + aggregate.str());
            return aggregate.part(static_cast<int>(word()));
        };
        const auto want = [&](bool condition, const char* what) { expect(condition, &op, what); };
        for (const Value* v : op.results) want(static_cast<bool>(v->type), "result without a type");

        if (is_elementwise(op.code)) {
            const Type type = result();
            want(type.is_scalar() || type.is_uniform(), "result is neither scalar nor uniform");
            for (const Value* v : op.operands) want(v->type == type, "operands and result differ in type");
            const bool unary = op.code == Opcode::Neg || op.code == Opcode::Abs || op.code == Opcode::Not;
            const size_t count =
                op.code == Opcode::Math ? static_cast<size_t>(operand_count(op.math())) : (unary ? 1 : 2);
            want(op.operands.size() == count, "wrong number of operands");
            const Scalar element = type.element();
            const bool bits =
                op.code == Opcode::And || op.code == Opcode::Or || op.code == Opcode::Xor || op.code == Opcode::Not;
            if (op.code == Opcode::Math) want(is_float(element), "needs floats");
            if (bits) want(!is_float(element), "needs integers or bools");
            if (!bits && op.code != Opcode::Math) want(element != Scalar::Bool, "has no meaning for bools");
            if (op.code == Opcode::Shl || op.code == Opcode::Shr) want(is_int(element), "needs integers");
            return;
        }
        switch (op.code) {
            case Opcode::Const:
                want(result().is_scalar(), "is no scalar"), word();
                break;
            case Opcode::Zero:
                want(!result().is(TypeKind::Ref) && !result().is(TypeKind::Stack), "has no zero");
                break;
            case Opcode::Eq:
            case Opcode::Ne:
            case Opcode::Lt:
            case Opcode::Le:
            case Opcode::Gt:
            case Opcode::Ge:
                want(result().is_bool() && operand(0).is_scalar() && operand(0) == operand(1), "compares two scalars");
                break;
            case Opcode::Select:
                want(operand(0).is_bool() && operand(1) == operand(2) && operand(1) == result(), "needs (bool, T, T)");
                break;
            case Opcode::Cast:
                want((operand(0).is_scalar() && result().is_scalar()) ||
                         (operand(0).is_uniform() && result().kind() == operand(0).kind() &&
                          result().part_count() == operand(0).part_count()),
                     "casts scalars, or uniform types of one shape");
                break;
            case Opcode::Bitcast:
                want(operand(0).is_scalar() && result().is_scalar() &&
                         scalar_bits(operand(0).element()) == scalar_bits(result().element()),
                     "needs scalars of one size");
                break;
            case Opcode::Compose:
                want(result().is_aggregate() && static_cast<int>(op.operands.size()) == result().part_count(),
                     "wrong number of parts");
                for (size_t i = 0; i < op.operands.size(); ++i) {
                    want(operand(i) == result().part(static_cast<int>(i)), "part of the wrong type");
                }
                break;
            case Opcode::Splat:
                want(result().is_uniform() && operand(0) == result().element_type(), "needs the element's type");
                break;
            case Opcode::Extract:
                want(part(operand(0)) == result(), "wrong result type");
                break;
            case Opcode::Insert:
                want(part(operand(0)) == operand(1) && operand(0) == result(), "wrong types");
                break;
            case Opcode::ExtractAt:
                want(operand(0).is_uniform() && operand(1).is_int() && result() == operand(0).element_type(),
                     "wrong types");
                break;
            case Opcode::InsertAt:
                want(operand(0).is_uniform() && operand(1) == operand(0).element_type() && operand(2).is_int() &&
                         result() == operand(0),
                     "wrong types");
                break;
            case Opcode::At:
            case Opcode::View: {
                want(operand(0).is(TypeKind::Array), "needs an array");
                const int given = static_cast<int>(op.operands.size()) - 1;
                for (size_t i = 1; i < op.operands.size(); ++i) want(operand(i).is_int(), "index is no integer");
                if (op.code == Opcode::At) {
                    want(given == operand(0).ndim() && result() == Type::ref(operand(0).target()), "wrong types");
                } else {
                    want(given >= 1 && given < operand(0).ndim() &&
                             result() == Type::array(operand(0).target(), operand(0).ndim() - given),
                         "wrong types");
                }
                break;
            }
            case Opcode::Slice: {
                want(operand(0).is(TypeKind::Array) && static_cast<int>(op.ints.size()) == operand(0).ndim(),
                     "needs an array and a word for each dimension");
                const auto ranges = std::count(op.ints.begin(), op.ints.end(), 1);
                want(op.operands.size() == 1 + op.ints.size() + 2 * static_cast<size_t>(ranges), "wrong operands");
                for (size_t i = 1; i < op.operands.size(); ++i) want(operand(i).is_int(), "index is no integer");
                want(ranges >= 1 && result() == Type::array(operand(0).target(), static_cast<int>(ranges)),
                     "wrong types");
                break;
            }
            case Opcode::LocalArray:
                want(result().is(TypeKind::Array) && static_cast<int>(op.ints.size()) == result().ndim(),
                     "needs a size for each dimension");
                for (const int64_t size : op.ints) want(size >= 0, "negative size");
                break;
            case Opcode::Address:
                want(
                    (operand(0).is(TypeKind::Ref) || operand(0).is(TypeKind::Array)) && result().is_scalar(Scalar::U64),
                    "wrong types");
                break;
            case Opcode::ArrayAt:
                want(operand(0).is_scalar(Scalar::U64) && result().is(TypeKind::Array) &&
                         static_cast<int>(op.operands.size()) == 1 + result().ndim(),
                     "needs an address and a size for each dimension");
                for (size_t i = 1; i < op.operands.size(); ++i) want(operand(i).is_int(), "size is no integer");
                break;
            case Opcode::Stride:
                want(operand(0).is(TypeKind::Array) && word() >= 0 && word() < operand(0).ndim() && result() == i32(),
                     "wrong types");
                break;
            case Opcode::Member:
                want(operand(0).is(TypeKind::Ref) && Type::ref(part(operand(0).target())) == result(), "wrong types");
                break;
            case Opcode::MemberAt:
                want(operand(0).is(TypeKind::Ref) && operand(0).target().is_uniform() && operand(1).is_int() &&
                         result() == Type::ref(operand(0).target().element_type()),
                     "wrong types");
                break;
            case Opcode::Load:
                want(operand(0).is(TypeKind::Ref) && operand(0).target() == result(), "wrong types");
                break;
            case Opcode::Store:
                want(operand(0).is(TypeKind::Ref) && operand(0).target() == operand(1) && op.results.empty(),
                     "wrong types");
                break;
            case Opcode::Atomic:
                want(operand(0).is(TypeKind::Ref) && operand(0).target() == operand(1) && result() == operand(1) &&
                         (operand(1).is_scalar() || operand(1).is_uniform()) && word() >= 0 &&
                         word() < kAtomicKindCount,
                     "wrong types");
                break;
            case Opcode::Shape:
                want(operand(0).is(TypeKind::Array) && word() >= 0 && word() < operand(0).ndim() && result() == i32(),
                     "wrong types");
                break;
            case Opcode::IsValid:
                want(operand(0).is(TypeKind::Array) && result().is_bool(), "wrong types");
                break;
            case Opcode::ThreadIndex:
            case Opcode::LaunchDim:
                want(word() >= 0 && word() < 8 && result() == i32(), "wrong dimension");
                break;
            case Opcode::Gradient: {
                const Function* callee = module_.find(op.text);
                expect(callee && callee->kind == FunctionKind::Function, &op, "derives unknown @" + op.text);
                std::vector<Type> types;
                for (const Value* v : callee->parameters()) types.push_back(v->type);
                same_types(op, op.operands, types);
                break;
            }
            case Opcode::Call: {
                const Function* callee = module_.find(op.text);
                expect(callee && callee->kind == FunctionKind::Function, &op, "calls unknown @" + op.text);
                std::vector<Type> types;
                for (const Value* v : callee->parameters()) types.push_back(v->type);
                same_types(op, op.operands, types);
                same_types(op, op.results, callee->results);
                break;
            }
            case Opcode::Native:
                want(!op.text.empty(), "has no symbol");
                break;
            case Opcode::Snippet:
                want(op.text.find('\n') != std::string::npos && op.ints.size() == 2 && op.ints[0] >= 0 &&
                         op.ints[0] <= 2,
                     "has no source");
                break;
            case Opcode::Print:
                for (const Value* v : op.operands) want(v->type.is_scalar(), "prints scalars only");
                break;
            case Opcode::Assert:
                want(operand(0).is_bool(), "needs a bool");
                for (size_t i = 1; i < op.operands.size(); ++i) want(operand(i) == i64(), "shows i64 only");
                break;
            case Opcode::StackNew:
                want(result().is(TypeKind::Stack) && (op.operands.empty() || op.operands.size() == 2), "wrong type");
                for (size_t i = 0; i < op.operands.size(); ++i) want(operand(i) == i64(), "is kept by two i64");
                break;
            case Opcode::StackPush:
                want(operand(0).is(TypeKind::Stack) && operand(0).target() == operand(1), "wrong types");
                break;
            case Opcode::StackKeep:
            case Opcode::StackPosition:
                want(operand(0).is(TypeKind::Stack) && result() == i64(), "wrong types");
                break;
            case Opcode::StackSeek:
                want(operand(0).is(TypeKind::Stack) && operand(1) == i64(), "wrong types");
                break;
            case Opcode::StackRead:
            case Opcode::StackPop:
                want(operand(0).is(TypeKind::Stack) && operand(0).target() == result(), "wrong types");
                break;
            case Opcode::If:
                want(op.regions.size() == 2 && op.operands.size() == 1 && operand(0).is_bool(),
                     "needs a bool, two regions");
                for (const auto& r : op.regions) {
                    want(r->arguments.empty(), "region has arguments");
                    region(*r, Context::If);
                }
                break;
            case Opcode::For:
                want(op.regions.size() == 1 && op.operands.size() >= 3, "needs bounds and one region");
                want(operand(0).is_signed() && operand(0) == operand(1) && operand(0) == operand(2),
                     "bounds are no signed integers of one type");
                want(!op.regions[0]->arguments.empty() && op.regions[0]->arguments[0]->type == operand(0),
                     "index of the wrong type");
                loop(op, 3, 0, Context::Loop);
                break;
            case Opcode::While:
                want(op.regions.size() == 2, "needs two regions");
                loop(op, 0, 0, Context::WhileCondition);
                loop(op, 0, 1, Context::Loop);
                break;
            default:
                break;
        }
    }

    const Module& module_;
    const Function& function_;
    std::unordered_set<const Value*> defined_;
    std::vector<const Value*> scope_;
    std::vector<const Op*> loops_;
};

}  // namespace

void verify(const Module& module) {
    for (const auto& function : module.functions) {
        Verifier(module, *function).run();
        for (const std::string& other : {function->adjoint, function->replay, function->by_value}) {
            if (!other.empty() && !module.find(other))
                throw InternalError("function " + function->name + " names unknown function " + other);
        }
    }
}

}  // namespace weft::ir
