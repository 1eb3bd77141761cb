// The compile pipeline, from verified IR to an image, as a table of contents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"

namespace weft::codegen {

// A copy of the module after the passes that every backend wants.
std::unique_ptr<ir::Module> prepare(const ir::Module& module);

// The kernel alone, as code for lanes wants it: callees inlined, every region with one exit.
std::unique_ptr<ir::Module> for_lanes(const ir::Module& module, const std::string& kernel);

Image compile(const ir::Module& module, Backend& backend, const Options& options, std::vector<StageTime>* times);

// "ir" (after the passes), or one of the backend's dump kinds.
std::string dump(const ir::Module& module, Backend& backend, const Options& options, const std::string& kind);

}  // namespace weft::codegen
