// Times the stages of a compile.
#pragma once

#include <chrono>
#include <vector>

#include "codegen/backend.h"

namespace weft::codegen {

class Stages {
  public:
    // `times` may be null.
    explicit Stages(std::vector<StageTime>* times) : times_(times) {}
    // The stage that began at the end of the one before is over.
    void end(const char* stage) {
        const auto now = std::chrono::steady_clock::now();
        if (times_ != nullptr) {
            times_->push_back({stage, std::chrono::duration<double, std::milli>(now - start_).count()});
        }
        start_ = now;
    }

  private:
    std::vector<StageTime>* times_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace weft::codegen
