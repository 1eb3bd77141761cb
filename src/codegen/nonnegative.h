// Which integer values are known not to be negative, so that an index needs no wrapping.
#pragma once

#include <unordered_map>

#include "ir/ir.h"

namespace weft::codegen {

// Sums and products are taken not to overflow where they are the index itself (an index that overflowed is out of range
// anyway), but not where a remainder, mask or division may bring what overflowed back into range, as hashes do.
class NonNegative {
  public:
    bool operator()(const ir::Value* index) { return known(index, false); }

  private:
    bool known(const ir::Value* value, bool strict);
    bool decide(const ir::Value& value, bool strict);
    std::unordered_map<const ir::Value*, bool> known_[2];
};

}  // namespace weft::codegen
