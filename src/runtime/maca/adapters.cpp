#include "runtime/maca/adapters.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace weft::runtime::maca {

using namespace cuda;

namespace {

constexpr Result kInvalidValue = 1;    // mcErrorInvalidValue
constexpr Result kNotSupported = 801;  // mcErrorNotSupported
constexpr int kToDevice = 1;           // mcMemcpyKind
constexpr int kToHost = 2;
constexpr int kOnDevice = 3;
constexpr int kAnyDirection = 4;
constexpr int kRelaxed = 2;        // mcStreamCaptureMode
constexpr int kMemoryPools = 115;  // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED

// What the adapters call.
struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes none
#define ADAPTED(symbol, parameters) Result(*symbol) parameters = nullptr;
#define OPTIONAL_ADAPTED(symbol, parameters) ADAPTED(symbol, parameters)
#include "runtime/maca/adapted_functions.def"
#undef OPTIONAL_ADAPTED
#undef ADAPTED
    const char* (*mcGetErrorName)(Result) = nullptr;
    const char* (*mcGetErrorString)(Result) = nullptr;
    bool has_pools = false;
};

// Filled once, before the table is used.
Functions g_mc;

void* at(Address address) { return reinterpret_cast<void*>(address); }

// ---- errors ----

Result error_name(Result result, const char** text) {
    *text = g_mc.mcGetErrorName(result);
    return 0;
}

Result error_string(Result result, const char** text) {
    *text = g_mc.mcGetErrorString(result);
    return 0;
}

// ---- devices ----

// Attributes have numbers of their own (mcDeviceAttribute_t); CUDA's that are asked for, and theirs.
struct Attribute {
    int cuda;
    int maca;
};
constexpr std::array<Attribute, 13> kAttributes = {{
    {1, 0},    // threads of a block
    {10, 9},   // lanes of a wave
    {16, 16},  // multiprocessors
    {18, 28},  // integrated
    {39, 19},  // threads of a multiprocessor
    {41, 64},  // unified addressing
    {75, 21},  // major, minor
    {76, 22},
    {83, 50},  // managed memory
    {88, 53},  // pageable access
    {89, 52},  // concurrent managed access
    {97, 7},   // shared memory of a block
    {kMemoryPools, 63},
}};

Result attribute(int* value, int number, DeviceId device) {
    *value = 0;
    if (number == kMemoryPools && !g_mc.has_pools) return 0;
    const auto* found = std::ranges::find(kAttributes, number, &Attribute::cuda);
    if (found == kAttributes.end()) return kInvalidValue;
    return g_mc.mcDeviceGetAttribute(value, found->maca, device);
}

// Whose device a context is.
std::map<Context, DeviceId>& contexts() {
    static auto& instance = *new std::map<Context, DeviceId>;
    return instance;
}
std::mutex g_contexts_mutex;

DeviceId device_of(Context context) {
    const std::lock_guard lock(g_contexts_mutex);
    const auto found = contexts().find(context);
    return found == contexts().end() ? -1 : found->second;
}

// Launches in a context that nothing has initialised kill the process: a call that must do so comes first.
Result retain_context(Context* context, DeviceId device) {
    int before = 0;
    const bool known = g_mc.mcGetDevice != nullptr && g_mc.mcGetDevice(&before) == 0;
    if (const Result result = g_mc.mcSetDevice(device)) return result;
    Result result = g_mc.mcFree(nullptr);
    if (result == 0) result = g_mc.mcDevicePrimaryCtxRetain(context, device);
    if (known && before != device) g_mc.mcSetDevice(before);
    if (result != 0) return result;
    const std::lock_guard lock(g_contexts_mutex);
    contexts()[*context] = device;
    return 0;
}

Result total_memory(size_t* bytes, DeviceId device) {
    if (g_mc.mcDeviceTotalMem != nullptr) return g_mc.mcDeviceTotalMem(bytes, device);
    if (const Result result = g_mc.mcSetDevice(device)) return result;
    size_t free = 0;
    return g_mc.mcMemGetInfo(&free, bytes);
}

Result enable_peer_access(Context peer, unsigned flags) {
    return g_mc.mcDeviceEnablePeerAccess(device_of(peer), flags);
}
Result disable_peer_access(Context peer) { return g_mc.mcDeviceDisablePeerAccess(device_of(peer)); }

// ---- memory ----

Result copy_any(Address to, Address from, size_t bytes, StreamHandle stream) {
    return g_mc.mcMemcpyAsync(at(to), at(from), bytes, kAnyDirection, stream);
}
Result copy_to_device(Address to, const void* from, size_t bytes, StreamHandle stream) {
    return g_mc.mcMemcpyAsync(at(to), from, bytes, kToDevice, stream);
}
Result copy_to_host(void* to, Address from, size_t bytes, StreamHandle stream) {
    return g_mc.mcMemcpyAsync(to, at(from), bytes, kToHost, stream);
}
Result copy_on_device(Address to, Address from, size_t bytes, StreamHandle stream) {
    return g_mc.mcMemcpyAsync(at(to), at(from), bytes, kOnDevice, stream);
}
Result copy_to_peer(Address to, Context to_context, Address from, Context from_context, size_t bytes,
                    StreamHandle stream) {
    return g_mc.mcMemcpyPeerAsync(at(to), device_of(to_context), at(from), device_of(from_context), bytes, stream);
}
Result fill_8(Address to, unsigned char value, size_t count, StreamHandle stream) {
    return g_mc.mcMemsetAsync(at(to), value, count, stream);
}
Result fill_16(Address to, unsigned short value, size_t count, StreamHandle stream) {
    return g_mc.mcMemsetD16Async(at(to), value, count, stream);
}
Result fill_32(Address to, unsigned value, size_t count, StreamHandle stream) {
    return g_mc.mcMemsetD32Async(at(to), static_cast<int>(value), count, stream);
}

// ---- launches ----

// Refuses functions of modules, and need not be asked: shared memory up to the device's bound is there at once.
Result set_function_attribute(FunctionHandle, int, int) { return 0; }

// As many of the largest blocks as the device has room for by its threads. The runtime is not known to say.
Result suggest_block(int* grid, int* block, FunctionHandle function, size_t (*)(int), size_t, int) {
    constexpr int kFunctionThreads = 0;  // MC_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    constexpr int kMultiprocessors = 16;
    constexpr int kThreadsOfMultiprocessor = 39;
    Context context = nullptr;
    int multiprocessors = 0;
    int threads = 0;
    Result result = g_mc.mcFuncGetAttribute(block, kFunctionThreads, function);
    if (result == 0) result = g_mc.mcCtxGetCurrent(&context);
    const DeviceId device = device_of(context);
    if (result == 0) result = attribute(&multiprocessors, kMultiprocessors, device);
    if (result == 0) result = attribute(&threads, kThreadsOfMultiprocessor, device);
    if (result != 0) return result;
    if (*block <= 0) return kInvalidValue;
    *grid = multiprocessors * std::max(1, threads / *block);
    return 0;
}

// ---- streams and events ----

Result make_stream(StreamHandle* stream, unsigned flags, int priority) {
    if (g_mc.mcStreamCreateWithPriority != nullptr) {
        return g_mc.mcStreamCreateWithPriority(stream, flags, priority);
    }
    return g_mc.mcStreamCreateWithFlags(stream, flags);
}

Result stream_priority(StreamHandle stream, int* priority) {
    *priority = 0;
    return g_mc.mcStreamGetPriority != nullptr ? g_mc.mcStreamGetPriority(stream, priority) : 0;
}

Result priority_range(int* least, int* greatest) {
    *least = *greatest = 0;
    const auto ask = g_mc.mcDeviceGetStreamPriorityRange;
    return ask != nullptr ? ask(least, greatest) : 0;
}

// Streams that capture, with the one that was told to: a MACA that cannot be asked follows what it is given. An event
// of such a stream draws those in that wait for it.
struct Captures {
    std::mutex mutex;
    std::map<StreamHandle, StreamHandle> streams;
    std::map<EventHandle, StreamHandle> events;
};
Captures& captures() {
    static Captures& instance = *new Captures;
    return instance;
}

Result record_event(EventHandle event, StreamHandle stream, unsigned flags) {
    if (flags != 0) {
        const auto record = g_mc.mcEventRecordWithFlags;
        return record != nullptr ? record(event, stream, flags) : kNotSupported;
    }
    const Result result = g_mc.mcEventRecord(event, stream);
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    all.events.erase(event);
    const auto found = all.streams.find(stream);
    if (result == 0 && found != all.streams.end()) all.events[event] = found->second;
    return result;
}

Result wait_for_event(StreamHandle stream, EventHandle event, unsigned flags) {
    const Result result = g_mc.mcStreamWaitEvent(stream, event, flags);
    Captures& all = captures();
    const std::lock_guard lock(all.mutex);
    const auto found = all.events.find(event);
    if (result == 0 && found != all.events.end()) all.streams.emplace(stream, found->second);
    return result;
}

Result destroy_event(EventHandle event) {
    {
        const std::lock_guard lock(captures().mutex);
        captures().events.erase(event);
    }
    return g_mc.mcEventDestroy(event);
}

// ---- graphs ----

// What goes on beside a capture needs another mode where no thread can change its own.
Result begin_capture(StreamHandle stream, int mode) {
    const bool exchanges = g_mc.mcThreadExchangeStreamCaptureMode != nullptr;
    const Result result = g_mc.mcStreamBeginCapture(stream, exchanges ? mode : kRelaxed);
    if (result == 0) {
        const std::lock_guard lock(captures().mutex);
        captures().streams[stream] = stream;
    }
    return result;
}

Result end_capture(StreamHandle stream, GraphHandle* graph) {
    {
        const std::lock_guard lock(captures().mutex);
        const auto is_of = [&](const auto& entry) { return entry.second == stream; };
        std::erase_if(captures().streams, is_of);
        std::erase_if(captures().events, is_of);
    }
    return g_mc.mcStreamEndCapture(stream, graph);
}

Result is_capturing(StreamHandle stream, int* status) {
    if (g_mc.mcStreamIsCapturing != nullptr) return g_mc.mcStreamIsCapturing(stream, status);
    const std::lock_guard lock(captures().mutex);
    *status = captures().streams.contains(stream) ? 1 : 0;
    return 0;
}

Result exchange_capture_mode(int* mode) {
    return g_mc.mcThreadExchangeStreamCaptureMode != nullptr ? g_mc.mcThreadExchangeStreamCaptureMode(mode) : 0;
}

// What CUDA's flags ask for, that a launch frees what the last one left, concerns allocations by nodes: there are none.
Result instantiate(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
    NodeHandle error = nullptr;
    std::array<char, 256> log{};
    return g_mc.mcGraphInstantiate(exec, graph, &error, log.data(), log.size());
}

}  // namespace

std::string adapt(void* library, Driver& table) {
    Functions& f = g_mc;
    std::string missing;
    const auto find = [&](const char* symbol, bool required) {
        void* found = dlsym(library, symbol);
        if (found == nullptr && required && missing.empty()) missing = symbol;
        return found;
    };
#define ADAPTED(symbol, parameters) f.symbol = reinterpret_cast<decltype(f.symbol)>(find(#symbol, true));
#define OPTIONAL_ADAPTED(symbol, parameters) f.symbol = reinterpret_cast<decltype(f.symbol)>(find(#symbol, false));
#include "runtime/maca/adapted_functions.def"
#undef OPTIONAL_ADAPTED
#undef ADAPTED
    f.mcGetErrorName = reinterpret_cast<decltype(f.mcGetErrorName)>(find("mcGetErrorName", true));
    f.mcGetErrorString = reinterpret_cast<decltype(f.mcGetErrorString)>(find("mcGetErrorString", true));
    f.has_pools = find("mcMallocAsync", false) != nullptr && find("mcFreeAsync", false) != nullptr &&
                  find("mcDeviceGetDefaultMemPool", false) != nullptr;

    table.cuGetErrorName = error_name;
    table.cuGetErrorString = error_string;
    table.cuDeviceGetAttribute = attribute;
    table.cuDeviceTotalMem = total_memory;
    table.cuDevicePrimaryCtxRetain = retain_context;
    if (f.mcDeviceEnablePeerAccess != nullptr) table.cuCtxEnablePeerAccess = enable_peer_access;
    if (f.mcDeviceDisablePeerAccess != nullptr) table.cuCtxDisablePeerAccess = disable_peer_access;
    table.cuMemcpyAsync = copy_any;
    table.cuMemcpyHtoDAsync = copy_to_device;
    table.cuMemcpyDtoHAsync = copy_to_host;
    table.cuMemcpyDtoDAsync = copy_on_device;
    if (f.mcMemcpyPeerAsync != nullptr) table.cuMemcpyPeerAsync = copy_to_peer;
    table.cuMemsetD8Async = fill_8;
    if (f.mcMemsetD16Async != nullptr) table.cuMemsetD16Async = fill_16;
    if (f.mcMemsetD32Async != nullptr) table.cuMemsetD32Async = fill_32;
    table.cuFuncSetAttribute = set_function_attribute;
    if (f.mcFuncGetAttribute != nullptr) table.cuOccupancyMaxPotentialBlockSize = suggest_block;
    table.cuStreamCreateWithPriority = make_stream;
    table.cuStreamGetPriority = stream_priority;
    table.cuCtxGetStreamPriorityRange = priority_range;
    table.cuEventRecordWithFlags = record_event;
    table.cuStreamWaitEvent = wait_for_event;
    table.cuEventDestroy = destroy_event;
    table.cuStreamIsCapturing = is_capturing;
    table.cuThreadExchangeStreamCaptureMode = exchange_capture_mode;
    if (f.mcStreamBeginCapture != nullptr) table.cuStreamBeginCapture = begin_capture;
    if (f.mcStreamEndCapture != nullptr) table.cuStreamEndCapture = end_capture;
    if (f.mcGraphInstantiate != nullptr) table.cuGraphInstantiate = instantiate;
    return missing;
}

}  // namespace weft::runtime::maca
