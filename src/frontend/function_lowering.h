// Lowers one function: names and scopes, statements, expressions. One class, whose methods are grouped by file:
//   function_lowering.cpp  the frame: parameters, results, names, retries, errors
//   statements.cpp         assignment, return, branches and their merges
//   loops.cpp              for, while, what they carry
//   expressions.cpp        literals, names, conditions, comparisons, attributes
//   places.cpp             what can be read and written: locals, elements, members, parts
//   slices.cpp             which parts indices and slices choose
//   local_memory.cpp       arrays of one item, addresses, what functions take by reference
//   checks.cpp             expectations that print, and what debug mode checks
//   operators.cpp          operators and builtins by the registry
//   calls.cpp              calls of user functions and the arguments of all calls
//   constructors.cpp       types called as functions
//   reinterpret.cpp        wp.cast
//   special.cpp            builtins that the registry leaves to the front end
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "frontend/assigned_names.h"
#include "frontend/entity.h"
#include "frontend/environment.h"
#include "frontend/instances.h"
#include "ir/builder.h"

namespace weft::frontend {

// A local name is read where it has no value, although another path gives it one: the function is lowered again with
// the name set to zero at its entry. Never leaves the front end.
struct NeedsDefinition {
    std::string name;
    ir::Type type;
};

// Names with a value at some point. Values of a tuple are the tuple's parts.
using Names = std::map<std::string, Entity>;

class FunctionLowering {
  public:
    FunctionLowering(Instances& instances, const FunctionSource& source, ir::Function& function, ir::FunctionKind kind);

    // The body, given the parameters. `results`, if it is a function's, is what its return statements gave.
    Instance lower(const std::vector<InstanceArgument>& arguments, const std::map<std::string, ir::Type>& predefined);
    // A @func_grad: `forward` are the arguments of the function it belongs to, `results` what that returns.
    void lower_gradient(const std::vector<InstanceArgument>& forward, const std::vector<ir::Type>& results,
                        const std::map<std::string, ir::Type>& predefined);
    // The type that `name` got, for NeedsDefinition.
    const std::map<std::string, ir::Type>& name_types() const { return name_types_; }

  private:
    using Value = ir::Value;
    using Type = ir::Type;

    // One of a call, or of an operator.
    struct Argument {
        std::string name;  // of a keyword
        Entity entity;
        Span span;
        const Expr* expr = nullptr;  // as written; null where it is a part of a starred argument
    };

    // ---- function_lowering.cpp
    [[noreturn]] void fail(ErrorKind kind, const Span& span, const std::string& message,
                           const std::vector<std::string>& notes = {}) const;
    void at(const Span& span) { builder_.set_location(source_.location(span)); }
    void start(const std::map<std::string, Type>& predefined);
    void finish();
    Entity lookup(const std::string& name, const Span& span);
    Entity from_binding(const Binding& binding, const std::string& name, const Span& span);
    std::vector<std::string> did_you_mean(const std::string& name) const;  // a note, or none
    void bind(const std::string& name, Entity entity, const Span& span);
    // The run-time value of an entity: literals become constants, tuples stay what they are (refused).
    Value* materialize(const Entity& entity, const Span& span);
    Entity settle(const Entity& entity, const Span& span);  // materializes literals, also within tuples

    // ---- statements.cpp
    void block(const std::vector<StmtPtr>& statements);
    void statement(const Stmt& s);
    void assertion(const Stmt& s);
    void assign(const Expr& target, Entity value, const Span& span);
    void check_rebinding(const Expr& target, const Entity& value);
    void assign_tuple(const Expr& target, const Entity& value, const Span& span);
    void augment(const Stmt& s);
    void if_statement(const Stmt& s);
    void return_statement(const Stmt& s);
    void set_results(const std::vector<Type>& types, bool tuple, const Span& span);
    std::vector<Value*> gradient_results();
    // An If of two arms; each gives values of the same types, or leaves.
    Value* add_result(ir::Op& op, Type type);
    std::vector<Value*> branch(Value* condition, const std::function<std::vector<Value*>()>& then,
                               const std::function<std::vector<Value*>()>& otherwise);

    // ---- loops.cpp
    struct Loop {
        std::vector<std::string> carried;
        // Of an unrolled loop, whose turns are left where the code does: the region its body is in, and what left it.
        const ir::Region* unrolled_in = nullptr;
        std::optional<StmtKind> left;
    };
    void unroll(const Stmt& s, std::span<const Entity> turns);
    bool iterate(const Stmt& s);
    void for_statement(const Stmt& s);
    void while_statement(const Stmt& s);
    void leave(const Stmt& s);  // break and continue
    bool range_bounds(const Expr& e, Value* bounds[3]);
    void check_unchanged(const Names& before, const std::vector<std::string>& carried, const char* where) const;
    std::vector<std::string> carried_names(const std::set<std::string>& assigned) const;
    std::vector<Value*> carried_values(const std::vector<std::string>& names, const Span& span);
    void set_carried(const std::vector<std::string>& names, std::span<Value* const> values);

    // ---- expressions.cpp
    Entity expression(const Expr& e);
    Value* value(const Expr& e);  // a run-time value
    Entity unary(const Expr& e);
    Entity binary(const Expr& e);
    Entity logical(const Expr& e);
    Entity comparison(const Expr& e);
    Entity conditional(const Expr& e);
    Value* compare(const std::string& op, const Entity& a, const Entity& b, const Expr& e);
    Value* truth(const Entity& entity, const Span& span);
    Entity static_value(const Expr& call);
    std::optional<Entity> known_locally(const Expr& expression);

    // ---- places.cpp
    // What a subscript or member chooses of an aggregate: part `base`, or `count` scalars from there on, `stride`
    // apart.
    struct Step {
        Value* base = nullptr;  // int32, not negative; may be a constant
        int stride = 1;
        int count = 0;  // 0: one part
        Type type;
        std::vector<Value*> parts;  // when they are not at equal distances: each part
    };
    struct Range {
        int first = 0;
        int step = 1;
        int count = 0;
    };
    // Something that can be read and, mostly, written: parts of a local, of one value in memory, or of another entity.
    struct Place {
        std::string local;        // a local name, "" if there is none
        Value* ref = nullptr;     // memory
        Entity root;              // neither: the entity itself; of a local: its value
        std::vector<Step> path;   // of memory: at most one list of scalars
        Type type;                // of a value; Void for compile-time entities
        Value* guard = nullptr;   // the gradient array, possibly null, that the memory belongs to
        bool alone = false;       // memory that no other item writes: nothing needs to be atomic
        bool of_texture = false;  // a part of one, which cannot be written
    };
    Place place(const Expr& e);
    Place attribute_place(const Expr& e);
    Place attribute_of(Place p, const Expr& e);
    Place adjoint_place(const Expr& of, const Expr& e);
    std::optional<Place> static_member(const Expr& e);
    Place subscript_place(const Expr& e);
    Place name_place(const Expr& e);
    Place entity_place(Entity entity);
    Entity read(const Place& p, const Span& span);
    void write(const Place& p, Value* value, const Span& span);
    void refuse_part_of_texture(const Place& p, const Span& span);
    void atomic_into(const Place& p, ir::AtomicKind kind, Value* value, const Span& span);
    void enter(Place& p, Step step);
    Value* flat_index(const Step& step, int k);
    Value* choose(Value* aggregate, const Step& step);
    Value* replace(Value* aggregate, const Step& step, Value* value);
    Value* element_ref(Value* ref, const Step& step, int k);
    Place array_element(Value* array, std::span<const ExprPtr> indices, const Expr& e);
    Step part_step(Type aggregate, std::span<const ExprPtr> indices, const Expr& e);
    Value* index(const Expr& e);
    // The part that an index names, negative ones counted from the end. Constants out of range are refused.
    Value* wrapped_index(const Expr& e, int length);
    Range known_range(const Expr& e, int length);
    Step chosen_among(const Step& last, const Step& step);
    Value* array_slice(Value* array, std::span<const ExprPtr> indices, const Expr& e);

    // ---- array_kinds.cpp
    Value* array_extent(Value* array, int dimension);
    Value* counted_from_end(Value* index, Value* extent);
    Value* indexed(Value* indices, Value* index);
    Value* fabric_ref(Value* fabric, Value* index);
    Value* element_address(Value* array, std::span<Value* const> indices);
    Place array_like_element(Value* array, std::span<const ExprPtr> indices, const Expr& e);

    // ---- local_memory.cpp
    // A place in memory for an expression whose address is taken. A local without one gets it for as long as a call
    // lasts: `back` writes it back.
    Value* reference_to(const Expr& e, std::function<void()>* back);
    Value* spill(Value* value);
    std::vector<int64_t> local_shape(const Argument& a);
    Entity local_array(Type element, const Argument& shape, Value* fill, const Expr& e);
    void collect_references(const std::vector<StmtPtr>& statements, std::set<std::string>& names);
    void collect_references(const Expr& e, std::set<std::string>& names);
    Entity special_zeros(const Expr& e, std::vector<Argument> a);
    Entity special_full(const Expr& e, std::vector<Argument> a);
    Entity special_array(const Expr& e, std::vector<Argument> a);
    Entity special_address_of(const Expr& e, std::vector<Argument> a);

    // ---- blocks.cpp
    // A native snippet of ours: operands are called `value`.
    std::vector<Value*> call_snippet(const std::string& name, const std::string& header, const std::string& text,
                                     std::vector<Type> results, const std::vector<Value*>& operands, const Expr& e);
    Entity special_block(const Expr& e, std::vector<Argument> a);
    Entity special_shared_array(const Expr& e, std::vector<Argument> a);

    // ---- checks.cpp
    // The text of a failed check: what `message`, a printf format, says of the place.
    void check(Value* condition, const std::string& message, const Span& span, std::span<Value* const> numbers = {});
    void check_index(Value* array, Value* index, size_t dimension, const Span& span);
    Value* element_count(Value* array, const Span& span);
    void check_part(Value* index, int length, const Span& span);
    void check_finite(Value* stored, const Span& span);
    Value* equal(Value* a, Value* b, const Span& span);
    Entity special_expect(const Expr& e, std::vector<Argument> a);

    // ---- operators.cpp
    Entity call_operator(const std::string& builtin, const std::string& op, std::vector<Entity> operands,
                         const Expr& e);
    // A user's function of the operator's name whose parameters have just these types: it comes before the builtin.
    bool has_user_operator(const std::string& builtin, std::span<const Entity> operands);
    const OverloadSet* user_operator(const std::string& builtin);
    // The value of a builtin on values, by its rows; nothing when no row fits.
    std::optional<Entity> try_rows(const std::string& name, std::span<const Entity> arguments, const Span& span);
    Entity lower_row(const builtins::Row& row, std::span<Value* const> arguments, Type result, const Span& span);

    // ---- calls.cpp
    Entity call(const Expr& e);
    std::vector<Argument> arguments(const Expr& e);
    bool starred_slice(const Expr& e, std::vector<Argument>& out);
    Entity call_builtin(const std::string& name, const Expr& e);
    void write_back(const Expr& call);
    // `derivative`: the gradient instead of the result.
    Entity call_function(const OverloadSet& set, const Expr& e, std::vector<Argument> arguments,
                         bool derivative = false);
    Entity call_gradient(const GradientEntity& gradient, const Expr& e);
    Entity gradient_of(const Instance& instance, std::span<Value* const> values);
    Entity special_grad(const Expr& e, std::vector<Argument> a);
    Entity special_texture_sample(const Expr& e, std::vector<Argument> a);
    std::optional<std::vector<Argument>> match_parameters(const FunctionSource& f, std::span<const Argument> arguments,
                                                          std::string* why);
    Entity call_instance(const Instance& instance, std::span<Value* const> arguments);

    // ---- constructors.cpp
    Entity construct(Type type, std::span<const Argument> arguments, const Expr& e);
    Value* convert(const Entity& entity, Type scalar, const Span& span);
    Value* construct_vector(Type type, std::span<const Argument> arguments, const Expr& e);
    Value* construct_matrix(Type type, std::span<const Argument> arguments, const Expr& e);
    Value* construct_quaternion(Type type, std::span<const Argument> arguments, const Expr& e);
    Value* construct_transform(Type type, std::span<const Argument> arguments, const Expr& e);
    Value* construct_struct(Type type, std::span<const Argument> arguments, const Expr& e);

    // ---- reinterpret.cpp
    Entity special_cast(const Expr& e, std::vector<Argument> a);

    // ---- special.cpp
    using Special = Entity (FunctionLowering::*)(const Expr& e, std::vector<Argument> arguments);
    static const std::map<std::string, Special>& specials();
    Entity special_block_dim(const Expr& e, std::vector<Argument> a);
    Entity special_tid(const Expr& e, std::vector<Argument> a);
    Entity special_printf(const Expr& e, std::vector<Argument> a);
    Entity special_print(const Expr& e, std::vector<Argument> a);
    Entity special_where(const Expr& e, std::vector<Argument> a);
    Entity special_select(const Expr& e, std::vector<Argument> a);
    Entity special_type(const Expr& e, std::vector<Argument> a);
    Entity special_len(const Expr& e, std::vector<Argument> a);
    Entity special_unot(const Expr& e, std::vector<Argument> a);
    Entity special_vector(const Expr& e, std::vector<Argument> a);
    Entity special_matrix(const Expr& e, std::vector<Argument> a);
    Entity special_matrix_from_cols(const Expr& e, std::vector<Argument> a);
    Entity special_matrix_from_rows(const Expr& e, std::vector<Argument> a);
    Entity special_identity(const Expr& e, std::vector<Argument> a);
    Entity special_quaternion(const Expr& e, std::vector<Argument> a);
    Entity special_quat_identity(const Expr& e, std::vector<Argument> a);
    Entity special_transformation(const Expr& e, std::vector<Argument> a);
    Entity special_transform_identity(const Expr& e, std::vector<Argument> a);
    Entity special_atomic(const Expr& e, std::vector<Argument> a);
    Entity special_refused(const Expr& e, std::vector<Argument> a);
    Entity print_format(const Expr& e, const std::string& format, std::span<const Argument> values);
    std::optional<Argument> take(std::vector<Argument>& arguments, const std::string& keyword);
    Type type_argument(const Argument& a);
    int int_argument(const Argument& a);
    Value* matrix_of_vectors(const Expr& e, std::span<const Argument> vectors, bool columns);

    Instances& instances_;
    const FunctionSource& source_;
    ir::Function& function_;
    ir::FunctionKind kind_;
    ir::Builder builder_;

    Names names_;
    std::set<std::string> assigned_;                    // every name that the body assigns
    std::map<std::string, Type> name_types_;            // a name keeps its type
    std::map<std::string, Span> function_names_;        // locals that stand for functions: where they were bound
    std::set<std::string> memory_names_;                // locals whose address is taken
    std::map<std::string, std::string> literal_names_;  // locals that stand for a literal, and it with its type
    std::set<std::string> unrolled_;                    // names that are turns of unrolled loops, for wp.static
    std::map<std::string, std::shared_ptr<const OverloadSet>> operators_;  // of the user, by name; null: none
    std::map<std::string, Entity> free_names_;                             // answers of the environment
    bool reachable_ = true;
    std::vector<Loop> loops_;
    std::optional<std::vector<Type>> results_;
    bool returns_tuple_ = false;
    Span first_return_;
    const Expr* callee_ = nullptr;    // what the innermost call so far calls
    const Expr* unpacked_ = nullptr;  // the call whose results a tuple assignment takes apart,
    size_t unpacked_count_ = 0;       // and into how many
    // Set by a builtin that updates some of its arguments: which, and their new values.
    std::vector<std::pair<int, Value*>> updated_;

    // Of a func_grad: the adjoint of each parameter.
    bool gradient_ = false;
    std::vector<std::string> gradient_names_;  // parameters whose adjoint is a result, in order
    std::set<const Value*> nullable_;          // gradient arrays, which may be null
};

// Whether a `break` or `continue` leaves the loop whose body this is.
bool leaves_loop(const std::vector<StmtPtr>& body, bool breaks_only = false);

}  // namespace weft::frontend
