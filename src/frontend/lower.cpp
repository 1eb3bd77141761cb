// The entry points: signatures, kernels, and single calls wrapped as kernels.
#include "frontend/lower.h"

#include "base/error.h"
#include "frontend/function_lowering.h"
#include "frontend/instances.h"
#include "frontend/messages.h"
#include "ir/verify.h"

namespace weft::frontend {
std::vector<ParameterInfo> signature(const FunctionSource& function) {
    std::vector<ParameterInfo> parameters;
    std::set<std::string> assigned;
    collect_assigned(function.tree->body, assigned);
    for (const auto& p : function.tree->parameters) {
        const Binding annotation = function.environment->annotation(p.name);
        ParameterInfo info;
        info.name = p.name;
        if (const auto* type = std::get_if<ir::Type>(&annotation)) {
            // Arrays are references already; the name alone cannot stand for another one.
            const bool array = type->is(ir::TypeKind::Ref) && type->target().is(ir::TypeKind::Array);
            if (array && assigned.contains(p.name)) {
                throw UserError(ErrorKind::Unsupported,
                                "`" + p.name + "` of `" + function.name +
                                    "` is a reference to an array: its elements can be assigned, the name cannot",
                                function.location(p.span));
            }
            info.type = array ? type->target() : *type;
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
    const Binding returned = kernel.environment->annotation("return");
    if (!std::holds_alternative<Unknown>(returned) && !std::holds_alternative<NoneValue>(returned)) {
        throw UserError(ErrorKind::Type, kKernelReturns, kernel.location(kernel.tree->span));
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
    // wp.block_dim() has been taken for that of a kernel whose threads are alone.
    const bool depends = options.uses_block_dim != nullptr && *options.uses_block_dim;
    if (instances.in_blocks() && depends && !options.in_blocks) {
        LoweringOptions again = options;
        again.in_blocks = true;
        *options.uses_block_dim = false;
        return lower_kernel(kernel, argument_types, again);
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
    const Instance instance = instances.instance(instances.calling(callee, argument_types), arguments, {});

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
