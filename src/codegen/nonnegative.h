// Which integer values are known not to be negative, so that an index needs no wrapping.
#pragma once

#include <unordered_map>

#include "ir/ir.h"

namespace weft::codegen {

// `bounded`: the launch promises extents under kBoundedExtent (gpu_plan.h), of itself and of arrays. Then i - 1 + n is
// not negative where n divides it, as in what goes around a periodic grid.
//
// Sums and products are taken not to overflow where they are the index itself (an index that overflowed is out of range
// anyway), but not where a remainder, mask or division may bring what overflowed back into range, as hashes do.
class NonNegative {
  public:
    explicit NonNegative(bool bounded = false) : bounded_(bounded) {}
    bool operator()(const ir::Value* index) { return known(index, false); }

  private:
    bool known(const ir::Value* value, bool strict);
    bool decide(const ir::Value& value, bool strict);
    bool bounded_;
    std::unordered_map<const ir::Value*, bool> known_[2];
};

}  // namespace weft::codegen
