// Builds IR at the end of a region: one method an op. Pure ops are folded (constants, identities that are exact for
// every input, extract of compose, ...) and merged with an equal op of the same or an enclosing region.
// Type errors here are ours (WEFT_CHECK): the front end has told the user before.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace weft::ir {

class Builder {
  public:
    // Appends to the function's body.
    explicit Builder(Module& module, Function& function);

    Module& module() { return module_; }
    Function& function() { return function_; }
    Value* parameter(Type type, std::string_view name);  // adds a parameter of the function
    void set_location(const Location& location) { location_ = location; }
    const Location& location() const { return location_; }

    // Constants
    Value* constant(Type scalar_type, double value);   // floats; integers and bools when value is one
    Value* constant(Type scalar_type, int64_t value);  // wraps to the type
    Value* constant(Type scalar_type, int value) { return constant(scalar_type, static_cast<int64_t>(value)); }
    Value* constant_bits(Type scalar_type, uint64_t bits);
    Value* boolean(bool value) { return constant_bits(ir::boolean(), value ? 1 : 0); }
    Value* zero(Type type);
    // The same number for every element of a scalar or uniform type.
    Value* fill(Type type, double value);

    // Elementwise and scalar
    Value* unary(Opcode code, Value* a);
    Value* binary(Opcode code, Value* a, Value* b);
    Value* add(Value* a, Value* b) { return binary(Opcode::Add, a, b); }
    Value* sub(Value* a, Value* b) { return binary(Opcode::Sub, a, b); }
    Value* mul(Value* a, Value* b) { return binary(Opcode::Mul, a, b); }
    Value* div(Value* a, Value* b) { return binary(Opcode::Div, a, b); }
    Value* neg(Value* a) { return unary(Opcode::Neg, a); }
    Value* math(MathFn fn, Value* a) { return math(fn, std::span<Value* const>(&a, 1)); }
    Value* math(MathFn fn, Value* a, Value* b);
    Value* math(MathFn fn, std::span<Value* const> operands);
    Value* compare(Opcode code, Value* a, Value* b);
    Value* logical_not(Value* a) { return unary(Opcode::Not, a); }
    Value* select(Value* condition, Value* a, Value* b);
    Value* cast(Type type, Value* a);
    Value* bitcast(Type type, Value* a);

    // Aggregates
    Value* compose(Type type, std::span<Value* const> parts);
    Value* splat(Type type, Value* scalar);
    Value* extract(Value* aggregate, int part);
    Value* insert(Value* aggregate, Value* value, int part);
    Value* extract_at(Value* uniform, Value* index);
    Value* insert_at(Value* uniform, Value* value, Value* index);

    // Memory
    Value* at(Value* array, std::span<Value* const> indices);
    Value* member(Value* ref, int part);
    Value* member_at(Value* ref, Value* index);
    Value* view(Value* array, std::span<Value* const> indices);
    // `ranges`: which dimensions keep a range (three of the values) rather than one element (one value).
    Value* slice(Value* array, std::span<const bool> ranges, std::span<Value* const> values);
    Value* local_array(Type element, std::span<const int64_t> shape);
    Value* address(Value* ref_or_array);
    Value* array_at(Type element, Value* address, std::span<Value* const> shape);
    Value* stride(Value* array, int dimension);
    Value* load(Value* ref);
    void store(Value* ref, Value* value);
    Value* atomic(AtomicKind kind, Value* ref, Value* value);
    Value* shape(Value* array, int dimension);
    Value* is_valid(Value* array);
    Value* thread_index(int dimension);
    Value* launch_dim(int dimension);

    // Calls
    std::vector<Value*> call(const Function& callee, std::span<Value* const> arguments);
    std::vector<Value*> gradient(const Function& callee, std::span<Value* const> arguments);
    Value* native(std::string_view symbol, Type result, std::span<Value* const> arguments);
    std::vector<Value*> snippet(std::string_view text, SnippetUse use, bool asserts, std::span<const Type> results,
                                std::span<Value* const> arguments);
    void print(std::string_view format, std::span<Value* const> arguments);
    void assertion(Value* condition, std::string_view format, std::span<Value* const> numbers = {});

    Value* stack_new(Type element);
    Value* stack_kept(Type element, Value* address, Value* end);
    Value* stack_keep(Value* stack);
    void stack_push(Value* stack, Value* value);
    Value* stack_pop(Value* stack);
    Value* stack_position(Value* stack);
    void stack_seek(Value* stack, Value* position);
    Value* stack_read(Value* stack);

    // Structured control. The callback fills the region; it must end it with a terminator (or leave it to `yield({})`,
    // which is added when the region has none).
    using Fill = std::function<void()>;
    std::vector<Value*> if_(Value* condition, std::span<const Type> results, const Fill& then, const Fill& otherwise);
    using FillFor = std::function<void(Value* index, std::span<Value* const> carried)>;
    std::vector<Value*> for_(Value* begin, Value* end, Value* step, std::span<Value* const> initial,
                             const FillFor& body);
    using FillCarried = std::function<void(std::span<Value* const> carried)>;
    // `condition` must end with condition(...), `body` with yield, break_, continue_ or return_.
    std::vector<Value*> while_(std::span<Value* const> initial, const FillCarried& condition, const FillCarried& body);
    void yield(std::span<Value* const> values) { terminate(Opcode::Yield, values); }
    void condition(Value* value) { terminate(Opcode::Condition, {&value, 1}); }
    void break_(std::span<Value* const> carried) { terminate(Opcode::Break, carried); }
    void continue_(std::span<Value* const> carried) { terminate(Opcode::Continue, carried); }
    void return_(std::span<Value* const> values) { terminate(Opcode::Return, values); }
    void unreachable() { terminate(Opcode::Unreachable, {}); }
    const Region* region() const { return scopes_.back().region; }
    // Whether the current region has its terminator: nothing more can be added to it.
    bool terminated() const;

    // An op of any kind, with regions left to the caller: what clone() and the text parser need. Pure ops are folded
    // and merged as by the methods above. Returns the results.
    std::vector<Value*> emit(Opcode code, std::span<Value* const> operands, std::span<const Type> results,
                             std::span<const int64_t> ints = {}, std::string_view text = {});
    // Opens a new region of the last emitted op for as long as the callback runs.
    void fill_region(Op& op, std::span<const Type> arguments, const std::function<void(Region&)>& fill);
    Op& emit_op(Opcode code, std::span<Value* const> operands, std::span<const Type> results,
                std::span<const int64_t> ints = {}, std::string_view text = {});
    // Off: emits exactly what is asked for (the text parser, for exact round trips).
    void set_folding(bool on) { folding_ = on; }

  private:
    struct Scope {
        Region* region;
        std::unordered_map<std::string, Value*> known;  // pure ops by key, for merging
    };

    Value* pure(Opcode code, std::span<Value* const> operands, Type result, std::span<const int64_t> ints = {},
                std::string_view text = {});
    void terminate(Opcode code, std::span<Value* const> values);

    Module& module_;
    Function& function_;
    Location location_;
    std::vector<Scope> scopes_;
    bool folding_ = true;
};

// The constant behind a value, when it is one (a Const, or a Zero of scalar type).
std::optional<uint64_t> constant_bits(const Value* value);
std::optional<double> constant_number(const Value* value);    // as a double, whatever its type
std::optional<int64_t> constant_integer(const Value* value);  // integers and bools only
// Bits of a scalar constant, and back. bits are zero-extended; f16 and bf16 round to nearest even.
uint64_t to_bits(Scalar type, double value);
uint64_t to_bits(Scalar type, int64_t value);
double number_of(Scalar type, uint64_t bits);

// Maps values of one function to values of another while ops are copied.
using ValueMap = std::unordered_map<const Value*, Value*>;
// Copies the ops of `region`, its terminator left out, to the builder's place; nested regions are copied whole.
// `replace` may handle an op itself (and set the map) by returning true.
void clone_into(Builder& builder, const Region& region, ValueMap& map,
                const std::function<bool(const Op&, ValueMap&)>& replace = {});
// Copies one op with its regions.
void clone_op(Builder& builder, const Op& op, ValueMap& map,
              const std::function<bool(const Op&, ValueMap&)>& replace = {});

}  // namespace weft::ir
