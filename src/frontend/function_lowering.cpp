// The frame of a function's lowering: parameters and results, what names stand for, errors.
#include "frontend/function_lowering.h"

#include <algorithm>

#include "builtins/pattern.h"

namespace weft::frontend {

using builtins::user_name;

FunctionLowering::FunctionLowering(Instances& instances, const FunctionSource& source, ir::Function& function,
                                   ir::FunctionKind kind)
    : instances_(instances), source_(source), function_(function), kind_(kind), builder_(instances.module(), function) {
    collect_assigned(source.tree->body, assigned_);
    collect_addressed(source.tree->body, memory_names_);
    function.kind = kind;
    function.location = source.location(source.tree->span);
}

void FunctionLowering::fail(ErrorKind kind, const Span& span, const std::string& message,
                            const std::vector<std::string>& notes) const {
    UserError error(kind, message, source_.location(span));
    for (const auto& note : notes) error = error.with_note(note);
    throw error;
}

void FunctionLowering::start(const std::map<std::string, Type>& predefined) {
    at(source_.tree->span);
    for (const auto& [name, type] : predefined) {
        names_[name] = builder_.zero(type);
        name_types_[name] = type;
        if (memory_names_.contains(name)) names_[name] = Reference{spill(builder_.zero(type))};
    }
}

void FunctionLowering::finish() {
    if (!reachable_) return;
    at(source_.tree->span);
    if (gradient_) {
        builder_.return_(gradient_results());
        return;
    }
    if (results_ && !results_->empty()) {
        fail(ErrorKind::Syntax, source_.tree->span,
             "function `" + source_.name + "` returns a value on one path and ends without `return` on another");
    }
    builder_.return_({});
}

Instance FunctionLowering::lower(const std::vector<InstanceArgument>& arguments,
                                 const std::map<std::string, Type>& predefined) {
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& name = source_.tree->parameters.at(i).name;
        if (arguments[i].type.is(ir::TypeKind::Ref)) {
            names_[name] = Reference{builder_.parameter(arguments[i].type, name)};
            name_types_[name] = arguments[i].type.target();
        } else if (arguments[i].type) {
            names_[name] = builder_.parameter(arguments[i].type, name);
            name_types_[name] = arguments[i].type;
        } else {
            names_[name] = arguments[i].constant;
        }
    }
    for (const auto& name : memory_names_) {
        if (const auto it = names_.find(name);
            it != names_.end() && it->second.value() && !it->second.type().is(ir::TypeKind::Array)) {
            it->second = Reference{spill(it->second.value())};
        }
    }
    start(predefined);
    block(source_.tree->body);
    finish();
    if (results_) function_.results = *results_;
    return {&function_, function_.results, returns_tuple_};
}

void FunctionLowering::lower_gradient(const std::vector<InstanceArgument>& forward, const std::vector<Type>& results,
                                      const std::map<std::string, Type>& predefined) {
    gradient_ = true;
    const auto& parameters = source_.tree->parameters;
    if (parameters.size() != forward.size() + results.size()) {
        fail(ErrorKind::Argument, source_.tree->span,
             "the gradient `" + source_.name + "` has " + std::to_string(parameters.size()) +
                 " parameters; it needs the " + std::to_string(forward.size()) +
                 " of its function, then the adjoint of each result (" + std::to_string(results.size()) + ")");
    }
    for (size_t i = 0; i < forward.size(); ++i) {
        const std::string& name = parameters[i].name;
        names_[name] = forward[i].type ? Entity(builder_.parameter(forward[i].type, name)) : forward[i].constant;
    }
    for (size_t i = 0; i < forward.size(); ++i) {
        if (!forward[i].type.contains_array() || !forward[i].type.is_differentiable()) continue;
        Value* array = builder_.parameter(forward[i].type, "adj_" + parameters[i].name);
        names_["adjoint." + parameters[i].name] = array;
        nullable_.insert(array);
    }
    for (size_t i = 0; i < results.size(); ++i) {
        const std::string& name = parameters[forward.size() + i].name;
        names_[name] =
            results[i].is_differentiable() ? builder_.parameter(results[i], name) : builder_.zero(results[i]);
    }
    std::vector<Type> adjoints;
    for (size_t i = 0; i < forward.size(); ++i) {
        if (!forward[i].type || (forward[i].type.contains_array() && forward[i].type.is_differentiable())) continue;
        const std::string name = "adjoint." + parameters[i].name;
        names_[name] = builder_.zero(forward[i].type);
        name_types_[name] = forward[i].type;
        // What is added to the adjoint of an integer is lost, as generic functions need.
        if (!forward[i].type.is_differentiable()) continue;
        gradient_names_.push_back(name);
        adjoints.push_back(forward[i].type);
    }
    start(predefined);
    block(source_.tree->body);
    finish();
    function_.results = adjoints;
}

std::vector<ir::Value*> FunctionLowering::gradient_results() {
    std::vector<Value*> values;
    for (const auto& name : gradient_names_) values.push_back(names_.at(name).value());
    return values;
}

// ---- names ----

Entity FunctionLowering::lookup(const std::string& name, const Span& span) {
    if (const auto it = names_.find(name); it != names_.end()) return it->second;
    const bool local = assigned_.contains(name);
    if (local) {
        // Some path before this one has given it a value: on the others it is zero.
        if (const auto it = name_types_.find(name); it != name_types_.end()) throw NeedsDefinition{name, it->second};
    }
    if (const auto it = free_names_.find(name); it != free_names_.end()) return it->second;
    const Binding binding = source_.environment->name(name);
    if (std::holds_alternative<Unknown>(binding) && !builtins::find(name) && !builtins::type_named(name)) {
        if (local) fail(ErrorKind::Name, span, "`" + name + "` is read before anything is assigned to it");
        fail(ErrorKind::Name, span, "Referencing undefined symbol: " + name, did_you_mean(name));
    }
    Entity entity = from_binding(binding, name, span);
    // Constants live where they were made; everything else stays valid in the whole function.
    if (!entity.value()) free_names_.emplace(name, entity);
    return entity;
}

std::vector<std::string> FunctionLowering::did_you_mean(const std::string& name) const {
    std::vector<std::string> candidates = source_.environment->names();
    for (const auto& [known, entity] : names_) candidates.push_back(known);
    for (const auto& builtin : builtins::all()) candidates.push_back(builtin.name);
    const auto close = builtins::similar(name, candidates);
    if (close.empty()) return {};
    std::string note = "did you mean ";
    for (size_t i = 0; i < close.size(); ++i) note += (i ? ", `" : "`") + close[i] + "`";
    return {note + "?"};
}

Entity FunctionLowering::from_binding(const Binding& binding, const std::string& name, const Span& span) {
    // `math.sin`, `np.sqrt`, Python's `abs`: what no environment knows is looked up by its last name.
    const bool unusable = std::holds_alternative<Unusable>(binding);
    if (unusable || std::holds_alternative<Unknown>(binding)) {
        if (builtins::find(name)) return BuiltinName{name};
        if (const Type type = builtins::type_named(name)) return type;
    }
    if (unusable) {
        fail(ErrorKind::Type, span,
             "`" + name + "` is " + std::get<Unusable>(binding).description +
                 ", which a kernel cannot use; numbers, vectors, matrices, types and @wp.func functions can be "
                 "captured");
    }
    if (std::holds_alternative<builtins::TypePattern>(binding)) {
        fail(ErrorKind::Type, span,
             "`" + name + "` is a generic type: it has no values and can stand in annotations only");
    }
    if (std::holds_alternative<NoneValue>(binding)) fail(ErrorKind::Name, span, "`" + name + "` is None");
    if (std::holds_alternative<Unknown>(binding)) fail(ErrorKind::Name, span, "Referencing undefined symbol: " + name);
    return *entity_of(binding, builder_);
}

void FunctionLowering::bind(const std::string& name, Entity entity, const Span& span) {
    entity = settle(entity, span);
    literal_names_.erase(name);
    if (const Type type = entity.type()) {
        const auto [it, fresh] = name_types_.emplace(name, type);
        // Slices of an array may differ in dimensions where no other path meets.
        const bool both_arrays = !fresh && it->second.is(ir::TypeKind::Array) && type.is(ir::TypeKind::Array);
        if (both_arrays && builder_.region() == &function_.body) it->second = type;
        if (!fresh && it->second != type) {
            fail(ErrorKind::Type, span,
                 "`" + name + "` is " + user_name(it->second) + " and cannot become " + user_name(type) +
                     ": a name keeps its type",
                 {"use another name, or convert the value"});
        }
    }
    if (const auto it = names_.find(name); it != names_.end() && it->second.as<Reference>()) {
        return builder_.store(it->second.as<Reference>()->ref, materialize(entity, span));
    }
    if (memory_names_.contains(name) && entity.type() && !entity.type().is(ir::TypeKind::Array)) {
        // It lives in memory from the function's entry on; an argument is copied there.
        if (const auto it = names_.find(name); it == names_.end()) throw NeedsDefinition{name, entity.type()};
        names_[name] = Reference{spill(materialize(entity, span))};
        return;
    }
    if (Value* v = entity.value(); v && v->name.empty() && v->op && v->op->code != ir::Opcode::Const) v->name = name;
    unrolled_.erase(name);
    names_[name] = std::move(entity);
}

ir::Value* FunctionLowering::materialize(const Entity& entity, const Span& span) {
    if (Value* v = entity.value()) return v;
    if (const auto* n = entity.as<IntNumber>()) {
        // 0x80000000 to 0xFFFFFFFF are hash masks and the like: their bits are taken.
        const uint64_t limit = n->negative ? uint64_t{1} << 31 : 0xFFFFFFFFULL;
        if (n->too_large || n->magnitude > limit) {
            const std::string text =
                n->too_large ? "this integer" : (n->negative ? "-" : "") + std::to_string(n->magnitude);
            fail(ErrorKind::Value, span, text + " does not fit int32, the type of integers without one",
                 {"write wp.int64(...) or wp.uint64(...) around it"});
        }
        const auto value = static_cast<int64_t>(n->magnitude);
        return builder_.constant(ir::i32(), n->negative ? -value : value);
    }
    if (const auto* n = entity.as<FloatNumber>()) return builder_.constant(ir::f32(), n->value);
    if (const auto* n = entity.as<BoolNumber>()) return builder_.boolean(n->value);
    if (const auto* tuple = entity.as<TupleEntity>()) {
        std::vector<Value*> parts;
        for (const auto& part : tuple->parts) parts.push_back(materialize(part, span));
        std::vector<Type> types;
        for (const Value* part : parts) types.push_back(part->type);
        return builder_.compose(Type::tuple(types), parts);
    }
    if (entity.as<Unknown>()) {
        fail(ErrorKind::Type, span, "a value is needed here, but what is called returns nothing");
    }
    fail(ErrorKind::Type, span, "a value is needed here, found " + entity.describe());
}

Entity FunctionLowering::settle(const Entity& entity, const Span& span) {
    if (entity.is_literal()) return materialize(entity, span);
    if (const auto* tuple = entity.as<TupleEntity>()) {
        TupleEntity settled;
        for (const auto& part : tuple->parts) settled.parts.push_back(settle(part, span));
        return settled;
    }
    return entity;
}

}  // namespace weft::frontend
