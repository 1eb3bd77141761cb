// What launches share: how packed arguments run, or are recorded.
#pragma once

#include <nanobind/nanobind.h>

#include "bind/arguments.h"
#include "bind/pack.h"
#include "codegen/backend.h"
#include "runtime/kernel.h"

namespace weft::bind {

// Runs the code on the packed arguments, or records the launch where one is recorded. With the GIL.
void run_or_record(nanobind::handle kernel, runtime::Code& code, const ArgumentBlock& block,
                   const codegen::LaunchShape& shape, const Where& where);

// Whether a tape, forward mode or an observer gets to know of launches.
bool launches_are_watched();

}  // namespace weft::bind
