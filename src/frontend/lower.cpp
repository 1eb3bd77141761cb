// The entry points: signatures, kernels, and single calls wrapped as kernels.
#include "frontend/lower.h"

#include "base/error.h"
#include "frontend/function_lowering.h"
#include "frontend/instances.h"
#include "ir/verify.h"

namespace weft::frontend {
namespace {

// The names in a function that only calls another: `callee`, and its own parameters' types.
class CallEnvironment : public Environment {
  public:
    CallEnvironment(Binding callee, std::map<std::string, ir::Type> types)
        : callee_(std::move(callee)), types_(std::move(types)) {}

    Binding name(const std::string& name) override { return name == "callee" ? callee_ : Binding(Unknown{}); }
    Binding attribute(const Object&, const std::string&) override { return Unknown{}; }
    Binding annotation(const std::string& parameter) override {
        const auto it = types_.find(parameter);
        return it == types_.end() ? Binding(Unknown{}) : Binding(it->second);
    }
    Binding default_value(const std::string&) override { return Unknown{}; }
    Binding evaluate(std::string_view, std::span<const std::pair<std::string, Binding>>) override { return Unknown{}; }

  private:
    Binding callee_;
    std::map<std::string, ir::Type> types_;
};

ExprPtr name_expression(const std::string& name) {
    auto e = std::make_unique<Expr>();
    e->kind = ExprKind::Name;
    e->text = name;
    return e;
}

// `def call(a0, a1, ...): return callee(a0, a1, ...)`
std::shared_ptr<const FunctionSource> calling(const Binding& callee, std::span<const ir::Type> types) {
    auto tree = std::make_shared<FunctionTree>();
    tree->name = "call";
    auto call = std::make_unique<Expr>();
    call->kind = ExprKind::Call;
    call->children.push_back(name_expression("callee"));
    std::map<std::string, ir::Type> parameters;
    for (size_t i = 0; i < types.size(); ++i) {
        const std::string name = "a" + std::to_string(i);
        parameters[name] = types[i];
        tree->parameters.push_back({name, {}, "", nullptr});
        call->children.push_back(name_expression(name));
    }
    auto statement = std::make_unique<Stmt>();
    statement->kind = StmtKind::Return;
    statement->children.push_back(std::move(call));
    tree->body.push_back(std::move(statement));
    auto source = std::make_shared<FunctionSource>();
    source->name = tree->name;
    source->tree = std::move(tree);
    source->environment = std::make_shared<CallEnvironment>(callee, std::move(parameters));
    return source;
}

}  // namespace

std::vector<ParameterInfo> signature(const FunctionSource& function) {
    std::vector<ParameterInfo> parameters;
    for (const auto& p : function.tree->parameters) {
        const Binding annotation = function.environment->annotation(p.name);
        ParameterInfo info;
        info.name = p.name;
        if (const auto* type = std::get_if<ir::Type>(&annotation)) {
            info.type = *type;
        } else if (const auto* pattern = std::get_if<builtins::TypePattern>(&annotation)) {
            info.type = *pattern;
        } else {
            const auto* unusable = std::get_if<Unusable>(&annotation);
            throw UserError(ErrorKind::Type,
                            "parameter `" + p.name + "` of `" + function.name + "` " +
                                (unusable ? "is annotated with " + unusable->description +
                                                ", which is no type of the kernel language"
                                          : "has no annotation: its type must be given"),
                            function.location(p.span));
        }
        info.has_default = p.default_value != nullptr;
        parameters.push_back(std::move(info));
    }
    return parameters;
}

std::unique_ptr<ir::Module> lower_kernel(const FunctionSource& kernel, std::span<const ir::Type> argument_types,
                                         const LoweringOptions& options) {
    auto module = std::make_unique<ir::Module>();
    Instances instances(*module, options);
    const auto& parameters = instances.signature(kernel);
    if (!argument_types.empty() && argument_types.size() != parameters.size()) {
        throw UserError(ErrorKind::Argument,
                        "kernel `" + kernel.name + "` has " + std::to_string(parameters.size()) +
                            " parameters, found " + std::to_string(argument_types.size()) + " types",
                        kernel.location(kernel.tree->span));
    }
    std::vector<InstanceArgument> arguments;
    builtins::Matches matches;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const ir::Type type = argument_types.empty() ? parameters[i].type.exact : argument_types[i];
        if (argument_types.empty() ? !parameters[i].type.is_exact()
                                   : !builtins::match(parameters[i].type, type, matches)) {
            throw UserError(ErrorKind::Type,
                            "parameter `" + parameters[i].name + "` of kernel `" + kernel.name + "` is " +
                                parameters[i].type.str() +
                                (argument_types.empty() ? ": the kernel is generic and needs the types of its arguments"
                                                        : ", found " + builtins::user_name(type)),
                            kernel.location(kernel.tree->parameters[i].span));
        }
        arguments.push_back({type, {}});
    }
    const std::string name = instances.unique_name(options.kernel_name.empty() ? kernel.name : options.kernel_name);
    std::map<std::string, ir::Type> predefined;
    for (;;) {
        auto function = std::make_unique<ir::Function>();
        FunctionLowering lowering(instances, kernel, *function, ir::FunctionKind::Kernel);
        try {
            lowering.lower(arguments, predefined);
            function->name = name;
            instances.add(std::move(function));
            break;
        } catch (const NeedsDefinition& needed) {
            WEFT_CHECK(predefined.emplace(needed.name, needed.type).second,
                       "`" + needed.name + "` was defined already");
        }
    }
    ir::verify(*module);
    return module;
}

std::unique_ptr<ir::Module> lower_call(const Binding& callee, std::span<const ir::Type> argument_types,
                                       const LoweringOptions& options) {
    auto module = std::make_unique<ir::Module>();
    Instances instances(*module, options);
    const std::string name = instances.unique_name(options.kernel_name.empty() ? "kernel" : options.kernel_name);
    std::vector<InstanceArgument> arguments;
    for (const ir::Type type : argument_types) arguments.push_back({type, {}});
    const Instance instance = instances.instance(calling(callee, argument_types), arguments, {});

    auto function = std::make_unique<ir::Function>();
    function->name = name;
    function->kind = ir::FunctionKind::Kernel;
    ir::Builder builder(*module, *function);
    std::vector<ir::Value*> values;
    for (size_t i = 0; i < argument_types.size(); ++i)
        values.push_back(builder.parameter(argument_types[i], "a" + std::to_string(i)));
    std::vector<ir::Value*> targets;
    for (const ir::Type type : instance.results) {
        targets.push_back(builder.parameter(ir::Type::array(type, 1), "result" + std::to_string(targets.size())));
    }
    const auto results = builder.call(*instance.function, values);
    ir::Value* zero = builder.constant(ir::i32(), 0);
    for (size_t i = 0; i < results.size(); ++i) builder.store(builder.at(targets[i], {&zero, 1}), results[i]);
    builder.return_({});
    instances.add(std::move(function));
    ir::verify(*module);
    return module;
}

}  // namespace weft::frontend
