// The IR of a kernel, which launches of code that is known do not need: made when it is first asked for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "ir/ir.h"

namespace weft::runtime {

class LazyModule {
  public:
    using Make = std::function<std::shared_ptr<const ir::Module>()>;

    explicit LazyModule(std::shared_ptr<const ir::Module> module) : module_(std::move(module)) {}
    // `digest` as an earlier process had it.
    LazyModule(Make make, std::string digest) : make_(std::move(make)), digest_(std::move(digest)) {}

    // From any thread. Throws what making it throws; the next call tries anew.
    std::shared_ptr<const ir::Module> get() const {
        const std::lock_guard lock(mutex_);
        return made();
    }

    // Of the IR's text without names and places: what compiled code is found by. The module no longer changes then.
    std::string digest() const;

  private:
    const std::shared_ptr<const ir::Module>& made() const {
        if (module_ == nullptr) module_ = make_();
        return module_;
    }

    mutable std::mutex mutex_;
    Make make_;
    mutable std::shared_ptr<const ir::Module> module_;
    mutable std::string digest_;
};

}  // namespace weft::runtime
