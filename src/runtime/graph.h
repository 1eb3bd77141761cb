// Recorded work: launches, copies, fills and whatever else runs as a function, with branches and loops that read their
// condition from memory. Replayed without Python. A recording does not run what it records.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "codegen/backend.h"
#include "runtime/array.h"
#include "runtime/kernel.h"

namespace weft::runtime {

class Graph {
  public:
    // A step that runs as it is; `written`: the arrays whose content it changes, where it does not tell them itself.
    void add(std::function<void()> step, std::vector<Array> written = {});
    // `arguments` is the packed block; what its pointers lead to, and the code, must be kept by `keep`.
    void add_launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                    std::vector<Array> written, std::shared_ptr<void> keep);
    // Runs `yes` or `no` (either may be null) by the first element of `condition`, an array of int32.
    void add_branch(Array condition, std::shared_ptr<Graph> yes, std::shared_ptr<Graph> no);
    // Runs `body` for as long as the element is not zero.
    void add_loop(Array condition, std::shared_ptr<Graph> body);

    size_t size() const { return steps_.size(); }
    // In order; throws what a launch throws.
    void run() const;

  private:
    std::vector<std::function<void()>> steps_;
};

}  // namespace weft::runtime
