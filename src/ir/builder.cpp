#include "ir/builder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ir/constant.h"

namespace weft::ir {
namespace {

using Values = std::span<Value* const>;

// Identifies a pure op by what it computes.
std::string merge_key(Opcode code, Values operands, Type result, std::span<const int64_t> ints, std::string_view text) {
    std::string key;
    key.reserve(16 + 8 * (operands.size() + ints.size()) + text.size());
    const auto put = [&](const auto& x) { key.append(reinterpret_cast<const char*>(&x), sizeof(x)); };
    put(code);
    put(result);
    for (const Value* v : operands) put(v->id);
    key += '|';
    for (const int64_t i : ints) put(i);
    key += text;
    return key;
}

const Op* defined_by(const Value* value, Opcode code) {
    return value->op && value->op->code == code ? value->op : nullptr;
}

bool is_zero(const Value* value) { return defined_by(value, Opcode::Zero) || constant_bits(value) == uint64_t{0}; }

// The scalar that fills every element of a value, when it is known.
std::optional<uint64_t> filled_bits(const Value* value) {
    if (const Op* splat = defined_by(value, Opcode::Splat)) return constant_bits(splat->operands[0]);
    if (value->type.is_uniform() && defined_by(value, Opcode::Zero)) return 0;
    return constant_bits(value);
}

bool is_filled_with(const Value* value, double number) {
    const auto bits = filled_bits(value);
    return bits && *bits == to_bits(value->type.element(), number);
}

// x op identity == x for every x, NaN and signed zeros included.
Value* fold_identity(Opcode code, Value* a, Value* b) {
    const bool integer = !is_float(a->type.element());
    switch (code) {
        case Opcode::Add:
            if (integer && is_filled_with(b, 0)) return a;
            if (integer && is_filled_with(a, 0)) return b;
            break;
        case Opcode::Sub:
            if (is_filled_with(b, 0)) return a;  // x - (+0) is x for -0 too
            break;
        case Opcode::Mul:
            if (is_filled_with(b, 1)) return a;
            if (is_filled_with(a, 1)) return b;
            if (integer && is_filled_with(b, 0)) return b;
            if (integer && is_filled_with(a, 0)) return a;
            break;
        case Opcode::Div:
            if (is_filled_with(b, 1)) return a;
            break;
        case Opcode::And:
            if (is_filled_with(b, 0)) return b;
            if (is_filled_with(a, 0)) return a;
            if (a->type.is_bool() && is_filled_with(b, 1)) return a;
            if (a->type.is_bool() && is_filled_with(a, 1)) return b;
            break;
        case Opcode::Or:
        case Opcode::Xor:
        case Opcode::Shl:
        case Opcode::Shr:
            if (is_filled_with(b, 0)) return a;
            if (code == Opcode::Or && is_filled_with(a, 0)) return b;
            if (code == Opcode::Or && a->type.is_bool() && is_filled_with(b, 1)) return b;
            if (code == Opcode::Or && a->type.is_bool() && is_filled_with(a, 1)) return a;
            break;
        default:
            break;
    }
    return nullptr;
}

}  // namespace

Builder::Builder(Module& module, Function& function) : module_(module), function_(function) {
    scopes_.push_back({&function.body, {}});
}

Value* Builder::parameter(Type type, std::string_view name) {
    Value* value = function_.new_value(type, name);
    value->region = &function_.body;
    value->index = static_cast<int>(function_.body.arguments.size());
    function_.body.arguments.push_back(value);
    return value;
}

bool Builder::terminated() const {
    const Region& region = *scopes_.back().region;
    return !region.ops.empty() && is_terminator(region.ops.back()->code);
}

Op& Builder::emit_op(Opcode code, Values operands, std::span<const Type> results, std::span<const int64_t> ints,
                     std::string_view text) {
    WEFT_CHECK(!terminated(), "op " + std::string(mnemonic(code)) + " behind a terminator");
    Op* op = function_.new_op(code, location_);
    op->operands.assign(operands.begin(), operands.end());
    op->ints.assign(ints.begin(), ints.end());
    op->text = text;
    op->parent = scopes_.back().region;
    for (const Type type : results) {
        Value* value = function_.new_value(type);
        value->op = op;
        value->index = static_cast<int>(op->results.size());
        op->results.push_back(value);
    }
    scopes_.back().region->ops.push_back(op);
    return *op;
}

Value* Builder::pure(Opcode code, Values operands, Type result, std::span<const int64_t> ints, std::string_view text) {
    if (!folding_) return emit_op(code, operands, {&result, 1}, ints, text).result();
    const std::string key = merge_key(code, operands, result, ints, text);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        const auto it = scope->known.find(key);
        if (it != scope->known.end()) return it->second;
    }
    Value* value = emit_op(code, operands, {&result, 1}, ints, text).result();
    scopes_.back().known.emplace(key, value);
    return value;
}

// Constants ---------------------------------------------------------------------------------------------------------

Value* Builder::constant_bits(Type type, uint64_t bits) {
    WEFT_CHECK(type.is_scalar(), "constant of " + type.str());
    const auto word = static_cast<int64_t>(bits);
    return pure(Opcode::Const, {}, type, {&word, 1});
}

Value* Builder::constant(Type type, double value) { return constant_bits(type, to_bits(type.element(), value)); }
Value* Builder::constant(Type type, int64_t value) { return constant_bits(type, to_bits(type.element(), value)); }

Value* Builder::zero(Type type) {
    if (type.is_scalar()) return constant_bits(type, 0);
    return pure(Opcode::Zero, {}, type);
}

Value* Builder::fill(Type type, double value) {
    return type.is_scalar() ? constant(type, value) : splat(type, constant(type.element_type(), value));
}

// Elementwise and scalar --------------------------------------------------------------------------------------------

Value* Builder::unary(Opcode code, Value* a) {
    if (folding_) {
        if (a->type.is_scalar()) {
            if (const auto bits = ir::constant_bits(a)) {
                if (const auto folded = fold_unary(code, a->type.element(), *bits)) {
                    return constant_bits(a->type, *folded);
                }
            }
        }
        if (code == Opcode::Not || code == Opcode::Neg) {
            if (const Op* inner = defined_by(a, code)) return inner->operands[0];
        }
    }
    return pure(code, {&a, 1}, a->type);
}

Value* Builder::binary(Opcode code, Value* a, Value* b) {
    WEFT_CHECK(a->type == b->type, std::string(mnemonic(code)) + " of " + a->type.str() + " and " + b->type.str());
    if (folding_) {
        if (a->type.is_scalar()) {
            const auto x = ir::constant_bits(a);
            const auto y = ir::constant_bits(b);
            if (x && y) {
                if (const auto folded = fold_binary(code, a->type.element(), *x, *y)) {
                    return constant_bits(a->type, *folded);
                }
            }
        }
        if (Value* folded = fold_identity(code, a, b)) return folded;
    }
    Value* operands[] = {a, b};
    return pure(code, operands, a->type);
}

Value* Builder::math(MathFn fn, Value* a, Value* b) {
    Value* operands[] = {a, b};
    return math(fn, operands);
}

Value* Builder::math(MathFn fn, Values operands) {
    // Exact whoever computes it; the derivative of a square has such a power.
    if (folding_ && fn == MathFn::Pow && is_filled_with(operands[1], 1)) return operands[0];
    const auto word = static_cast<int64_t>(fn);
    return pure(Opcode::Math, operands, operands[0]->type, {&word, 1});
}

Value* Builder::compare(Opcode code, Value* a, Value* b) {
    WEFT_CHECK(a->type == b->type, std::string(mnemonic(code)) + " of " + a->type.str() + " and " + b->type.str());
    if (folding_) {
        const auto x = ir::constant_bits(a);
        const auto y = ir::constant_bits(b);
        if (x && y) return boolean(fold_compare(code, a->type.element(), *x, *y));
    }
    Value* operands[] = {a, b};
    return pure(code, operands, ir::boolean());
}

Value* Builder::select(Value* condition, Value* a, Value* b) {
    if (folding_) {
        if (a == b) return a;
        if (const auto bits = ir::constant_bits(condition)) return *bits != 0 ? a : b;
    }
    Value* operands[] = {condition, a, b};
    return pure(Opcode::Select, operands, a->type);
}

Value* Builder::cast(Type type, Value* a) {
    if (folding_) {
        if (type == a->type) return a;
        if (const auto bits = ir::constant_bits(a); bits && type.is_scalar()) {
            return constant_bits(type, fold_cast(type.element(), a->type.element(), *bits));
        }
    }
    return pure(Opcode::Cast, {&a, 1}, type);
}

Value* Builder::bitcast(Type type, Value* a) {
    if (folding_) {
        if (type == a->type) return a;
        if (const auto bits = ir::constant_bits(a)) return constant_bits(type, *bits);
    }
    return pure(Opcode::Bitcast, {&a, 1}, type);
}

// Aggregates --------------------------------------------------------------------------------------------------------

Value* Builder::compose(Type type, Values parts) {
    WEFT_CHECK(static_cast<int>(parts.size()) == type.part_count(), "parts of " + type.str());
    if (folding_ && !parts.empty()) {
        // Every part of one value, in order, is that value; all zeros are zero.
        const Op* first = defined_by(parts[0], Opcode::Extract);
        Value* whole = first && first->operands[0]->type == type ? first->operands[0] : nullptr;
        bool zeros = true;
        for (size_t i = 0; i < parts.size(); ++i) {
            const Op* extract = defined_by(parts[i], Opcode::Extract);
            if (!extract || extract->operands[0] != whole || extract->ints[0] != static_cast<int64_t>(i)) {
                whole = nullptr;
            }
            zeros = zeros && is_zero(parts[i]);
        }
        if (whole) return whole;
        if (zeros) return zero(type);
    }
    return pure(Opcode::Compose, parts, type);
}

Value* Builder::splat(Type type, Value* scalar) {
    if (folding_) {
        if (type == scalar->type) return scalar;
        if (is_zero(scalar)) return zero(type);
    }
    return pure(Opcode::Splat, {&scalar, 1}, type);
}

Value* Builder::extract(Value* aggregate, int part) {
    const Type type = aggregate->type.part(part);
    if (folding_) {
        if (defined_by(aggregate, Opcode::Zero)) return zero(type);
        if (const Op* op = defined_by(aggregate, Opcode::Compose)) return op->operands[static_cast<size_t>(part)];
        if (const Op* op = defined_by(aggregate, Opcode::Splat)) return op->operands[0];
        if (const Op* op = defined_by(aggregate, Opcode::Insert)) {
            return op->ints[0] == part ? op->operands[1] : extract(op->operands[0], part);
        }
    }
    const int64_t word = part;
    return pure(Opcode::Extract, {&aggregate, 1}, type, {&word, 1});
}

Value* Builder::insert(Value* aggregate, Value* value, int part) {
    WEFT_CHECK(aggregate->type.part(part) == value->type,
               "insert " + value->type.str() + " into " + aggregate->type.str());
    if (folding_) {
        if (const Op* op = defined_by(aggregate, Opcode::Compose)) {
            auto parts = op->operands;
            parts[static_cast<size_t>(part)] = value;
            return compose(aggregate->type, parts);
        }
        if (const Op* op = defined_by(aggregate, Opcode::Insert); op && op->ints[0] == part) {
            return insert(op->operands[0], value, part);
        }
    }
    Value* operands[] = {aggregate, value};
    const int64_t word = part;
    return pure(Opcode::Insert, operands, aggregate->type, {&word, 1});
}

namespace {

// The part that a constant index names, negative ones counted from the end; nothing when it is out of range.
std::optional<int> constant_part(Type uniform, const Value* index) {
    const auto constant = constant_integer(index);
    if (!constant) return std::nullopt;
    const int64_t part = *constant < 0 ? *constant + uniform.part_count() : *constant;
    if (part < 0 || part >= uniform.part_count()) return std::nullopt;
    return static_cast<int>(part);
}

}  // namespace

Value* Builder::extract_at(Value* uniform, Value* index) {
    if (folding_) {
        if (const auto part = constant_part(uniform->type, index)) return extract(uniform, *part);
        if (const Op* op = defined_by(uniform, Opcode::Splat)) return op->operands[0];
        if (defined_by(uniform, Opcode::Zero)) return zero(uniform->type.element_type());
    }
    Value* operands[] = {uniform, index};
    return pure(Opcode::ExtractAt, operands, uniform->type.element_type());
}

Value* Builder::insert_at(Value* uniform, Value* value, Value* index) {
    if (folding_) {
        if (const auto part = constant_part(uniform->type, index)) return insert(uniform, value, *part);
    }
    Value* operands[] = {uniform, value, index};
    return pure(Opcode::InsertAt, operands, uniform->type);
}

// Memory ------------------------------------------------------------------------------------------------------------

Value* Builder::at(Value* array, Values indices) {
    WEFT_CHECK(static_cast<int>(indices.size()) == array->type.ndim(), "indices of " + array->type.str());
    if (folding_) {
        // An element of a view is an element of the array.
        if (const Op* view = defined_by(array, Opcode::View)) {
            std::vector<Value*> all(view->operands.begin() + 1, view->operands.end());
            all.insert(all.end(), indices.begin(), indices.end());
            return at(view->operands[0], all);
        }
    }
    std::vector<Value*> operands = {array};
    operands.insert(operands.end(), indices.begin(), indices.end());
    return pure(Opcode::At, operands, Type::ref(array->type.target()));
}

Value* Builder::member(Value* ref, int part) {
    const int64_t word = part;
    return pure(Opcode::Member, {&ref, 1}, Type::ref(ref->type.target().part(part)), {&word, 1});
}

Value* Builder::member_at(Value* ref, Value* index) {
    if (folding_) {
        if (const auto part = constant_part(ref->type.target(), index)) return member(ref, *part);
    }
    Value* operands[] = {ref, index};
    return pure(Opcode::MemberAt, operands, Type::ref(ref->type.target().element_type()));
}

Value* Builder::view(Value* array, Values indices) {
    const int ndim = array->type.ndim() - static_cast<int>(indices.size());
    WEFT_CHECK(ndim >= 1 && !indices.empty(), "view of " + array->type.str());
    if (folding_) {
        if (const Op* inner = defined_by(array, Opcode::View)) {
            std::vector<Value*> all(inner->operands.begin() + 1, inner->operands.end());
            all.insert(all.end(), indices.begin(), indices.end());
            return view(inner->operands[0], all);
        }
    }
    std::vector<Value*> operands = {array};
    operands.insert(operands.end(), indices.begin(), indices.end());
    return pure(Opcode::View, operands, Type::array(array->type.target(), ndim));
}

Value* Builder::slice(Value* array, std::span<const bool> ranges, Values values) {
    WEFT_CHECK(static_cast<int>(ranges.size()) == array->type.ndim(), "slice of " + array->type.str());
    const auto kept = static_cast<int>(std::count(ranges.begin(), ranges.end(), true));
    std::vector<int64_t> words(ranges.begin(), ranges.end());
    std::vector<Value*> operands = {array};
    operands.insert(operands.end(), values.begin(), values.end());
    return pure(Opcode::Slice, operands, Type::array(array->type.target(), kept), words);
}

Value* Builder::local_array(Type element, std::span<const int64_t> shape) {
    const Type type = Type::array(element, static_cast<int>(shape.size()));
    return emit_op(Opcode::LocalArray, {}, {&type, 1}, shape).result();
}

Value* Builder::address(Value* ref_or_array) {
    return pure(Opcode::Address, {&ref_or_array, 1}, Type::scalar(Scalar::U64));
}

Value* Builder::array_at(Type element, Value* address, Values shape) {
    std::vector<Value*> operands = {address};
    operands.insert(operands.end(), shape.begin(), shape.end());
    return pure(Opcode::ArrayAt, operands, Type::array(element, static_cast<int>(shape.size())));
}

Value* Builder::stride(Value* array, int dimension) {
    WEFT_CHECK(dimension >= 0 && dimension < array->type.ndim(), "stride of " + array->type.str());
    const int64_t word = dimension;
    return pure(Opcode::Stride, {&array, 1}, i32(), {&word, 1});
}

Value* Builder::load(Value* ref) {
    const Type type = ref->type.target();
    return emit_op(Opcode::Load, {&ref, 1}, {&type, 1}).result();
}

void Builder::store(Value* ref, Value* value) {
    WEFT_CHECK(ref->type.target() == value->type, "store " + value->type.str() + " to " + ref->type.str());
    Value* operands[] = {ref, value};
    emit_op(Opcode::Store, operands, {});
}

Value* Builder::atomic(AtomicKind kind, Value* ref, Value* value) {
    WEFT_CHECK(ref->type.target() == value->type, "atomic " + value->type.str() + " on " + ref->type.str());
    Value* operands[] = {ref, value};
    const Type type = value->type;
    const auto word = static_cast<int64_t>(kind);
    return emit_op(Opcode::Atomic, operands, {&type, 1}, {&word, 1}).result();
}

Value* Builder::shape(Value* array, int dimension) {
    WEFT_CHECK(dimension >= 0 && dimension < array->type.ndim(), "shape of " + array->type.str());
    if (folding_) {
        if (const Op* view = defined_by(array, Opcode::View)) {
            return shape(view->operands[0], dimension + static_cast<int>(view->operands.size()) - 1);
        }
    }
    const int64_t word = dimension;
    if (const Op* slice = folding_ ? defined_by(array, Opcode::Slice) : nullptr) {
        size_t operand = 1;
        int left = dimension;
        for (const int64_t range : slice->ints) {
            if (range != 0 && left-- == 0 && slice->operands[operand + 1]->type == i32()) {
                return slice->operands[operand + 1];
            }
            operand += range != 0 ? 3 : 1;
        }
    }
    if (const Op* local = folding_ ? defined_by(array, Opcode::LocalArray) : nullptr) {
        return constant(i32(), local->ints.at(static_cast<size_t>(dimension)));
    }
    return pure(Opcode::Shape, {&array, 1}, i32(), {&word, 1});
}

Value* Builder::is_valid(Value* array) {
    if (folding_ && defined_by(array, Opcode::Zero)) return boolean(false);
    if (folding_ && defined_by(array, Opcode::LocalArray)) return boolean(true);
    return pure(Opcode::IsValid, {&array, 1}, ir::boolean());
}

Value* Builder::thread_index(int dimension) {
    const int64_t word = dimension;
    return pure(Opcode::ThreadIndex, {}, i32(), {&word, 1});
}

Value* Builder::launch_dim(int dimension) {
    const int64_t word = dimension;
    return pure(Opcode::LaunchDim, {}, i32(), {&word, 1});
}

// Calls -------------------------------------------------------------------------------------------------------------

std::vector<Value*> Builder::call(const Function& callee, Values arguments) {
    return emit_op(Opcode::Call, arguments, callee.results, {}, callee.name).results;
}

std::vector<Value*> Builder::gradient(const Function& callee, Values arguments) {
    std::vector<Type> results;
    for (const Value* p : callee.parameters()) {
        if (p->type.is_differentiable() && !p->type.contains_array()) results.push_back(p->type);
    }
    return emit(Opcode::Gradient, arguments, results, {}, callee.name);
}

Value* Builder::native(std::string_view symbol, Type result, Values arguments) {
    return emit_op(Opcode::Native, arguments, {&result, 1}, {}, symbol).result();
}

std::vector<Value*> Builder::snippet(std::string_view text, SnippetUse use, bool asserts, std::span<const Type> results,
                                     Values arguments) {
    const int64_t words[] = {static_cast<int64_t>(use), asserts ? 1 : 0};
    return emit_op(Opcode::Snippet, arguments, results, words, text).results;
}

void Builder::print(std::string_view format, Values arguments) { emit_op(Opcode::Print, arguments, {}, {}, format); }

void Builder::assertion(Value* condition, std::string_view format, Values numbers) {
    if (folding_ && constant_integer(condition) == 1) return;
    std::vector<Value*> operands = {condition};
    for (Value* v : numbers) operands.push_back(cast(i64(), v));
    emit_op(Opcode::Assert, operands, {}, {}, format);
}

Value* Builder::stack_new(Type element) {
    const Type type = Type::stack(element);
    return emit_op(Opcode::StackNew, {}, {&type, 1}).result();
}

Value* Builder::stack_kept(Type element, Value* address, Value* end) {
    const Type type = Type::stack(element);
    Value* operands[] = {address, end};
    return emit_op(Opcode::StackNew, operands, {&type, 1}).result();
}

Value* Builder::stack_keep(Value* stack) {
    const Type type = i64();
    return emit_op(Opcode::StackKeep, {&stack, 1}, {&type, 1}).result();
}

void Builder::stack_push(Value* stack, Value* value) {
    Value* operands[] = {stack, value};
    emit_op(Opcode::StackPush, operands, {});
}

Value* Builder::stack_pop(Value* stack) {
    const Type type = stack->type.target();
    return emit_op(Opcode::StackPop, {&stack, 1}, {&type, 1}).result();
}

Value* Builder::stack_position(Value* stack) {
    const Type type = i64();
    return emit_op(Opcode::StackPosition, {&stack, 1}, {&type, 1}).result();
}

void Builder::stack_seek(Value* stack, Value* position) {
    Value* operands[] = {stack, position};
    emit_op(Opcode::StackSeek, operands, {});
}

Value* Builder::stack_read(Value* stack) {
    const Type type = stack->type.target();
    return emit_op(Opcode::StackRead, {&stack, 1}, {&type, 1}).result();
}

// Structured control ------------------------------------------------------------------------------------------------

void Builder::terminate(Opcode code, Values values) { emit_op(code, values, {}); }

void Builder::fill_region(Op& op, std::span<const Type> arguments, const std::function<void(Region&)>& fill) {
    op.regions.push_back(std::make_unique<Region>());
    Region& region = *op.regions.back();
    region.parent = &op;
    for (const Type type : arguments) {
        Value* value = function_.new_value(type);
        value->region = &region;
        value->index = static_cast<int>(region.arguments.size());
        region.arguments.push_back(value);
    }
    scopes_.push_back({&region, {}});
    const Location location = location_;
    fill(region);
    if (!terminated()) yield({});
    location_ = location;
    scopes_.pop_back();
}

namespace {

std::vector<Type> types_of(Values values) {
    std::vector<Type> types;
    types.reserve(values.size());
    for (const Value* v : values) types.push_back(v->type);
    return types;
}

}  // namespace

std::vector<Value*> Builder::if_(Value* condition, std::span<const Type> results, const Fill& then,
                                 const Fill& otherwise) {
    Op& op = emit_op(Opcode::If, {&condition, 1}, results);
    fill_region(op, {}, [&](Region&) { then(); });
    fill_region(op, {}, [&](Region&) { otherwise(); });
    return op.results;
}

std::vector<Value*> Builder::for_(Value* begin, Value* end, Value* step, Values initial, const FillFor& body) {
    WEFT_CHECK(begin->type == end->type && begin->type == step->type, "bounds of a for loop differ in type");
    std::vector<Value*> operands = {begin, end, step};
    operands.insert(operands.end(), initial.begin(), initial.end());
    std::vector<Type> arguments = types_of(initial);
    Op& op = emit_op(Opcode::For, operands, arguments);
    arguments.insert(arguments.begin(), begin->type);
    fill_region(op, arguments, [&](Region& region) { body(region.arguments[0], Values(region.arguments).subspan(1)); });
    return op.results;
}

std::vector<Value*> Builder::while_(Values initial, const FillCarried& condition, const FillCarried& body) {
    const std::vector<Type> types = types_of(initial);
    Op& op = emit_op(Opcode::While, initial, types);
    fill_region(op, types, [&](Region& region) { condition(region.arguments); });
    fill_region(op, types, [&](Region& region) { body(region.arguments); });
    return op.results;
}

// Copying -----------------------------------------------------------------------------------------------------------

std::vector<Value*> Builder::emit(Opcode code, Values operands, std::span<const Type> results,
                                  std::span<const int64_t> ints, std::string_view text) {
    if (!folding_ || !is_pure(code)) return emit_op(code, operands, results, ints, text).results;
    const auto part = [&] { return static_cast<int>(ints[0]); };
    switch (code) {
        case Opcode::Const:
            return {constant_bits(results[0], static_cast<uint64_t>(ints[0]))};
        case Opcode::Zero:
            return {zero(results[0])};
        case Opcode::Math:
            return {math(static_cast<MathFn>(ints[0]), operands)};
        case Opcode::Eq:
        case Opcode::Ne:
        case Opcode::Lt:
        case Opcode::Le:
        case Opcode::Gt:
        case Opcode::Ge:
            return {compare(code, operands[0], operands[1])};
        case Opcode::Select:
            return {select(operands[0], operands[1], operands[2])};
        case Opcode::Cast:
            return {cast(results[0], operands[0])};
        case Opcode::Bitcast:
            return {bitcast(results[0], operands[0])};
        case Opcode::Compose:
            return {compose(results[0], operands)};
        case Opcode::Splat:
            return {splat(results[0], operands[0])};
        case Opcode::Extract:
            return {extract(operands[0], part())};
        case Opcode::Insert:
            return {insert(operands[0], operands[1], part())};
        case Opcode::ExtractAt:
            return {extract_at(operands[0], operands[1])};
        case Opcode::InsertAt:
            return {insert_at(operands[0], operands[1], operands[2])};
        case Opcode::At:
            return {at(operands[0], operands.subspan(1))};
        case Opcode::Member:
            return {member(operands[0], part())};
        case Opcode::MemberAt:
            return {member_at(operands[0], operands[1])};
        case Opcode::View:
            return {view(operands[0], operands.subspan(1))};
        case Opcode::Shape:
            return {shape(operands[0], part())};
        case Opcode::IsValid:
            return {is_valid(operands[0])};
        default:
            break;
    }
    if (is_elementwise(code)) {
        return {operands.size() == 1 ? unary(code, operands[0]) : binary(code, operands[0], operands[1])};
    }
    return {pure(code, operands, results[0], ints, text)};
}

void clone_op(Builder& builder, const Op& op, ValueMap& map, const std::function<bool(const Op&, ValueMap&)>& replace) {
    if (replace && replace(op, map)) return;
    std::vector<Value*> operands;
    operands.reserve(op.operands.size());
    for (const Value* v : op.operands) {
        const auto it = map.find(v);
        WEFT_CHECK(it != map.end(), "operand of " + std::string(mnemonic(op.code)) + " was not copied");
        operands.push_back(it->second);
    }
    std::vector<Type> results = types_of(op.results);
    builder.set_location(op.location);
    std::vector<Value*> copies;
    if (op.regions.empty()) {
        copies = builder.emit(op.code, operands, results, op.ints, op.text);
    } else {
        Op& copy = builder.emit_op(op.code, operands, results, op.ints, op.text);
        for (const auto& region : op.regions) {
            builder.fill_region(copy, types_of(region->arguments), [&](Region& inner) {
                for (size_t i = 0; i < inner.arguments.size(); ++i) {
                    map[region->arguments[i]] = inner.arguments[i];
                    inner.arguments[i]->name = region->arguments[i]->name;
                }
                clone_into(builder, *region, map, replace);
                clone_op(builder, *region->terminator(), map, replace);
            });
        }
        copies = copy.results;
    }
    for (size_t i = 0; i < copies.size(); ++i) {
        map[op.results[i]] = copies[i];
        if (copies[i]->name.empty()) copies[i]->name = op.results[i]->name;
    }
}

void clone_into(Builder& builder, const Region& region, ValueMap& map,
                const std::function<bool(const Op&, ValueMap&)>& replace) {
    for (const Op* op : region.ops) {
        if (!is_terminator(op->code)) clone_op(builder, *op, map, replace);
    }
}

}  // namespace weft::ir
