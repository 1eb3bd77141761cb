// Helpers to write rows of the registry, and the list of the files that do.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "builtins/registry.h"

namespace weft::builtins {

// Collects rows; the signature is written as text.
class Rows {
  public:
    explicit Rows(std::vector<Row>& rows) : rows_(rows) {}

    // Rows added from here on belong to this group.
    void group(std::string_view name) { group_ = name; }
    // One overload. `doc` may be left out for all but the first row of a name.
    Row& add(std::string_view name, std::string_view signature, Lowering lowering, std::string_view doc = "",
             std::vector<Domain> domains = {});

  private:
    std::vector<Row>& rows_;
    std::string group_;
};

// Shorthand for lowerings.
inline Lowering op(ir::Opcode code) { return LowerOp{code}; }
inline Lowering math(ir::MathFn fn) { return LowerMath{fn}; }
inline Lowering expand(std::function<ir::Value*(const ExpandContext&)> f) { return LowerExpand{std::move(f)}; }
inline Lowering special() { return LowerSpecial{}; }

void operator_rows(Rows& rows);
void math_rows(Rows& rows);
void linalg_rows(Rows& rows);
void memory_rows(Rows& rows);
void kernel_rows(Rows& rows);
void native_rows(Rows& rows);

}  // namespace weft::builtins
