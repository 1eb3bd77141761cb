// One mutex a service guards its queue and the states of its jobs; compiles run outside it. A fork waits until no
// compile runs, so that the child finds every lock of the compilers free. The end of the process waits for nobody: what
// compiles use is never destroyed (weft_keep_statics in cmake/compiler.cmake).
#include "runtime/compiler.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "codegen/compile.h"
#include "ir/text.h"
#include "runtime/cache.h"
#include "runtime/image.h"
#include "runtime/lazy_module.h"

namespace weft::runtime {
namespace {

// Part of every key: to be changed with the format of the payload or the way in which code is called.
constexpr std::string_view kFormat = "weft image 2";

// How long nothing must have been asked for.
constexpr std::chrono::milliseconds kQuiet(200);

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

const codegen::BackendInfo& backend_info(const std::string& name) {
    return name.empty() ? codegen::backends().front() : codegen::backend(name);
}

std::string key_of(const LazyModule& module, const codegen::BackendInfo& backend, const codegen::Options& options) {
    Hasher hasher;
    hasher.add_field(kFormat).add_field(backend.name).add_field(backend.target_key()).add_field(options.key());
    hasher.add_field(module.digest());
    // Code that says where it comes from is other code for each place.
    if (options.line_info) {
        ir::SourceFiles files;
        hasher.add_field(ir::print(*module.get(), {.names = false, .files = &files}));
        for (const auto& file : files) hasher.add_field(file->path);
    }
    return hasher.hex();
}

std::string payload_of(const codegen::Image& image) { return static_cast<char>(image.format) + image.bytes; }

}  // namespace

struct CompileJob {
    enum class State { Queued, Running, Done };

    std::string key;
    std::shared_ptr<const LazyModule> module;
    const codegen::BackendInfo* backend = nullptr;
    codegen::Options options;
    std::string payload;  // compiled before; empty: none
    std::shared_ptr<DiskCache> cache;
    std::vector<std::shared_ptr<const DiskCache>> folders;
    std::shared_ptr<Compiler::Service> service;

    State state = State::Queued;  // guarded by the service's mutex; what follows is written before it becomes Done
    std::exception_ptr error;
    std::unique_ptr<LoadedImage> image;
    std::vector<codegen::StageTime> times;
    bool from_cache = false;

    bool in_no_cache = false;  // guarded by the service's mutex

    // Whether it has ended: loaded, or failed.
    bool run_from_cache() {
        return ended([&] { return load_cached(); });
    }

    void run() {
        ended([&] {
            compile();
            return true;
        });
    }

    // What it was compiled to; false where that does not load.
    bool load(std::string_view bytes) {
        if (bytes.empty()) return false;
        const codegen::Image stored{static_cast<codegen::ImageFormat>(bytes[0]), std::string(bytes.substr(1))};
        try {
            timed("load", [&] { image = load_image(stored); });
        } catch (const InternalError&) {
            return false;  // a file that does not load is compiled anew, and replaced
        }
        from_cache = true;
        return true;
    }

  private:
    template <typename Work>
    bool ended(const Work& work) {
        try {
            return work();
        } catch (...) {
            error = std::current_exception();
            image.reset();
            return true;
        }
    }

    template <typename Work>
    void timed(const char* stage, const Work& work) {
        const auto start = std::chrono::steady_clock::now();
        work();
        times.push_back({stage, since(start)});
    }

    bool load_cached() {
        if (load(std::exchange(payload, {}))) return true;
        std::vector<const DiskCache*> places;
        if (cache) places.push_back(cache.get());
        for (const auto& folder : folders) places.push_back(folder.get());
        return std::ranges::any_of(places, [&](const DiskCache* place) { return load_from(*place); });
    }

    bool load_from(const DiskCache& place) {
        std::optional<std::string> found;
        timed("cache", [&] { found = place.load(key); });
        return found && load(*found);
    }

    void compile() {
        codegen::Backend* opened = nullptr;
        timed("open", [&] { opened = &backend->open(); });
        codegen::Image made = codegen::compile(*module->get(), *opened, options, &times);
        timed("finish", [&] { made = finished(std::move(made), options); });
        // Loaded first: what does not load must not be stored.
        timed("load", [&] { image = load_image(made); });
        if (!cache || !cache->writable()) return;
        timed("store", [&] { cache->store(key, payload_of(made)); });
    }
};

struct Compiler::Service : std::enable_shared_from_this<Compiler::Service> {
    std::mutex mutex;
    std::condition_variable queued;
    std::condition_variable done;
    std::deque<std::shared_ptr<CompileJob>> queue;
    std::unordered_map<std::string, std::weak_ptr<CompileJob>> known;
    size_t purge_at = 256;  // those of code that is gone are looked for when there are so many
    std::vector<std::thread> threads;
    size_t wanted_threads = 1;
    int running = 0;
    int idle = 0;
    std::function<void()> when_quiet;
    bool busy_lately = false;  // since the last such work
    bool paused = false;       // a fork is about to happen
    bool ending = false;
    std::shared_ptr<DiskCache> cache;
    std::vector<std::shared_ptr<const DiskCache>> folders;

    void worker() {
        std::unique_lock lock(mutex);
        const auto called = [&] { return ending || (!paused && !queue.empty()); };
        while (true) {
            ++idle;
            bool quiet = false;
            if (busy_lately) {
                quiet = !queued.wait_for(lock, kQuiet, called);
            } else {
                queued.wait(lock, called);
            }
            --idle;
            if (ending) return;
            if (quiet) {
                work_when_quiet(lock);
                continue;
            }
            const auto job = std::move(queue.front());
            queue.pop_front();
            job->state = CompileJob::State::Running;
            ++running;
            lock.unlock();
            job->run();
            lock.lock();
            --running;
            finish(*job);
        }
    }

    // Counts as a running job, so that neither a fork nor the end comes between.
    void work_when_quiet(std::unique_lock<std::mutex>& lock) {
        if (paused || running > 0 || !std::exchange(busy_lately, false) || !when_quiet) return;
        const auto work = when_quiet;
        ++running;
        lock.unlock();
        work();
        lock.lock();
        --running;
        done.notify_all();
    }

    void finish(CompileJob& job) {
        busy_lately = true;
        job.state = CompileJob::State::Done;
        job.module.reset();
        // A failed job is not handed out again: the next request tries anew.
        const auto place = known.find(job.key);
        if (job.error && place != known.end()) known.erase(place);
        done.notify_all();
    }

    void forget_gone() {
        if (known.size() < purge_at) return;
        std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
        purge_at = std::max<size_t>(256, 2 * known.size());
    }

    // What the cache has is loaded by who asks: that takes less time than to wake a thread.
    void load_or_post(const std::shared_ptr<CompileJob>& job, std::unique_lock<std::mutex>& lock) {
        job->state = CompileJob::State::Running;
        ++running;
        lock.unlock();
        const bool ended = job->run_from_cache();
        lock.lock();
        --running;
        if (ended) return finish(*job);
        job->state = CompileJob::State::Queued;
        job->in_no_cache = true;
        done.notify_all();
        if (ending) {
            job->error = std::make_exception_ptr(InternalError("the compile service has ended"));
            return finish(*job);
        }
        queue.push_back(job);
        start_threads();
        queued.notify_one();
    }

    // As many as there is work for.
    void start_threads() {
        if (ending) return;
        while (threads.size() < wanted_threads && static_cast<size_t>(idle) + starting() < queue.size()) {
            threads.emplace_back([self = shared_from_this()] { self->worker(); });
        }
    }

    // Threads that were made but have not come to their first wait.
    size_t starting() const {
        const size_t busy = static_cast<size_t>(idle) + static_cast<size_t>(running);
        return threads.size() > busy ? threads.size() - busy : 0;
    }

    // Somebody waits for it.
    void hurry(const CompileJob& job) {
        start_threads();  // after a fork there are none
        if (job.state != CompileJob::State::Queued) return;
        const auto place = std::ranges::find_if(queue, [&](const auto& queued) { return queued.get() == &job; });
        std::rotate(queue.begin(), place, place + 1);
    }

    void wait(const CompileJob& job) {
        std::unique_lock lock(mutex);
        hurry(job);
        done.wait(lock, [&] { return job.state == CompileJob::State::Done; });
    }

    bool wait_for_miss(const CompileJob& job) {
        std::unique_lock lock(mutex);
        hurry(job);
        done.wait(lock, [&] { return job.in_no_cache || job.state == CompileJob::State::Done; });
        return job.state != CompileJob::State::Done;
    }

    void shutdown() {
        std::unique_lock lock(mutex);
        ending = true;
        while (!queue.empty()) {
            const auto job = std::move(queue.front());
            queue.pop_front();
            job->error = std::make_exception_ptr(InternalError("the compile service has ended"));
            finish(*job);
        }
        queued.notify_all();
        done.wait(lock, [&] { return running == 0; });
    }

    void join() {
        std::vector<std::thread> mine;
        {
            const std::lock_guard lock(mutex);
            mine.swap(threads);
        }
        for (std::thread& thread : mine) {
            if (thread.get_id() == std::this_thread::get_id()) {
                thread.detach();
            } else {
                thread.join();
            }
        }
    }
};

namespace {

// Every service, for forks. Never destroyed.
struct Services {
    std::mutex mutex;
    std::set<Compiler::Service*> all;

    static Services& instance() {
        static Services* const services = [] {
            auto* out = new Services;
            pthread_atfork(prepare, parent, child);
            return out;
        }();
        return *services;
    }

  private:
    static void prepare() {
        instance().mutex.lock();
        for (auto* service : instance().all) {
            std::unique_lock lock(service->mutex);
            service->paused = true;
            service->done.wait(lock, [&] { return service->running == 0; });
            lock.release();
        }
    }

    static void parent() {
        for (auto* service : instance().all) {
            service->paused = false;
            service->queued.notify_all();
            service->mutex.unlock();
        }
        instance().mutex.unlock();
    }

    static void child() {
        for (auto* service : instance().all) {
            // The threads are gone; what speaks of them is forgotten rather than destroyed.
            new std::vector<std::thread>(std::move(service->threads));
            service->threads.clear();
            service->idle = 0;
            service->paused = false;
            new (&service->queued) std::condition_variable;
            new (&service->done) std::condition_variable;
            service->mutex.unlock();
        }
        instance().mutex.unlock();
    }
};

}  // namespace

// --- handles ---------------------------------------------------------------------------------------------------------

LoadedKernel::LoadedKernel(std::shared_ptr<CompileJob> job, std::string kernel)
    : job_(std::move(job)), kernel_(std::move(kernel)) {}

bool LoadedKernel::ready() const {
    const std::lock_guard lock(job_->service->mutex);
    return job_->state == CompileJob::State::Done;
}

bool LoadedKernel::must_be_compiled() const { return !ready() && job_->service->wait_for_miss(*job_); }

bool LoadedKernel::failed() const { return ready() && job_->error != nullptr; }

codegen::KernelEntry LoadedKernel::wait() {
    if (const auto entry = entry_.load(std::memory_order_acquire)) return entry;
    job_->service->wait(*job_);
    if (job_->error) std::rethrow_exception(job_->error);
    if (!job_->backend->runs_on_host) return nullptr;
    void* found = job_->image->find(codegen::entry_symbol(kernel_));
    WEFT_CHECK(found != nullptr, "compiled code has no kernel " + kernel_);
    const auto entry = reinterpret_cast<codegen::KernelEntry>(found);
    entry_.store(entry, std::memory_order_release);
    return entry;
}

const std::string& LoadedKernel::key() const { return job_->key; }

LoadedImage& LoadedKernel::image() {
    wait();
    return *job_->image;
}

std::vector<codegen::StageTime> LoadedKernel::times() const {
    return ready() ? job_->times : std::vector<codegen::StageTime>{};
}

bool LoadedKernel::from_cache() const { return ready() && job_->from_cache; }

// --- the service -----------------------------------------------------------------------------------------------------

Compiler::Compiler(std::shared_ptr<DiskCache> cache, int threads) : service_(std::make_shared<Service>()) {
    service_->cache = std::move(cache);
    const unsigned cores = std::thread::hardware_concurrency();
    service_->wanted_threads = threads > 0 ? static_cast<size_t>(threads) : cores > 0 ? cores : 1;
    Services& services = Services::instance();
    const std::lock_guard lock(services.mutex);
    services.all.insert(service_.get());
}

Compiler::~Compiler() {
    {
        Services& services = Services::instance();
        const std::lock_guard lock(services.mutex);
        services.all.erase(service_.get());
    }
    service_->shutdown();
    service_->join();
}

std::shared_ptr<LoadedKernel> Compiler::request(std::shared_ptr<const ir::Module> module, const std::string& kernel,
                                                const std::string& backend, const codegen::Options& options) {
    const ir::Function* function = module->find(kernel);
    WEFT_CHECK(function != nullptr && function->kind == ir::FunctionKind::Kernel,
               "no kernel " + kernel + " in the module");
    return request(std::make_shared<const LazyModule>(std::move(module)), kernel, backend, options, nullptr);
}

std::shared_ptr<LoadedKernel> Compiler::request(std::shared_ptr<const LazyModule> module, const std::string& kernel,
                                                const std::string& backend, const codegen::Options& options,
                                                const Compiled* compiled) {
    const auto start = std::chrono::steady_clock::now();
    const codegen::BackendInfo& info = backend_info(backend);
    const std::string key = key_of(*module, info, options);

    std::unique_lock lock(service_->mutex);
    if (service_->ending) throw InternalError("the compile service has ended");
    service_->forget_gone();
    auto& known = service_->known[key];
    auto job = known.lock();
    if (!job) {
        job = std::make_shared<CompileJob>();
        job->key = key;
        job->module = std::move(module);
        job->backend = &info;
        job->options = options;
        if (compiled != nullptr && compiled->key == key) job->payload = compiled->payload;
        job->cache = service_->cache;
        job->folders = service_->folders;
        job->service = service_;
        job->times.push_back({"key", since(start)});
        known = job;
        service_->load_or_post(job, lock);
    }
    return std::make_shared<LoadedKernel>(std::move(job), kernel);
}

std::shared_ptr<LoadedKernel> Compiler::loaded(const std::string& key, std::string_view payload,
                                               const std::string& kernel, const std::string& backend) {
    std::shared_ptr<CompileJob> job;
    {
        const std::lock_guard lock(service_->mutex);
        job = service_->known[key].lock();
    }
    if (job == nullptr) {
        job = std::make_shared<CompileJob>();
        job->key = key;
        job->backend = &backend_info(backend);
        job->service = service_;
        if (!job->load(payload)) return nullptr;
        job->state = CompileJob::State::Done;
        const std::lock_guard lock(service_->mutex);
        service_->forget_gone();
        auto& known = service_->known[key];
        if (auto other = known.lock()) {
            job = std::move(other);
        } else {
            known = job;
        }
    }
    return std::make_shared<LoadedKernel>(std::move(job), kernel);
}

Compiled Compiler::compiled(const std::shared_ptr<const LazyModule>& module, const std::string& backend,
                            const codegen::Options& options) const {
    const codegen::BackendInfo& info = backend_info(backend);
    const std::string key = key_of(*module, info, options);
    std::optional<std::string> payload;
    if (service_->cache) payload = service_->cache->load(key);
    if (!payload) payload = payload_of(codegen::compile(*module->get(), info.open(), options, nullptr));
    return {key, *payload};
}

void Compiler::store(const std::shared_ptr<const LazyModule>& module, const std::string& backend,
                     const codegen::Options& options, const DiskCache& target) const {
    const Compiled made = compiled(module, backend, options);
    if (!target.store(made.key, made.payload)) {
        throw UserError(ErrorKind::Value, "compiled code cannot be written to " + target.directory() +
                                              (target.problem().empty() ? "" : ": " + target.problem()));
    }
}

void Compiler::add_folder(std::shared_ptr<const DiskCache> folder) {
    const std::lock_guard lock(service_->mutex);
    service_->folders.push_back(std::move(folder));
}

void Compiler::set_when_quiet(std::function<void()> work) {
    const std::lock_guard lock(service_->mutex);
    service_->when_quiet = std::move(work);
}

size_t Compiler::pending() const {
    const std::lock_guard lock(service_->mutex);
    return service_->queue.size() + static_cast<size_t>(service_->running);
}

size_t Compiler::threads() const { return service_->wanted_threads; }

void Compiler::wait_idle() {
    std::unique_lock lock(service_->mutex);
    service_->start_threads();
    service_->done.wait(lock, [&] { return service_->queue.empty() && service_->running == 0; });
}

void Compiler::shutdown() { service_->shutdown(); }

DiskCache* Compiler::cache() const { return service_->cache.get(); }

}  // namespace weft::runtime
