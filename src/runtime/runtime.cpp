#include "runtime/runtime.h"

#include <utility>

namespace weft::runtime {

Runtime& Runtime::get() {
    static Runtime& runtime = *new Runtime;
    return runtime;
}

Runtime::Runtime() : default_device_(devices().size() > 1 ? devices()[1] : devices().front()) {
    set_cache(DiskCache::default_directory(), true);
}

void Runtime::set_cache(const std::string& directory, bool enabled) {
    if (enabled && cache_ != nullptr && cache_->directory() == directory) return;
    if (!enabled && compiler_ != nullptr && cache_ == nullptr) return;
    cache_ = enabled ? std::make_shared<DiskCache>(directory) : nullptr;
    compiler_ = std::make_shared<Compiler>(cache_);
}

void Runtime::end_compiles() {
    auto ended = std::exchange(compiler_, std::make_shared<Compiler>(cache_));
    ended.reset();
}

Compiler& Runtime::compiler() { return *compiler_; }

}  // namespace weft::runtime
