// What all functions of one module share while they are lowered: the instances made so far (a function for given
// argument types), the chain of functions being lowered, and the names taken.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "builtins/registry.h"
#include "frontend/entity.h"
#include "frontend/environment.h"
#include "frontend/lower.h"
#include "ir/ir.h"

namespace weft::frontend {

// One parameter of an instance: its type, or a function or type known at compile time.
struct InstanceArgument {
    ir::Type type;    // Void for a compile-time argument
    Entity constant;  // the compile-time argument
    std::string key() const;
};

struct Instance {
    ir::Function* function = nullptr;
    // What the user's function returned: null none, a tuple for several.
    std::vector<ir::Type> results;
    bool returns_tuple = false;
};

class Instances {
  public:
    Instances(ir::Module& module, const LoweringOptions& options) : module_(module), options_(options) {}

    ir::Module& module() { return module_; }
    const LoweringOptions& options() const { return options_; }

    // The function for these arguments, lowered on first use. Errors inside are located there, with a note that says
    // where it was called from.
    const Instance& instance(const std::shared_ptr<const FunctionSource>& source,
                             const std::vector<InstanceArgument>& arguments, const Location& call);
    // The same for a function of the prelude.
    const Instance& prelude(const builtins::Row& row, std::span<const ir::Type> arguments, const Location& call);

    // `def call(a0, a1, ...): return callee(a0, a1, ...)`, kept for as long as this lives.
    std::shared_ptr<const FunctionSource> calling(const Binding& callee, std::span<const ir::Type> types);
    // Whether the function is being lowered: calling it would be recursion.
    bool is_active(const FunctionSource& source) const;

    // The parameters of a function, asked of its environment once.
    const std::vector<ParameterInfo>& signature(const FunctionSource& source);

    // A name that no function of the module has: `wanted`, else `wanted.1`, `wanted.2`, ...
    std::string unique_name(const std::string& wanted);
    // What was lowered asks for its block of threads.
    void use_blocks() { in_blocks_ = true; }
    bool in_blocks() const { return in_blocks_; }
    void add(std::unique_ptr<ir::Function> function) { module_.functions.push_back(std::move(function)); }

  private:
    ir::Module& module_;
    const LoweringOptions& options_;
    bool in_blocks_ = false;
    std::map<std::string, Instance> made_;
    std::map<const FunctionSource*, std::vector<ParameterInfo>> signatures_;
    std::vector<std::shared_ptr<const FunctionSource>> wrappers_;
    std::vector<std::string> active_;  // keys of the instances being lowered
    std::set<std::string> names_;
    std::map<const builtins::Row*, std::map<std::string, std::shared_ptr<const FunctionSource>>> prelude_sources_;
};

// Matches a pattern of an annotation with an argument.
bool accepts(const builtins::TypePattern& pattern, const InstanceArgument& argument, builtins::Matches& matches);

}  // namespace weft::frontend
