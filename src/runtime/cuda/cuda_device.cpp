#include "runtime/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/error.h"
#include "runtime/cuda/clusters.h"
#include "runtime/cuda/gpu_image.h"
#include "runtime/cuda/packed_launch.h"
#include "runtime/cuda/recent_launches.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

namespace weft::runtime::cuda {
namespace {

constexpr unsigned kNonBlocking = 1;     // CU_STREAM_NON_BLOCKING
constexpr unsigned kPortableMapped = 3;  // of cuMemHostAlloc
constexpr int kHeapLimit = 2;            // CU_LIMIT_MALLOC_HEAP_SIZE
constexpr int kReleaseThreshold = 4;     // of a memory pool
// Of a multiprocessor, where threads sum for themselves: enough to keep its memory busy, few enough atomics.
constexpr int64_t kThreadsForSums = 1024;
constexpr int64_t kMaxBlocks = 0x7fffffff;  // of a grid, in x
constexpr int64_t kDefaultBlock = 256;      // of launches that do not ask for another
constexpr int64_t kLeastBlock = 64;
constexpr int kNarrowDriver = 12010;  // knows PTX 8.1 (codegen/llvm/nvptx/vector_sums.h)
// Where adjoints keep what does not fit in registers.
constexpr size_t kHeapBytes = size_t{256} << 20;

// The message, whose format lies in the device's memory: asked for piece by piece, as its end is not known.
std::string message_of(const Failure& failure) {
    std::string format;
    // Near the end of the memory that the driver knows only single bytes can be read.
    std::array<char, 32> piece{};
    size_t size = piece.size();
    while (format.size() < 4096) {
        const Result result = driver().cuMemcpyDtoHAsync(piece.data(), failure.format + format.size(), size, nullptr);
        if (result != 0 && size == 1) break;
        if (result != 0) {
            size = 1;
            continue;
        }
        const auto stop = piece.begin() + static_cast<std::ptrdiff_t>(size);
        const auto end = std::find(piece.begin(), stop, '\0');
        format.append(piece.begin(), end);
        if (end != stop) break;
    }
    std::array<char, 4096> text{};
    const int64_t* n = failure.numbers;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::snprintf(text.data(), text.size(), format.c_str(), n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9],
                  n[10], n[11], n[12], n[13], n[14], n[15]);
#pragma GCC diagnostic pop
    return text.data();
}

// "kernel 'saxpy'", "the adjoint of kernel 'saxpy'"
std::string described(const Code& code) {
    const std::string kernel = code.name().substr(0, code.name().find('.'));
    return (kernel == code.name() ? "kernel '" : "the adjoint of kernel '") + kernel + "'";
}

const LaunchOrigin* origin_of(const Code& code) {
    const auto location = [module = code.lazy_module(), name = code.name()] {
        return location_of(*module->get()->find(name));
    };
    return launch_origin({described(code), code.summary().file, code.summary().line, location});
}

Address address(const void* memory) { return reinterpret_cast<Address>(memory); }

}  // namespace

// ---- context ----

CudaDevice::Guard::Guard(CudaDevice& device) {
    const Context wanted = device.context();
    check(driver().cuCtxGetCurrent(&before_), "asking for the current context");
    changed_ = before_ != wanted;
    if (changed_) check(driver().cuCtxSetCurrent(wanted), "choosing a context");
}

CudaDevice::Guard::~Guard() {
    if (changed_ && before_ != nullptr) driver().cuCtxSetCurrent(before_);
}

CudaDevice::CudaDevice(DeviceId id, int ordinal, const std::string& name)
    : Device(driver().vendor.prefix + ":" + std::to_string(ordinal), name, ordinal,
             {.variants = driver().vendor.variants}),
      id_(id) {
    const Vendor& vendor = driver().vendor;
    backend_ = vendor.backend;
    architecture_ = vendor.architecture(attribute(kMajor), attribute(kMinor));
    if (const int lanes = attribute(kLanes); lanes != vendor.lanes) {
        throw UserError(ErrorKind::Unsupported, alias() + " has " + std::to_string(lanes) +
                                                    " threads in a warp; code for " + architecture_ + " is made for " +
                                                    std::to_string(vendor.lanes));
    }
    multiprocessors_ = attribute(kMultiprocessors);
    has_pool_ = pool_enabled_ = attribute(kMemoryPools) != 0;
}

int CudaDevice::attribute(int number) const {
    int value = 0;
    check(driver().cuDeviceGetAttribute(&value, number, id_), "asking for an attribute of the device");
    return value;
}

std::string CudaDevice::uuid() const {
    std::array<unsigned char, 16> bytes{};
    check(driver().cuDeviceGetUuid(bytes.data(), id_), "asking for the device's UUID");
    std::string out = "GPU-";
    for (size_t i = 0; i < bytes.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
        out += "0123456789abcdef"[bytes[i] >> 4];
        out += "0123456789abcdef"[bytes[i] & 15];
    }
    return out;
}

std::string CudaDevice::pci_bus_id() const {
    std::array<char, 32> text{};
    check(driver().cuDeviceGetPCIBusId(text.data(), text.size(), id_), "asking for the device's place");
    return text.data();
}

namespace {

// What a context needs beside itself; goes again where making it fails half way.
struct ContextParts {
    Context before = nullptr;
    StreamHandle stream = nullptr;
    StreamHandle side_stream = nullptr;
    void* failure = nullptr;
    bool complete = false;

    ContextParts() = default;
    ContextParts(const ContextParts&) = delete;
    ContextParts& operator=(const ContextParts&) = delete;
    ~ContextParts() {
        const Driver& d = driver();
        if (!complete) {
            if (failure != nullptr) d.cuMemFreeHost(failure);
            if (side_stream != nullptr) d.cuStreamDestroy(side_stream);
            if (stream != nullptr) d.cuStreamDestroy(stream);
        }
        if (before != nullptr) d.cuCtxSetCurrent(before);
    }
};

}  // namespace

Context CudaDevice::context() {
    if (const Context known = context_.load(std::memory_order_acquire)) return known;
    const std::lock_guard lock(mutex_);
    if (const Context known = context_.load(std::memory_order_relaxed)) return known;
    const Driver& d = driver();
    if (primary_ == nullptr) check(d.cuDevicePrimaryCtxRetain(&primary_, id_), "making a context");
    ContextParts parts;
    check(d.cuCtxGetCurrent(&parts.before), "asking for the current context");
    check(d.cuCtxSetCurrent(primary_), "choosing a context");
    d.cuCtxSetLimit(kHeapLimit, kHeapBytes);  // refused once kernels that allocate have run: then it stays as it is
    check(d.cuStreamCreateWithPriority(&parts.stream, 0, 0), "making a stream");
    check(d.cuStreamCreateWithPriority(&parts.side_stream, kNonBlocking, 0), "making a stream");
    check(d.cuMemHostAlloc(&parts.failure, sizeof(Failure), kPortableMapped), "allocating pinned memory");
    if (has_pool_) {
        PoolHandle pool = nullptr;
        uint64_t keep = UINT64_MAX;
        check(d.cuDeviceGetDefaultMemPool(&pool, id_), "asking for the memory pool");
        d.cuMemPoolSetAttribute(pool, kReleaseThreshold, &keep);
    }
    parts.complete = true;
    failure_ = new (parts.failure) Failure{};
    side_stream_ = parts.side_stream;
    stream_.store(parts.stream, std::memory_order_release);
    context_.store(primary_, std::memory_order_release);
    return primary_;
}

StreamHandle CudaDevice::stream() {
    context();
    return stream_.load(std::memory_order_acquire);
}

StreamHandle CudaDevice::side_stream() {
    context();
    return side_stream_;
}

void CudaDevice::set_uses_pool(bool enabled) {
    if (enabled && !has_pool_) throw UserError(ErrorKind::Runtime, alias() + " has no memory pools");
    pool_enabled_ = enabled;
}

Address CudaDevice::failure_address() {
    context();
    return address(failure_);  // addresses are the same on both sides
}

void CudaDevice::raise_failure() {
    if (failure_ == nullptr || *static_cast<volatile int32_t*>(&failure_->state) != 2) return;
    const Failure failure = *failure_;
    *failure_ = Failure{};
    const auto ndim = static_cast<size_t>(std::clamp(failure.ndim, 1, 8));
    throw UserError(ErrorKind::Runtime,
                    failure_text(failure.item, std::span<const int64_t>(failure.dims, ndim), message_of(failure)));
}

// ---- memory ----

namespace {

// Blocks of a pool go back to it, others to the driver. Few come from elsewhere: those are remembered.
struct OutsidePool {
    std::mutex mutex;
    std::vector<Address> blocks;

    void add(Address block) {
        const std::lock_guard lock(mutex);
        blocks.push_back(block);
    }
    bool take(Address block) {
        const std::lock_guard lock(mutex);
        const auto found = std::find(blocks.begin(), blocks.end(), block);
        if (found == blocks.end()) return false;
        blocks.erase(found);
        return true;
    }
};

OutsidePool& outside_pool() {
    static OutsidePool& instance = *new OutsidePool;
    return instance;
}

}  // namespace

namespace {

UserError no_memory(int64_t bytes, const std::string& device, const std::string& why) {
    return {ErrorKind::Runtime,
            "Failed to allocate " + std::to_string(bytes) + " bytes on device '" + device + "': " + why};
}

}  // namespace

// Not by a node of the graph: the memory is there before the first replay, stays at its address, and any number of
// replays may use it.
void* CudaDevice::allocate_for_recording(size_t bytes, bool zeroed) {
    if (!pool_enabled_) {
        throw no_memory(static_cast<int64_t>(bytes), alias(), "work is being recorded, which needs the memory pool");
    }
    Address memory = 0;
    {
        const OutsideCapture outside;
        const Result result = driver().cuMemAllocAsync(&memory, bytes, side_stream_);
        if (result == kOutOfMemory) throw no_memory(static_cast<int64_t>(bytes), alias(), "out of memory");
        check(result, "allocating memory of the device");
        const Result waited = driver().cuStreamSynchronize(side_stream_);
        if (waited != 0) driver().cuMemFreeAsync(memory, side_stream_);
        check(waited, "allocating memory of the device");
    }
    // Whoever captures the stream without a word may replay for ever: what it uses is never given back.
    std::shared_ptr<GraphMemory> owner = recording();
    if (owner == nullptr) owner = GraphMemory::kept_for_ever(*this);
    {
        const std::lock_guard lock(recording_mutex_);
        recorded_blocks_[memory] = owner;
    }
    if (zeroed) fill_new(memory, bytes);
    return reinterpret_cast<void*>(memory);
}

void CudaDevice::fill_new(Address memory, size_t bytes) {
    const Result result = driver().cuMemsetD8Async(memory, 0, bytes, stream());
    if (result != 0) release(reinterpret_cast<void*>(memory), static_cast<int64_t>(bytes));
    check(result, "filling with zeros");
}

void* CudaDevice::allocate(int64_t bytes, bool zeroed) {
    if (bytes <= 0) return nullptr;
    const Guard guard(*this);
    Address memory = 0;
    const auto size = static_cast<size_t>(bytes);
    if (is_recording()) return allocate_for_recording(size, zeroed);
    const Result result =
        pool_enabled_ ? driver().cuMemAllocAsync(&memory, size, stream()) : driver().cuMemAlloc(&memory, size);
    if (result == kOutOfMemory) throw no_memory(bytes, alias(), "out of memory");
    check(result, "allocating memory of the device");
    if (!pool_enabled_) outside_pool().add(memory);
    if (zeroed) fill_new(memory, size);
    return reinterpret_cast<void*>(memory);
}

void CudaDevice::release(void* memory, int64_t) noexcept {
    if (memory == nullptr) return;
    const Address block = address(memory);
    std::shared_ptr<GraphMemory> owner;
    {
        const std::lock_guard lock(recording_mutex_);
        owner = recording_;
        if (const auto found = recorded_blocks_.find(block); found != recorded_blocks_.end()) {
            if (owner == nullptr) owner = found->second.lock();
            recorded_blocks_.erase(found);
        }
    }
    if (owner != nullptr) {
        owner->take(block);
    } else {
        free_block(block);
    }
}

void CudaDevice::free_block(Address block) noexcept {
    try {
        const Guard guard(*this);
        const OutsideCapture outside;
        if (outside_pool().take(block)) {
            driver().cuMemFree(block);
        } else {
            // While somebody else's capture has the stream, what it recorded may still name the block.
            driver().cuMemFreeAsync(block, is_recording() ? side_stream_ : stream());
        }
    } catch (const UserError&) {
        // The driver has gone, with the memory.
    }
}

bool CudaDevice::is_recording() {
    int status = 0;
    return has_context() && driver().cuStreamIsCapturing(stream(), &status) == 0 && status != 0;
}

void CudaDevice::set_recording(std::shared_ptr<GraphMemory> memory) {
    const std::lock_guard lock(recording_mutex_);
    records_.store(memory != nullptr, std::memory_order_release);
    recording_ = std::move(memory);
}

std::shared_ptr<GraphMemory> CudaDevice::recording() const {
    if (!records_.load(std::memory_order_acquire)) return nullptr;
    const std::lock_guard lock(recording_mutex_);
    return recording_;
}

void CudaDevice::keep(std::shared_ptr<const void> object) {
    if (const std::shared_ptr<GraphMemory> owner = recording()) owner->keep(std::move(object));
}

int64_t CudaDevice::total_memory() const {
    size_t bytes = 0;
    check(driver().cuDeviceTotalMem(&bytes, id_), "asking for the memory's size");
    return static_cast<int64_t>(bytes);
}

int64_t CudaDevice::free_memory() const {
    const Guard guard(const_cast<CudaDevice&>(*this));
    size_t free = 0;
    size_t total = 0;
    check(driver().cuMemGetInfo(&free, &total), "asking for free memory");
    return static_cast<int64_t>(free);
}

void CudaDevice::copy_from_host(void* to, const void* from, int64_t bytes) {
    if (bytes <= 0) return;
    const Guard guard(*this);
    check(driver().cuMemcpyHtoDAsync(address(to), from, static_cast<size_t>(bytes), stream()), "copy to the device");
    // Recorded: it reads the host's memory at each replay.
    if (!is_recording()) wait_for(stream(), "copy to the device");
}

void CudaDevice::copy_to_host(void* to, const void* from, int64_t bytes) {
    if (bytes <= 0) return;
    const Guard guard(*this);
    check(driver().cuMemcpyDtoHAsync(to, address(from), static_cast<size_t>(bytes), stream()), "copy from the device");
    if (is_recording()) return;
    wait_for(stream(), "copy from the device");
    raise_failure();
}

void CudaDevice::copy_within(void* to, const void* from, int64_t bytes) {
    if (bytes <= 0) return;
    const Guard guard(*this);
    check(driver().cuMemcpyDtoDAsync(address(to), address(from), static_cast<size_t>(bytes), stream()),
          "copy on the device");
}

void CudaDevice::fill_zero(void* to, int64_t bytes) {
    if (bytes <= 0) return;
    const Guard guard(*this);
    check(driver().cuMemsetD8Async(address(to), 0, static_cast<size_t>(bytes), stream()), "filling with zeros");
}

void CudaDevice::retire(std::function<void()> release) {
    const std::lock_guard lock(retired_mutex_);
    retired_.push_back(std::move(release));
}

void CudaDevice::synchronize() {
    if (!has_context()) return;
    const Guard guard(*this);
    std::vector<std::function<void()>> idle;
    {
        const std::lock_guard lock(retired_mutex_);
        idle.swap(retired_);
    }
    const WaitedFor launches(ordinal());
    check(driver().cuCtxSynchronize(), "waiting for the device");
    launches.ended();
    for (const auto& release : idle) release();
    raise_failure();
}

// ---- launches ----

int CudaDevice::bound_of(int64_t threads) const {
    const Vendor& vendor = driver().vendor;
    return threads > vendor.usual_bound ? vendor.largest_bound : vendor.usual_bound;
}

FunctionHandle CudaDevice::function_of(Code& code, codegen::Promise promise, int bound) {
    const bool known = promise != codegen::Promise::Narrow || driver().version >= kNarrowDriver;
    const std::shared_ptr<LoadedKernel> loaded = code.loaded(*this, known ? promise : codegen::Promise::Dense, bound);
    auto& image = dynamic_cast<GpuImage&>(loaded->image());
    const FunctionHandle function = image.function(*this, codegen::entry_symbol(loaded->name()));
    if (code.origin.load(std::memory_order_relaxed) == nullptr) {
        code.origin.store(origin_of(code), std::memory_order_relaxed);
    }
    allow_large_clusters(function, cluster_of(*this, code));
    code.handle(ordinal(), promise, bound).store(function, std::memory_order_release);
    return function;
}

// Threads of dense code may take several items, and then the blocks are others than the user has counted.
FunctionHandle CudaDevice::function(Code& code) {
    const int bound = usual_bound();
    if (!promises_ || cluster_of(*this, code) > 1) return function_of(code, codegen::Promise::None, bound);
    return function_of(code, code.gpu_plan().usual(), bound);
}

void CudaDevice::prepare(Code& code) {
    const Guard guard(*this);
    function(code);
}

int CudaDevice::attribute_of(Code& code, FunctionAttribute number) {
    const Guard guard(*this);
    int value = 0;
    check(driver().cuFuncGetAttribute(&value, number, function(code)), "asking for an attribute of a kernel");
    return value;
}

std::pair<int, int> CudaDevice::suggested_block(Code& code) {
    const Guard guard(*this);
    int grid = 0;
    int block = 0;
    check(driver().cuOccupancyMaxPotentialBlockSize(&grid, &block, function(code), nullptr, 0, 0),
          "asking for a block size");
    return {block, grid};
}

void CudaDevice::launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                        const LaunchOptions& options) {
    const int64_t items = item_count(code, shape);
    if (needs_order(code, arguments, shape)) {
        throw UserError(ErrorKind::Unsupported, "kernel '" + code.name() +
                                                    "' has atomics whose result depends on the order of threads, and "
                                                    "deterministic mode has no order for them on " +
                                                    alias() +
                                                    ": run it on the CPU, or set "
                                                    "warp.config.deterministic to NOT_GUARANTEED");
    }
    const int64_t cluster = cluster_of(*this, code);
    check_clusters(code.name(), cluster, items, options);
    const Guard guard(*this);
    const codegen::GpuLaunch& plan = code.gpu_plan();
    int64_t threads = options.block_dim;
    const bool promises = promises_ && cluster == 1;
    const codegen::Promise promise = promises ? code.promise(arguments, shape, threads) : codegen::Promise::None;
    const bool dense = promise != codegen::Promise::None;
    const int bound = bound_of(threads);
    auto* function =
        static_cast<FunctionHandle>(code.handle(ordinal(), promise, bound).load(std::memory_order_acquire));
    if (function == nullptr) function = function_of(code, promise, bound);
    if (items == 0) return;
    int64_t blocks = std::min(kMaxBlocks, options.max_blocks > 0 ? options.max_blocks : kMaxBlocks);
    const bool takes_all = dense && plan.has_sums;  // its threads go on until no items are left
    if (takes_all) blocks = std::min(blocks, std::max<int64_t>(1, multiprocessors_ * kThreadsForSums / threads));
    blocks -= blocks % cluster;
    const int64_t items_of_thread = dense ? plan.items : 1;
    const int64_t groups = (items + items_of_thread - 1) / items_of_thread;  // of items that a thread takes together
    // Few items wait for memory and not for units: they are spread over all multiprocessors.
    if (plan.free_blocks && !takes_all && cluster == 1 && options.max_blocks == 0 && threads == kDefaultBlock) {
        while (threads > kLeastBlock && groups <= threads * (multiprocessors_ - 1)) threads /= 2;
    }
    auto* stream =
        options.stream != nullptr ? static_cast<StreamHandle>(options.stream) : stream_.load(std::memory_order_acquire);
    int64_t begin = 0;
    const int64_t end = items;
    void* parameters[] = {const_cast<std::byte*>(arguments), const_cast<codegen::LaunchShape*>(&shape), &begin,
                          const_cast<int64_t*>(&end)};
    while (begin < groups) {
        const int64_t grid = std::min(blocks, (groups - begin + threads - 1) / threads);
        const auto grid_x = static_cast<unsigned>(grid);
        const auto block_x = static_cast<unsigned>(threads);
        const Result result =
            cluster > 1
                ? launch_in_clusters(function, static_cast<unsigned>(cluster), grid_x, block_x, stream, parameters)
            : packs_arguments_
                ? launch_packed(function, grid_x, block_x, stream, parameters, static_cast<size_t>(code.block_bytes()))
                : driver().cuLaunchKernel(function, grid_x, 1, 1, block_x, 1, 1, 0, stream, parameters, nullptr);
        if (result != 0) {
            // A context that an earlier kernel has broken answers nothing.
            int most = 0;
            if (driver().cuFuncGetAttribute(&most, kMaxThreads, function) == 0 && threads > most) {
                throw UserError(ErrorKind::Launch, "block_dim is " + std::to_string(threads) +
                                                       ", but this kernel can have blocks of at most " +
                                                       std::to_string(most) + " threads on " + alias());
            }
            const LaunchOrigin& origin = *code.origin.load(std::memory_order_relaxed);
            try {
                check(result, ("launching " + origin.what + " on " + alias()).c_str());
            } catch (const UserError& error) {
                throw is_late(result) ? error : error.at(origin.location());
            }
        }
        begin = takes_all ? groups : begin + (grid * threads);
    }
    note(code, stream);
}

void CudaDevice::note(const Code& code, StreamHandle stream) {
    const LaunchOrigin* origin = code.origin.load(std::memory_order_relaxed);
    if (const std::shared_ptr<GraphMemory> graph = recording()) {
        graph->note(origin);
        return;
    }
    note_launch(origin, ordinal(), stream);
    if (!verifies_launches()) return;
    int captured = 0;
    check(driver().cuStreamIsCapturing(stream, &captured), "asking for a stream");
    if (captured == 0) wait_for(stream, "running the kernel");
}

void CudaDevice::wait_for(StreamHandle stream, const char* what) {
    const WaitedFor launches(ordinal(), stream);
    check(driver().cuStreamSynchronize(stream), what);
    launches.ended();
}

const std::vector<CudaDevice*>& cuda_devices() {
    // Never destroyed.
    static const auto& all = *new std::vector<CudaDevice*>([] {
        std::vector<CudaDevice*> out;
        const Driver* d = find_driver();
        if (d == nullptr) return out;
        try {
            int count = 0;
            check(d->cuDeviceGetCount(&count), "counting the devices");
            for (int i = 0; i < count; ++i) {
                DeviceId id = 0;
                std::array<char, 256> name{};
                check(d->cuDeviceGet(&id, i), "asking for a device");
                check(d->cuDeviceGetName(name.data(), name.size(), id), "asking for the device's name");
                out.push_back(new CudaDevice(id, i, name.data()));
            }
        } catch (const UserError& error) {
            set_driver_problem(error.message());
        }
        return out;
    }());
    return all;
}

CudaDevice* device_of_current_context() {
    Context current = nullptr;
    if (cuda_devices().empty() || driver().cuCtxGetCurrent(&current) != 0 || current == nullptr) return nullptr;
    for (CudaDevice* device : cuda_devices()) {
        if (device->context() == current) return device;
    }
    return nullptr;
}

}  // namespace weft::runtime::cuda
