#include "runtime/runtime.h"

#include <limits>
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
    if (packs_ != nullptr) packs_->save();
    cache_ = enabled ? std::make_shared<DiskCache>(directory) : nullptr;
    packs_ = cache_ != nullptr && cache_->readable() ? std::make_shared<SourcePacks>(cache_) : nullptr;
    make_compiler();
}

void Runtime::make_compiler() {
    compiler_ = std::make_shared<Compiler>(cache_);
    for (const auto& folder : folders_) compiler_->add_folder(folder);
    if (packs_ != nullptr) compiler_->set_when_quiet([packs = packs_] { packs->save(); });
}

void Runtime::add_folder(const std::string& directory) {
    // No limit: what lies there is the user's.
    folders_.push_back(std::make_shared<DiskCache>(directory, std::numeric_limits<int64_t>::max()));
    compiler_->add_folder(folders_.back());
}

void Runtime::end_compiles() {
    auto ended = std::move(compiler_);
    make_compiler();
    ended.reset();
    if (packs_ != nullptr) packs_->save();
}

Compiler& Runtime::compiler() { return *compiler_; }

}  // namespace weft::runtime
