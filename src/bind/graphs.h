// The recording that is going on, if any: what changes arrays asks here whether to run now or to be recorded.
#pragma once

#include "runtime/graph.h"

namespace weft::bind {

// Null when nothing is recorded. With the GIL.
runtime::Graph* recording();

// Runs `step` without the GIL now, or records it.
void perform(runtime::Step step);

}  // namespace weft::bind
