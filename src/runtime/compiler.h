// The compile service: turns IR into callables on background threads, through the disk cache.
// Identical requests share one compile. Survives fork (the child compiles on threads of its own) and the end of the
// process. Not here: the compile pipeline (codegen/compile.h), cache files (cache.h), loading of images
// (image.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/backend.h"
#include "ir/ir.h"

namespace weft::runtime {

class DiskCache;
class LazyModule;
class LoadedImage;
struct CompileJob;

// One requested kernel: perhaps still being compiled, later callable for as long as this object lives.
class LoadedKernel {
  public:
    LoadedKernel(std::shared_ptr<CompileJob> job, std::string kernel);

    // Whether wait() returns (or throws) at once.
    bool ready() const;
    // Waits until it is ready, or known to be in no cache, so that it is compiled now: then true. It goes before what
    // nobody waits for.
    bool must_be_compiled() const;
    // Whether it throws.
    bool failed() const;
    // Blocks until the compile has ended (do not hold the GIL); throws what it threw: UserError or InternalError.
    // Null when the code is not for the host.
    codegen::KernelEntry wait();
    // The same, for code of other machines.
    LoadedImage& image();
    const std::string& name() const { return kernel_; }
    // Of the code in the cache.
    const std::string& key() const;
    // After wait(): milliseconds a stage ("key", "cache", "prepare", "emit", ..., "store", "load"), and where the code
    // came from.
    std::vector<codegen::StageTime> times() const;
    bool from_cache() const;

  private:
    std::shared_ptr<CompileJob> job_;
    std::string kernel_;
    std::atomic<codegen::KernelEntry> entry_ = nullptr;
};

// Code that was compiled before, with the key of what it was compiled from; taken where that is what is asked for.
struct Compiled {
    std::string key;
    std::string payload;
};

class Compiler {
  public:
    // `cache` may be null. `threads` 0: one a core; they start when first needed.
    explicit Compiler(std::shared_ptr<DiskCache> cache, int threads = 0);
    // Ends running compiles first; those not begun fail.
    ~Compiler();
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;

    // Returns at once, or once it is loaded where it is in a cache. The module must verify, must not change afterwards,
    // and may hold several kernels: they share one compile. An empty `backend` is the default one. An unknown backend
    // or kernel throws here.
    std::shared_ptr<LoadedKernel> request(std::shared_ptr<const ir::Module> module, const std::string& kernel,
                                          const std::string& backend = {}, const codegen::Options& options = {});
    // The same, of a kernel that is in it.
    std::shared_ptr<LoadedKernel> request(std::shared_ptr<const LazyModule> module, const std::string& kernel,
                                          const std::string& backend, const codegen::Options& options,
                                          const Compiled* compiled);
    // A kernel of compiled code for the host, loaded now; null where that does not load.
    std::shared_ptr<LoadedKernel> loaded(const std::string& key, std::string_view payload, const std::string& kernel,
                                         const std::string& backend);
    // What request() makes, taken from the cache or compiled now. Throws what the compile throws.
    Compiled compiled(const std::shared_ptr<const LazyModule>& module, const std::string& backend,
                      const codegen::Options& options) const;
    // Stores compiled(). Throws UserError (Value) where nothing can be written.
    void store(const std::shared_ptr<const LazyModule>& module, const std::string& backend,
               const codegen::Options& options, const DiskCache& target) const;
    // A folder of images to look in behind the cache; nothing is written there.
    void add_folder(std::shared_ptr<const DiskCache> folder);
    // What a thread of the service does when there has been nothing to compile for a moment.
    void set_when_quiet(std::function<void()> work);
    // Requests that have not ended.
    size_t pending() const;
    size_t threads() const;
    // Blocks until nothing is queued or running.
    void wait_idle();
    // Fails what has not begun and waits for what has; later requests fail. For the interpreter's exit hook.
    void shutdown();
    DiskCache* cache() const;

    struct Service;

  private:
    std::shared_ptr<Service> service_;
};

}  // namespace weft::runtime
