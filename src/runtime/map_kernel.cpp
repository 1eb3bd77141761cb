#include "runtime/map_kernel.h"

#include <map>

#include "base/error.h"
#include "frontend/lower.h"

namespace weft::runtime {
namespace {

using namespace frontend;

// Names and annotations from tables.
class TableEnvironment final : public Environment {
  public:
    std::map<std::string, Binding> names_;
    std::map<std::string, Binding> annotations_;

    Binding name(const std::string& name) override { return look_up(names_, name); }
    Binding attribute(const Object&, const std::string&) override { return Unknown{}; }
    Binding annotation(const std::string& parameter) override { return look_up(annotations_, parameter); }
    Binding default_value(const std::string&) override { return Unknown{}; }
    Binding evaluate(std::string_view, const frontend::Span&,
                     std::span<const std::pair<std::string, Binding>>) override {
        return Unknown{};
    }

  private:
    static Binding look_up(const std::map<std::string, Binding>& table, const std::string& name) {
        const auto found = table.find(name);
        return found == table.end() ? Binding(Unknown{}) : found->second;
    }
};

ExprPtr expr(ExprKind kind, const std::string& text, std::vector<ExprPtr> children = {}) {
    auto made = std::make_unique<Expr>();
    made->kind = kind;
    made->text = text;
    made->children = std::move(children);
    return made;
}

ExprPtr name(const std::string& text) { return expr(ExprKind::Name, text); }

StmtPtr assign(ExprPtr target, ExprPtr value) {
    auto made = std::make_unique<Stmt>();
    made->kind = StmtKind::Assign;
    made->children.push_back(std::move(target));
    made->children.push_back(std::move(value));
    return made;
}

// A name alone, or a tuple of names.
ExprPtr target_of(const std::string& stem, size_t count) {
    if (count == 1) return name(stem + "0");
    std::vector<ExprPtr> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back(name(stem + std::to_string(i)));
    return expr(ExprKind::Tuple, "", std::move(parts));
}

// One function under construction.
struct Draft {
    std::shared_ptr<FunctionSource> source = std::make_shared<FunctionSource>();
    std::shared_ptr<FunctionTree> tree = std::make_shared<FunctionTree>();
    std::shared_ptr<TableEnvironment> environment = std::make_shared<TableEnvironment>();

    explicit Draft(const std::string& function_name) {
        tree->name = function_name;
        source->name = function_name;
        source->tree = tree;
        source->environment = environment;
    }
    void parameter(const std::string& parameter_name, const Binding& type) {
        tree->parameters.push_back({parameter_name, {}, "", nullptr});
        environment->annotations_[parameter_name] = type;
    }
};

ExprPtr call(ExprPtr callee, size_t arguments, const std::string& stem) {
    std::vector<ExprPtr> children;
    children.push_back(std::move(callee));
    for (size_t i = 0; i < arguments; ++i) children.push_back(name(stem + std::to_string(i)));
    return expr(ExprKind::Call, "", std::move(children));
}

// `def <name>(x0, x1): return callee(x0, x1)`, or `grad(callee)(x0, x1)`: lowered as a function, so that its results'
// types can be read.
std::shared_ptr<const FunctionSource> wrapper(const Binding& callee, const std::string& function_name,
                                              std::span<const MapOperand> operands, bool derivative) {
    Draft draft(function_name);
    for (size_t i = 0; i < operands.size(); ++i) draft.parameter("x" + std::to_string(i), operands[i].type);
    draft.environment->names_["callee"] = callee;
    auto statement = std::make_unique<Stmt>();
    statement->kind = StmtKind::Return;
    ExprPtr target = name("callee");
    if (derivative) {
        draft.environment->names_["grad"] = BuiltinName{"grad"};
        std::vector<ExprPtr> parts;
        parts.push_back(name("grad"));
        parts.push_back(std::move(target));
        target = expr(ExprKind::Call, "", std::move(parts));
    }
    statement->children.push_back(call(std::move(target), operands.size(), "x"));
    draft.tree->body.push_back(std::move(statement));
    return draft.source;
}

std::string coordinate(int dimension) { return "i" + std::to_string(dimension); }

ExprPtr element_of(const std::string& array, const MapOperand& operand, int ndim) {
    std::vector<ExprPtr> children;
    children.push_back(name(array));
    for (int d = 0; d < operand.ndim; ++d) {
        children.push_back(operand.single[static_cast<size_t>(d)] ? expr(ExprKind::Int, "0")
                                                                  : name(coordinate(ndim - operand.ndim + d)));
    }
    return expr(ExprKind::Subscript, "", std::move(children));
}

// `i0, i1, ... = tid()`. Where the shape has more dimensions than a launch, the first coordinate counts through the
// leading ones: they are divided out of it by the extents of `shaped`, an array of the whole shape ("": there is none,
// only types are asked).
void add_coordinates(FunctionTree& tree, int ndim, const std::string& shaped) {
    if (ndim == 0) return;
    const int first = std::max(0, ndim - kMapLaunchDims);
    std::vector<ExprPtr> targets;
    for (int d = first; d < ndim; ++d) targets.push_back(name(coordinate(d)));
    ExprPtr target = targets.size() == 1 ? std::move(targets[0]) : expr(ExprKind::Tuple, "", std::move(targets));
    tree.body.push_back(assign(std::move(target), call(name("tid"), 0, "")));
    for (int d = first; d > 0; --d) {
        const auto of_extent = [&](const std::string& op) {
            std::vector<ExprPtr> object;
            object.push_back(name(shaped));
            std::vector<ExprPtr> element;
            element.push_back(expr(ExprKind::Attribute, "shape", std::move(object)));
            element.push_back(expr(ExprKind::Int, std::to_string(d)));
            std::vector<ExprPtr> operands;
            operands.push_back(name(coordinate(d)));
            operands.push_back(expr(ExprKind::Subscript, "", std::move(element)));
            return expr(ExprKind::Binary, op, std::move(operands));
        };
        tree.body.push_back(assign(name(coordinate(d - 1)), shaped.empty() ? name(coordinate(d)) : of_extent("//")));
        if (!shaped.empty()) tree.body.push_back(assign(name(coordinate(d)), of_extent("%")));
    }
}

std::shared_ptr<const FunctionSource> kernel(const std::shared_ptr<const FunctionSource>& function,
                                             const std::string& kernel_name, std::span<const MapOperand> operands,
                                             int ndim, const std::vector<ir::Type>& results,
                                             std::span<const builtins::ArrayKind> out_kinds) {
    Draft draft(kernel_name);
    auto overloads = std::make_shared<OverloadSet>();
    overloads->name = function->name;
    overloads->functions.push_back(function);
    draft.environment->names_["function"] = std::shared_ptr<const OverloadSet>(overloads);
    draft.environment->names_["tid"] = BuiltinName{"tid"};

    add_coordinates(*draft.tree, ndim, results.empty() ? "" : "out0");
    std::vector<ExprPtr> arguments;
    arguments.push_back(name("function"));
    for (size_t i = 0; i < operands.size(); ++i) {
        const std::string parameter = "a" + std::to_string(i);
        const MapOperand& operand = operands[i];
        draft.parameter(parameter, operand.ndim == 0 ? operand.type
                                                     : builtins::array_type(operand.kind, operand.type, operand.ndim));
        arguments.push_back(operand.ndim == 0 ? name(parameter) : element_of(parameter, operand, ndim));
    }
    ExprPtr value = expr(ExprKind::Call, "", std::move(arguments));
    if (results.empty()) {
        auto statement = std::make_unique<Stmt>();
        statement->kind = StmtKind::Expression;
        statement->children.push_back(std::move(value));
        draft.tree->body.push_back(std::move(statement));
        return draft.source;
    }
    draft.tree->body.push_back(assign(target_of("r", results.size()), std::move(value)));
    for (size_t i = 0; i < results.size(); ++i) {
        const std::string out = "out" + std::to_string(i);
        const auto kind = i < out_kinds.size() ? out_kinds[i] : builtins::ArrayKind::Plain;
        draft.parameter(out, builtins::array_type(kind, results[i], std::max(ndim, 1)));
        ExprPtr place;
        if (ndim > 0) {
            const MapOperand whole{results[i], ndim, std::vector<bool>(static_cast<size_t>(ndim)), {}};
            place = element_of(out, whole, ndim);
        } else {
            std::vector<ExprPtr> children;
            children.push_back(name(out));
            children.push_back(expr(ExprKind::Int, "0"));
            place = expr(ExprKind::Subscript, "", std::move(children));
        }
        draft.tree->body.push_back(assign(std::move(place), name("r" + std::to_string(i))));
    }
    return draft.source;
}

// The types that the function returns for these operands.
std::vector<ir::Type> result_types(const std::shared_ptr<const FunctionSource>& function,
                                   std::span<const MapOperand> operands, int ndim) {
    LoweringOptions options;
    options.kernel_name = "types";
    const auto module = lower_kernel(*kernel(function, "types", operands, ndim, {}, {}), {}, options);
    for (const auto& made : module->functions) {
        if (made->kind == ir::FunctionKind::Function && made->name.starts_with(function->name)) return made->results;
    }
    return {};
}

}  // namespace

MapKernel make_map_kernel(const Binding& callee, const std::string& function_name, std::span<const MapOperand> operands,
                          int ndim, std::span<const builtins::ArrayKind> out_kinds, bool derivative) {
    const std::string inner = function_name + "_element";
    auto function = wrapper(callee, inner, operands, derivative);
    std::vector<ir::Type> results = result_types(function, operands, ndim);
    if (results.size() == 1 && results[0].is(ir::TypeKind::Tuple)) {
        std::vector<ir::Type> parts;
        for (int i = 0; i < results[0].part_count(); ++i) parts.push_back(results[0].part(i));
        results = std::move(parts);
    }
    return {kernel(function, function_name, operands, ndim, results, out_kinds), results};
}

}  // namespace weft::runtime
