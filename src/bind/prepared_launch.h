// A launch whose arguments are packed once and which runs many times: what wp.launch(record_cmd=True) keeps.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bind/arguments.h"
#include "bind/pack.h"
#include "codegen/backend.h"
#include "runtime/kernel.h"

namespace weft::bind {

class PreparedLaunch {
  public:
    PreparedLaunch(nanobind::handle kernel, Arguments& arguments, const codegen::LaunchShape& shape,
                   const Where& where);

    // Launches, on `stream` if it is not null. False, and nothing is done, where the usual way has to be taken:
    // somebody watches launches, settings that the code depends on have changed, or a vector has.
    bool run(void* stream) const;

    // Whether arguments are of the kinds that say when they change: arrays of ours, numbers, vectors and the like.
    static bool takes(const Arguments& arguments);

  private:
    nanobind::object kernel_;
    runtime::Kernel* made_;
    runtime::Code* code_;
    ArgumentBlock block_;
    codegen::LaunchShape shape_;
    Where where_;
    // Vectors and the like, and where they stand in the block.
    struct Value {
        nanobind::object object;
        int64_t offset;
    };
    std::vector<Value> values_;
};

}  // namespace weft::bind
