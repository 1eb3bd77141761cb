// Instances of functions, and the environment in which the prelude's functions are lowered.
#include "frontend/instances.h"

#include <algorithm>

#include "base/error.h"
#include "frontend/function_lowering.h"
#include "frontend/native_functions.h"

namespace weft::frontend {
namespace {

// Names in the prelude are builtins, types, and the variables of the function's own signature.
class PreludeEnvironment : public Environment {
  public:
    PreludeEnvironment(const builtins::Row& row, builtins::Matches matches) : row_(row), matches_(std::move(matches)) {}

    Binding name(const std::string& name) override {
        if (const auto it = matches_.types.find(name); it != matches_.types.end()) return it->second;
        if (const auto it = matches_.lengths.find(name); it != matches_.lengths.end()) {
            return IntNumber{false, static_cast<uint64_t>(it->second)};
        }
        if (const ir::Type type = builtins::type_named(name)) return type;
        return builtins::find(name) ? Binding(BuiltinName{name}) : Binding(Unknown{});
    }
    Binding attribute(const Object&, const std::string&) override { return Unknown{}; }
    Binding annotation(const std::string& parameter) override {
        if (parameter == "return") return result();
        for (const auto& p : row_.signature().parameters) {
            if (p.name == parameter) return builtins::substitute(p.type, matches_);
        }
        return Unknown{};
    }
    Binding default_value(const std::string&) override { return Unknown{}; }
    Binding evaluate(std::string_view, const Span&, std::span<const std::pair<std::string, Binding>>) override {
        return Unknown{};
    }

  private:
    Binding result() const {
        const auto& pattern = row_.signature().result;
        if (pattern.is_exact() && !pattern.exact) return NoneValue{};
        return builtins::substitute(pattern, matches_);
    }

    const builtins::Row& row_;
    builtins::Matches matches_;
};

std::shared_ptr<FunctionSource> prelude_source(std::string_view tree, std::shared_ptr<const SourceFile> file,
                                               std::shared_ptr<Environment> environment) {
    auto source = std::make_shared<FunctionSource>();
    source->tree = deserialize(tree);
    source->name = source->tree->name;
    source->file = std::move(file);
    source->environment = std::move(environment);
    return source;
}

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
    Binding evaluate(std::string_view, const Span&, std::span<const std::pair<std::string, Binding>>) override {
        return Unknown{};
    }

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
std::shared_ptr<const FunctionSource> make_calling(const Binding& callee, std::span<const ir::Type> types) {
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

std::string describe(const Location& location) {
    return location.file ? "File \"" + location.file->path + "\", line " + std::to_string(location.line)
                         : "an unknown place";
}

}  // namespace

std::string InstanceArgument::key() const {
    if (type) return type.str();
    if (const auto* set = constant.as<std::shared_ptr<const OverloadSet>>()) {
        return "@" + std::to_string(reinterpret_cast<uintptr_t>(set->get()));
    }
    if (const auto* t = constant.as<ir::Type>()) return "type " + t->str();
    if (const auto* s = constant.as<StringValue>()) return "\"" + s->text + "\"";
    return constant.describe();
}

bool accepts(const builtins::TypePattern& pattern, const InstanceArgument& argument, builtins::Matches& matches) {
    if (argument.type) return builtins::match(pattern, argument.type, matches);
    const bool callable =
        argument.constant.as<std::shared_ptr<const OverloadSet>>() || argument.constant.as<BuiltinName>();
    if (pattern.kind == builtins::TypePattern::Kind::Function) return callable;
    return pattern.kind == builtins::TypePattern::Kind::Any &&
           (callable || argument.constant.as<ir::Type>() || argument.constant.as<StringValue>());
}

const std::vector<ParameterInfo>& Instances::signature(const FunctionSource& source) {
    const auto [it, fresh] = signatures_.try_emplace(&source);
    if (fresh) it->second = frontend::signature(source);
    return it->second;
}

std::shared_ptr<const FunctionSource> Instances::calling(const Binding& callee, std::span<const ir::Type> types) {
    return wrappers_.emplace_back(make_calling(callee, types));
}

bool Instances::is_active(const FunctionSource& source) const {
    const std::string key = std::to_string(reinterpret_cast<uintptr_t>(&source));
    return std::any_of(active_.begin(), active_.end(),
                       [&](const std::string& active) { return active == key || active.starts_with(key + ","); });
}

std::string Instances::unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "." + std::to_string(i);
    return name;
}

const Instance& Instances::instance(const std::shared_ptr<const FunctionSource>& source,
                                    const std::vector<InstanceArgument>& arguments, const Location& call) {
    std::string key = std::to_string(reinterpret_cast<uintptr_t>(source.get()));
    for (const auto& a : arguments) key += "," + a.key();
    if (const auto it = made_.find(key); it != made_.end()) return it->second;
    if (std::find(active_.begin(), active_.end(), key) != active_.end()) {
        throw UserError(ErrorKind::Syntax, "`" + source->name + "` calls itself: recursion is not supported in kernels",
                        call);
    }
    active_.push_back(key);
    try {
        Instance instance;
        std::map<std::string, ir::Type> predefined;
        if (source->native) instance = lower_native(*this, *source, arguments);
        for (bool done = source->native.has_value(); !done;) {
            auto function = std::make_unique<ir::Function>();
            FunctionLowering lowering(*this, *source, *function, ir::FunctionKind::Function);
            try {
                instance = lowering.lower(arguments, predefined);
                function->name = unique_name(source->name);
                add(std::move(function));
                done = true;
            } catch (const NeedsDefinition& needed) {
                WEFT_CHECK(predefined.emplace(needed.name, needed.type).second,
                           "`" + needed.name + "` was defined already");
            }
        }
        active_.pop_back();
        // Made before its gradient is, which may call it.
        const Instance& made = made_.emplace(key, instance).first->second;
        const bool derives = std::any_of(arguments.begin(), arguments.end(),
                                         [](const InstanceArgument& a) { return a.type.is_differentiable(); });
        if (source->gradient && derives) {
            active_.push_back("gradient " + key);
            predefined.clear();
            for (bool done = false; !done;) {
                auto function = std::make_unique<ir::Function>();
                FunctionLowering lowering(*this, *source->gradient, *function, ir::FunctionKind::Function);
                try {
                    lowering.lower_gradient(arguments, instance.results, predefined);
                    function->name = unique_name(source->gradient->name);
                    instance.function->adjoint = function->name;
                    add(std::move(function));
                    done = true;
                } catch (const NeedsDefinition& needed) {
                    WEFT_CHECK(predefined.emplace(needed.name, needed.type).second,
                               "`" + needed.name + "` was defined already");
                }
            }
            active_.pop_back();
        }
        if (source->replay) {
            active_.push_back("replay " + key);
            const Instance& replay = this->instance(source->replay, arguments, call);
            if (replay.results != instance.results) {
                throw UserError(ErrorKind::Type,
                                "the replay `" + source->replay->name + "` returns other values than `" + source->name +
                                    "`, whose place it takes",
                                source->replay->location(source->replay->tree->span));
            }
            instance.function->replay = replay.function->name;
            active_.pop_back();
        }
        return made;
    } catch (const UserError& error) {
        active_.pop_back();
        throw error.with_note("called from " + describe(call));
    }
}

const Instance& Instances::prelude(const builtins::Row& row, std::span<const ir::Type> types, const Location& call) {
    std::string key;
    std::vector<InstanceArgument> arguments;
    for (const ir::Type type : types) {
        key += type.str() + ",";
        arguments.push_back({type, {}});
    }
    auto& source = prelude_sources_[&row][key];
    if (!source) {
        builtins::Matches matches;
        for (size_t i = 0; i < types.size(); ++i) {
            WEFT_CHECK(builtins::match(row.signature().parameters[i].type, types[i], matches),
                       "the prelude's " + row.name + " does not fit");
        }
        const auto& body = std::get<builtins::LowerPrelude>(row.lowering);
        auto file = std::make_shared<SourceFile>(SourceFile{std::string(body.file), "", 1});
        auto environment = std::make_shared<PreludeEnvironment>(row, std::move(matches));
        auto made = prelude_source(body.tree, file, environment);
        if (!body.gradient.empty()) made->gradient = prelude_source(body.gradient, file, environment);
        source = std::move(made);
    }
    return instance(source, arguments, call);
}

}  // namespace weft::frontend
