// Arrays of any device as arrays in the host's memory, for work that only the host does.
#pragma once

#include <utility>
#include <vector>

#include "runtime/array.h"

namespace weft::runtime {

class HostCopies {
  public:
    // The array itself where the host reaches it, else a copy.
    Array read(const Array& array);
    // The same; finish() brings the content back.
    Array changed(const Array& array);
    void finish();

  private:
    std::vector<std::pair<Array, Array>> changed_;  // the array, its copy
};

}  // namespace weft::runtime
