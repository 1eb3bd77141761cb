// The one runtime of the process: what all launches share. Made on first use, never destroyed (threads may outlive
// main).
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/cache.h"
#include "runtime/compiler.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/device.h"
#include "runtime/source_pack.h"

namespace weft::runtime {

class Runtime {
  public:
    static Runtime& get();

    ThreadPool& pool() { return pool_; }
    Compiler& compiler();
    // Null when there is no cache.
    std::shared_ptr<DiskCache> cache() const { return cache_; }
    // Of code by its source; null when there is no cache, or nothing can be kept there.
    SourcePacks* packs() const { return packs_.get(); }
    // Another folder, or none (""): for kernels compiled from now on.
    void set_cache(const std::string& directory, bool enabled);

    // A folder of images to look in behind the cache (compiled ahead of time): nothing is written there.
    void add_folder(const std::string& directory);

    // Ends the compiles that run and drops those that wait: to be called before the process ends, since compilers do
    // not survive the destructors of their libraries. Later requests start anew.
    void end_compiles();

    // Whether all launches give the same bits whatever threads do.
    bool deterministic() const { return deterministic_.load(std::memory_order_relaxed); }
    void set_deterministic(bool wanted) { deterministic_.store(wanted, std::memory_order_relaxed); }

    Device& default_device() const { return *default_device_; }
    void set_default_device(Device& device) { default_device_ = &device; }

  private:
    Runtime();

    ThreadPool pool_;
    void make_compiler();

    std::shared_ptr<DiskCache> cache_;
    std::shared_ptr<SourcePacks> packs_;
    std::vector<std::shared_ptr<const DiskCache>> folders_;
    std::shared_ptr<Compiler> compiler_;
    Device* default_device_;
    std::atomic<bool> deterministic_{false};
};

}  // namespace weft::runtime
