// A parameter taken by reference is an operand that C++ changes in place. Derivatives are made of another form of the
// function (ir::Function::by_value), which takes the value and returns the new one.
#include "frontend/native_functions.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "builtins/pattern.h"
#include "ir/builder.h"

namespace weft::frontend {
namespace {

using ir::SnippetUse;
using ir::Type;
using ir::Value;

struct Named {
    std::string name;
    Type type;
};

bool is_empty(const std::string& text) { return text.find_first_not_of(" \t\r\n;") == std::string::npos; }

bool is_value(Type type) { return type.is_differentiable() && !type.contains_array(); }

bool has_shadow(Type type) { return type.is_differentiable() && type.contains_array(); }

std::vector<Type> types_of(const std::vector<Named>& list) {
    std::vector<Type> out;
    for (const Named& one : list) out.push_back(one.type);
    return out;
}

class NativeLowering {
  public:
    NativeLowering(Instances& instances, const FunctionSource& source, const std::vector<InstanceArgument>& arguments)
        : instances_(instances), source_(source), location_(source.location(source.tree->span)) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            const auto& parameter = source.tree->parameters.at(i);
            const Type type = arguments[i].type;
            if (!type || type.is(ir::TypeKind::Tuple)) {
                throw UserError(ErrorKind::Type,
                                "`" + parameter.name + "` of the native function `" + source.name + "` is " +
                                    (type ? "a tuple" : arguments[i].constant.describe()) +
                                    ": C++ takes numbers, vectors, matrices, structs and arrays",
                                source.location(parameter.span));
            }
            const bool reference = type.is(ir::TypeKind::Ref);
            references_ = references_ || reference;
            given_.push_back({parameter.name, type});
            values_.push_back({parameter.name, reference ? type.target() : type});
            if (reference) changed_.push_back(values_.back());
        }
        set_result();
    }

    Instance lower() {
        const NativeSnippet& native = *source_.native;
        ir::Function& function = add(source_.name, given_, result_, native.forward, SnippetUse::Call);
        ir::Function& form = references_ ? value_form(function) : function;
        const bool derives =
            std::ranges::any_of(values_, [](const Named& value) { return value.type.is_differentiable(); });
        if (native.adjoint && derives) form.adjoint = adjoint(*native.adjoint).name;
        if (native.replay) {
            form.replay =
                add(source_.name + ".replay", values_, results_by_value(), *native.replay, SnippetUse::Call).name;
        }
        return {&function, function.results, false};
    }

  private:
    void set_result() {
        const Binding annotation = source_.environment->annotation("return");
        if (std::holds_alternative<Unknown>(annotation) || std::holds_alternative<NoneValue>(annotation)) return;
        const auto* type = std::get_if<Type>(&annotation);
        if (!type || type->is(ir::TypeKind::Tuple) || type->is(ir::TypeKind::Ref)) {
            throw UserError(ErrorKind::Type,
                            "unsupported return type of the native function `" + source_.name +
                                "`: C++ returns one number, vector, matrix, struct or array",
                            source_.location(source_.tree->returns_span));
        }
        result_.push_back({"return", *type});
    }

    // What C++ returns, then the new values of the references.
    std::vector<Named> results_by_value() const {
        std::vector<Named> out = result_;
        out.insert(out.end(), changed_.begin(), changed_.end());
        return out;
    }

    ir::Function& make(const std::string& name) {
        auto function = std::make_unique<ir::Function>();
        function->name = instances_.unique_name(name);
        function->location = location_;
        ir::Function& out = *function;
        instances_.add(std::move(function));
        return out;
    }

    ir::Function& add(const std::string& name, const std::vector<Named>& operands, const std::vector<Named>& results,
                      const std::string& text, SnippetUse use) {
        ir::Function& function = make(name);
        ir::Builder b(instances_.module(), function);
        std::vector<Value*> arguments;
        for (const Named& operand : operands) arguments.push_back(b.parameter(operand.type, operand.name));
        b.set_location(location_);
        function.results = types_of(results);
        const bool returns = !results.empty() && results.front().name == "return";
        if (is_empty(text) && !returns) {
            b.return_(unchanged(b, operands, arguments, results));
            return function;
        }
        std::string header;
        for (const Named& operand : operands) header += operand.name + " ";
        header += ">";
        for (const Named& result : results) header += " " + result.name;
        b.return_(b.snippet(header + "\n" + text, use, instances_.options().assertions, function.results, arguments));
        return function;
    }

    // Results that nothing sets.
    static std::vector<Value*> unchanged(ir::Builder& b, const std::vector<Named>& operands,
                                         const std::vector<Value*>& arguments, const std::vector<Named>& results) {
        std::vector<Value*> out;
        for (const Named& result : results) {
            const auto same =
                std::ranges::find_if(operands, [&](const Named& operand) { return operand.name == result.name; });
            out.push_back(same == operands.end() ? b.zero(result.type)
                                                 : arguments[static_cast<size_t>(same - operands.begin())]);
        }
        return out;
    }

    // Makes the function of values, and the one of the same parameters as `function` that calls it; returns the former.
    ir::Function& value_form(ir::Function& function) {
        ir::Function& values =
            add(source_.name + ".values", values_, results_by_value(), source_.native->forward, SnippetUse::Call);
        ir::Function& caller = make(source_.name + ".by_value");
        caller.results = function.results;
        ir::Builder b(instances_.module(), caller);
        b.set_location(location_);
        std::vector<Value*> passed;
        std::vector<Value*> references;
        for (const Named& parameter : given_) {
            Value* value = b.parameter(parameter.type, parameter.name);
            const bool reference = parameter.type.is(ir::TypeKind::Ref);
            if (reference) references.push_back(value);
            passed.push_back(reference ? b.load(value) : value);
        }
        const std::vector<Value*> results = b.call(values, passed);
        for (size_t i = 0; i < references.size(); ++i) b.store(references[i], results[result_.size() + i]);
        b.return_(std::span(results).first(result_.size()));
        function.by_value = caller.name;
        return values;
    }

    // Parameters and results: ad/reverse.h. The adjoint of a reference starts as that of its new value.
    ir::Function& adjoint(const std::string& text) {
        std::vector<Named> operands = values_;
        for (const Named& value : values_) {
            if (has_shadow(value.type)) operands.push_back({"adj_" + value.name, value.type});
        }
        for (const Named& result : results_by_value()) {
            if (!result.type.is_differentiable()) continue;
            operands.push_back({result.name == "return" ? "adj_ret" : "adj_" + result.name, result.type});
        }
        std::vector<Named> results;
        for (const Named& value : values_) {
            if (is_value(value.type)) results.push_back({"adj_" + value.name, value.type});
        }
        return add(source_.name + ".adj_snippet", operands, results, text, SnippetUse::Adjoint);
    }

    Instances& instances_;
    const FunctionSource& source_;
    Location location_;
    std::vector<Named> given_;    // the parameters as they are called with
    std::vector<Named> values_;   // the same, references as what they refer to
    std::vector<Named> changed_;  // the references
    std::vector<Named> result_;   // what C++ returns: one or none
    bool references_ = false;
};

}  // namespace

Instance lower_native(Instances& instances, const FunctionSource& source,
                      const std::vector<InstanceArgument>& arguments) {
    return NativeLowering(instances, source, arguments).lower();
}

}  // namespace weft::frontend
