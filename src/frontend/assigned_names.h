// Which names the statements of a function set: what is local, and what loops may have to carry.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "frontend/tree.h"

namespace weft::frontend {

// A name of which only a part is written (`v.x = ...`, `a[i] = ...`) is marked with a dot in front; the adjoint of a
// parameter x of a gradient function is called "adjoint.x".
void collect_assigned(const std::vector<StmtPtr>& statements, std::set<std::string>& names);

// The variables in address_of(...).
void collect_addressed(const std::vector<StmtPtr>& statements, std::set<std::string>& names);

}  // namespace weft::frontend
