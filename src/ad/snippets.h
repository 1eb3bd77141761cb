// Native snippets in reverse mode: nothing is known of what they compute, only which arrays they may write to.
#pragma once

#include <unordered_set>

#include "ir/builder.h"
#include "ir/ir.h"

namespace weft::ad {

// Calls the functions that pass values where others pass references (ir::Function::by_value).
void pass_values_to_snippets(ir::Module& module);

// Whether the function, or one that it calls, has a snippet.
bool has_snippets(const ir::Module& module, const ir::Function& function);

// The snippet again, for its results alone.
void repeat_snippet(ir::Builder& b, const ir::Op& op, ir::ValueMap& values);

// Marks a Load (in Op::text) of what a snippet may have overwritten by the time the adjoint runs.
inline constexpr const char* kBeforeSnippet = "before a snippet";

// The loads of the function after which a snippet may write to the same array, in this turn of a loop or a later one.
std::unordered_set<const ir::Op*> loads_before_snippets(const ir::Module& module, const ir::Function& function);

// Throws UserError (Gradient) where the adjoint still needs one of those.
void refuse_loads_before_snippets(const ir::Module& module, const ir::Function& kernel, const ir::Function& adjoint);

}  // namespace weft::ad
