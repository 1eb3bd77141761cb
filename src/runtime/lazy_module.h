// The IR of a kernel, which launches of code that is known do not need: made when it is first asked for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "ir/ir.h"

namespace weft::runtime {

class LazyModule {
  public:
    using Make = std::function<std::shared_ptr<const ir::Module>()>;

    explicit LazyModule(std::shared_ptr<const ir::Module> module) : module_(std::move(module)) {}
    explicit LazyModule(Make make) : make_(std::move(make)) {}

    // From any thread. Throws what making it throws; the next call tries anew.
    std::shared_ptr<const ir::Module> get() const {
        const std::lock_guard lock(mutex_);
        if (module_ == nullptr) module_ = make_();
        return module_;
    }

  private:
    mutable std::mutex mutex_;
    Make make_;
    mutable std::shared_ptr<const ir::Module> module_;
};

}  // namespace weft::runtime
