// The recording that is going on, if any: what changes arrays asks here whether to run now or to be recorded.
#pragma once

#include <functional>
#include <vector>

#include "runtime/graph.h"

namespace weft::bind {

// Null when nothing is recorded. With the GIL.
runtime::Graph* recording();

// Runs `step` without the GIL now, or records it. `written`: the arrays that it changes, where it does not tell
// them itself.
void perform(std::function<void()> step, std::vector<runtime::Array> written = {});

}  // namespace weft::bind
