// The C++ objects that Python objects of the package stand for, and what bind's files ask of each other.
// Attributes of the package's objects: `_weft_type_` (a _core.Type), `_weft_pattern_` (the text of a TypePattern, on
// generic annotations such as `wp.array(dtype=Any)`), `_weft_function_` (a _core.Function), `_weft_builtin_` (a name),
// `_weft_value_` (a _core.Type and a flat tuple of numbers), `_weft_unusable_` (what kernels cannot use: in words).
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "frontend/environment.h"
#include "ir/type.h"

namespace weft::bind {

// _core.Type is ir::Type itself. _core.Function is this: one definition, and all definitions of its name.
struct FunctionObject {
    std::shared_ptr<frontend::FunctionSource> source;
    std::shared_ptr<frontend::OverloadSet> overloads;
};

// ast.cpp: the tree of a function from its ast.FunctionDef (line numbers are those of the file).
std::unique_ptr<frontend::FunctionTree> read_tree(nanobind::handle definition, std::shared_ptr<const SourceFile> file);

// environment.cpp: the world of a Python function object (its closure, globals, annotations, defaults), which must live
// for as long as it is asked.
std::shared_ptr<frontend::Environment> make_environment(const nanobind::object& function);

// environment.cpp: evaluates those wp.static(...) of a function that depend on nothing in it, as they are now. What
// raises is left for lowering, which says where. `source.environment` must be one of make_environment.
void evaluate_statics(const frontend::FunctionSource& source);

// environment.cpp: what a Python object stands for inside a kernel.
frontend::Binding read_binding(nanobind::handle object);

}  // namespace weft::bind
