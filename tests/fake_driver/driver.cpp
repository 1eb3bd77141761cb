// A stand-in for NVIDIA's driver, for tests on machines without a GPU: memory is the host's, copies and fills are done
// at once, kernels do nothing. It keeps account of what is alive, and fails where a test wants it to.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "fake_driver/state.h"

#define DRIVER(name, symbol, parameters) extern "C" weft::runtime::cuda::Result name parameters __asm__(symbol);
#define OPTIONAL(name, symbol, parameters) DRIVER(name, symbol, parameters)
namespace weft::runtime::cuda {
#include "runtime/cuda/driver_functions.def"
}
#undef OPTIONAL
#undef DRIVER

namespace fake {

using namespace weft::runtime::cuda;

namespace {

template <typename Handle>
Result make(const char* function, const char* kind, Handle* handle) {
    void* object = nullptr;
    const Result result = fake::make(function, kind, &object);
    if (result == 0) *handle = static_cast<Handle>(object);
    return result;
}

Result allocate(const char* function, const char* kind, void** memory, size_t bytes) {
    if (const Result result = enter_late(function)) return result;
    *memory = std::malloc(bytes);
    const std::lock_guard lock(state().mutex);
    state().alive[kind].insert(*memory);
    return 0;
}

Result allocate(const char* function, const char* kind, Address* memory, size_t bytes) {
    void* block = nullptr;
    const Result result = allocate(function, kind, &block, bytes);
    if (result == 0) *memory = reinterpret_cast<Address>(block);
    return result;
}

void* at(Address address) { return reinterpret_cast<void*>(address); }

std::map<StreamHandle, GraphHandle>& captures() {
    static auto& instance = *new std::map<StreamHandle, GraphHandle>;
    return instance;
}
}  // namespace

bool is_captured(StreamHandle stream) {
    const std::lock_guard lock(state().mutex);
    return captures().contains(stream);
}

namespace {

Result copy(const char* function, void* to, const void* from, size_t bytes, StreamHandle stream) {
    if (const Result result = enter_late(function)) return result;
    if (!is_captured(stream)) std::memmove(to, from, bytes);
    return 0;
}

}  // namespace
}  // namespace fake

namespace weft::runtime::cuda {

using namespace fake;

// ---- the driver and its devices ----

Result cuDriverGetVersion(int* version) {
    const char* wanted = std::getenv("FAKE_CUDA_VERSION");
    *version = wanted != nullptr ? std::atoi(wanted) : state().version;
    return enter("cuDriverGetVersion");
}

Result cuInit(unsigned) {
    read_failures("FAKE_CUDA_FAILURES");
    return enter("cuInit");
}

Result cuGetErrorName(Result result, const char** text) {
    static const std::map<Result, const char*> names = {{2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                        {100, "CUDA_ERROR_NO_DEVICE"},
                                                        {218, "CUDA_ERROR_INVALID_PTX"},
                                                        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                        {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}};
    const auto found = names.find(result);
    *text = found == names.end() ? "CUDA_ERROR_UNKNOWN" : found->second;
    return 0;
}

Result cuGetErrorString(Result result, const char** text) {
    static const std::map<Result, const char*> texts = {
        {2, "out of memory"},
        {100, "no CUDA-capable device is detected"},
        {218, "a PTX JIT compilation failed"},
        {700, "an illegal memory access was encountered"},
        {901, "operation failed due to a previous error during capture"}};
    const auto found = texts.find(result);
    *text = found == texts.end() ? "unknown error" : found->second;
    return 0;
}

Result cuDeviceGetCount(int* count) {
    *count = state().devices;
    return enter("cuDeviceGetCount");
}

Result cuDeviceGet(DeviceId* device, int ordinal) {
    *device = ordinal;
    return enter("cuDeviceGet");
}

Result cuDeviceGetName(char* name, int length, DeviceId) {
    std::snprintf(name, static_cast<size_t>(length), "Fake GPU");
    return enter("cuDeviceGetName");
}

Result cuDeviceGetAttribute(int* value, int attribute, DeviceId) {
    static const std::map<int, int> values = {{10, 32}, {16, 4}, {41, 1}, {75, 8}, {76, 6}, {83, 1}, {115, 1}};
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    const char* architecture = std::getenv("FAKE_CUDA_ARCHITECTURE");  // 90 for sm_90
    if (architecture != nullptr && attribute == 75) *value = std::atoi(architecture) / 10;
    if (architecture != nullptr && attribute == 76) *value = std::atoi(architecture) % 10;
    return enter("cuDeviceGetAttribute");
}

Result cuDeviceTotalMem(size_t* bytes, DeviceId) {
    *bytes = size_t{1} << 30;
    return enter("cuDeviceTotalMem");
}

Result cuMemGetInfo(size_t* free, size_t* total) {
    *free = *total = size_t{1} << 30;
    return enter_late("cuMemGetInfo");
}

// ---- contexts ----

namespace {
thread_local Context current = nullptr;
}

Result cuDevicePrimaryCtxRetain(Context* context, DeviceId device) {
    static int contexts[64];
    if (const Result result = enter("cuDevicePrimaryCtxRetain")) return result;
    *context = reinterpret_cast<Context>(&contexts[device]);
    return 0;
}

Result cuCtxGetCurrent(Context* context) {
    *context = current;
    return enter("cuCtxGetCurrent");
}

Result cuCtxSetCurrent(Context context) {
    if (const Result result = enter("cuCtxSetCurrent")) return result;
    current = context;
    return 0;
}

Result cuCtxSynchronize() { return enter_late("cuCtxSynchronize"); }

// ---- memory ----

Result cuMemAlloc(Address* memory, size_t bytes) { return allocate("cuMemAlloc", "memory", memory, bytes); }
Result cuMemAllocAsync(Address* memory, size_t bytes, StreamHandle) {
    return allocate("cuMemAllocAsync", "memory", memory, bytes);
}
Result cuMemAllocManaged(Address* memory, size_t bytes, unsigned) {
    return allocate("cuMemAllocManaged", "memory", memory, bytes);
}
Result cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
    return allocate("cuMemHostAlloc", "pinned", memory, bytes);
}
Result cuMemFree(Address memory) { return destroy("cuMemFree", "memory", at(memory)); }
Result cuMemFreeAsync(Address memory, StreamHandle) { return destroy("cuMemFreeAsync", "memory", at(memory)); }
Result cuMemFreeHost(void* memory) { return destroy("cuMemFreeHost", "pinned", memory); }

Result cuDeviceGetDefaultMemPool(PoolHandle* pool, DeviceId) {
    static int pools;
    *pool = reinterpret_cast<PoolHandle>(&pools);
    return enter("cuDeviceGetDefaultMemPool");
}

Result cuPointerGetAttribute(void*, int, Address) {
    enter("cuPointerGetAttribute");
    return 1;  // not memory of the driver's
}

Result cuMemcpyAsync(Address to, Address from, size_t bytes, StreamHandle stream) {
    return copy("cuMemcpyAsync", at(to), at(from), bytes, stream);
}
Result cuMemcpyHtoDAsync(Address to, const void* from, size_t bytes, StreamHandle stream) {
    return copy("cuMemcpyHtoDAsync", at(to), from, bytes, stream);
}
Result cuMemcpyDtoHAsync(void* to, Address from, size_t bytes, StreamHandle stream) {
    return copy("cuMemcpyDtoHAsync", to, at(from), bytes, stream);
}
Result cuMemcpyDtoDAsync(Address to, Address from, size_t bytes, StreamHandle stream) {
    return copy("cuMemcpyDtoDAsync", at(to), at(from), bytes, stream);
}

Result cuMemsetD8Async(Address to, unsigned char value, size_t count, StreamHandle stream) {
    if (const Result result = enter_late("cuMemsetD8Async")) return result;
    if (!is_captured(stream)) std::memset(at(to), value, count);
    return 0;
}

Result cuMemsetD32Async(Address to, unsigned value, size_t count, StreamHandle stream) {
    if (const Result result = enter_late("cuMemsetD32Async")) return result;
    for (size_t i = 0; i < count && !is_captured(stream); ++i)
        std::memcpy(static_cast<char*>(at(to)) + (4 * i), &value, 4);
    return 0;
}

// ---- code and launches ----

Result cuLinkCreate(unsigned, int*, void**, LinkHandle* link) { return make("cuLinkCreate", "link", link); }
Result cuLinkDestroy(LinkHandle link) { return destroy("cuLinkDestroy", "link", link); }
Result cuLinkComplete(LinkHandle, void** cubin, size_t* bytes) {
    static char code[] = "code";
    *cubin = code;
    *bytes = sizeof(code);
    return enter("cuLinkComplete");
}
Result cuModuleLoadData(ModuleHandle* module, const void*) { return make("cuModuleLoadData", "module", module); }
Result cuModuleUnload(ModuleHandle module) { return destroy("cuModuleUnload", "module", module); }
Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char*) {
    if (const Result result = enter("cuModuleGetFunction")) return result;
    *function = reinterpret_cast<FunctionHandle>(module);
    return 0;
}
Result cuModuleGetGlobal(Address* address, size_t* bytes, ModuleHandle, const char*) {
    static Address place;
    if (const Result result = enter("cuModuleGetGlobal")) return result;
    *address = reinterpret_cast<Address>(&place);
    *bytes = sizeof(place);
    return 0;
}
Result cuFuncGetAttribute(int* value, int, FunctionHandle) {
    *value = 1024;
    return enter("cuFuncGetAttribute");
}

Result cuFuncSetAttribute(FunctionHandle, int attribute, int) {
    if (attribute == 14) state().largest_cluster = 16;
    return enter("cuFuncSetAttribute");
}

Result cuOccupancyMaxPotentialClusterSize(int* blocks, FunctionHandle, const LaunchConfiguration*) {
    *blocks = state().largest_cluster;
    return enter("cuOccupancyMaxPotentialClusterSize");
}

namespace {

Result launch(const char* function, unsigned grid, unsigned block, unsigned cluster, StreamHandle stream) {
    if (const Result result = enter_late(function)) return result;
    const std::lock_guard lock(state().mutex);
    const unsigned sizes[] = {grid, block, cluster};
    std::copy(std::begin(sizes), std::end(sizes), state().last_launch);
    if (!captures().contains(stream)) count_launch();
    return 0;
}

}  // namespace

Result cuLaunchKernel(FunctionHandle, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned, unsigned,
                      StreamHandle stream, void**, void**) {
    return launch("cuLaunchKernel", grid, block, 1, stream);
}

Result cuLaunchKernelEx(const LaunchConfiguration* c, FunctionHandle, void**, void**) {
    const bool clusters = c->attribute_count == 1 && c->attributes->kind == 4;
    return launch("cuLaunchKernelEx", c->grid[0], c->block[0], clusters ? c->attributes->cluster[0] : 0, c->stream);
}

// ---- streams and events ----

Result cuStreamCreateWithPriority(StreamHandle* stream, unsigned, int) {
    return make("cuStreamCreateWithPriority", "stream", stream);
}
Result cuStreamDestroy(StreamHandle stream) { return destroy("cuStreamDestroy", "stream", stream); }
Result cuStreamSynchronize(StreamHandle) { return enter_late("cuStreamSynchronize"); }
Result cuStreamQuery(StreamHandle) { return enter_late("cuStreamQuery"); }
Result cuEventCreate(EventHandle* event, unsigned) { return make("cuEventCreate", "event", event); }
Result cuEventDestroy(EventHandle event) { return destroy("cuEventDestroy", "event", event); }
Result cuEventQuery(EventHandle) { return enter_late("cuEventQuery"); }
Result cuEventSynchronize(EventHandle) { return enter_late("cuEventSynchronize"); }
Result cuEventRecordWithFlags(EventHandle, StreamHandle, unsigned) { return enter_late("cuEventRecordWithFlags"); }

// ---- graphs ----

Result cuStreamBeginCapture(StreamHandle stream, int) {
    GraphHandle graph = nullptr;
    if (const Result result = make("cuStreamBeginCapture", "graph", &graph)) return result;
    const std::lock_guard lock(state().mutex);
    captures()[stream] = graph;
    return 0;
}

// Like the driver, it ends the capture even where that fails; there is no graph then.
Result cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
    const Result result = enter("cuStreamEndCapture");
    GraphHandle made = nullptr;
    {
        const std::lock_guard lock(state().mutex);
        const auto found = captures().find(stream);
        if (found == captures().end()) return 1;
        made = found->second;
        captures().erase(found);
    }
    *graph = result == 0 ? made : nullptr;
    if (result != 0 && forget("graph", made)) std::free(made);
    return result;
}

Result cuStreamIsCapturing(StreamHandle stream, int* status) {
    *status = is_captured(stream) ? 1 : 0;
    return enter("cuStreamIsCapturing");
}

Result cuGraphInstantiate(GraphExecHandle* exec, GraphHandle, unsigned long long) {
    return make("cuGraphInstantiate", "exec", exec);
}
Result cuGraphLaunch(GraphExecHandle, StreamHandle) { return enter_late("cuGraphLaunch"); }
Result cuGraphExecDestroy(GraphExecHandle exec) { return destroy("cuGraphExecDestroy", "exec", exec); }
Result cuGraphDestroy(GraphHandle graph) { return destroy("cuGraphDestroy", "graph", graph); }

}  // namespace weft::runtime::cuda
