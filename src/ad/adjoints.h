// The adjoints gathered so far for the values of one region: for each value the sum of what its users contributed,
// whole or part by part, so that components of vectors accumulate without arithmetic on zeros.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/builder.h"

namespace weft::ad {

// a + b for any differentiable value type; parts without derivative (integers, arrays) are those of a.
ir::Value* add_values(ir::Builder& builder, ir::Value* a, ir::Value* b);

class Adjoints {
  public:
    explicit Adjoints(ir::Builder& builder) : builder_(&builder) {}

    void add(const ir::Value* value, ir::Value* contribution);
    void add_part(const ir::Value* aggregate, int part, ir::Value* contribution);
    bool has(const ir::Value* value) const { return entries_.contains(value); }
    // The adjoint, with zeros where nothing was contributed; null when nothing was at all.
    ir::Value* get(const ir::Value* value);
    // The same, zero when nothing was contributed.
    ir::Value* get_or_zero(const ir::Value* value);

  private:
    struct Entry {
        ir::Value* whole = nullptr;
        std::vector<ir::Value*> parts;  // set: takes the place of whole; null where nothing was contributed
    };

    ir::Builder* builder_;
    std::unordered_map<const ir::Value*, Entry> entries_;
};

}  // namespace weft::ad
