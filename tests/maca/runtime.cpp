// A stand-in for MACA's runtime (libmcruntime.so), for tests on machines without a MetaX GPU: a C500 whose memory is
// the host's and whose kernels are host code that mxcc, beside this file, has made. It keeps account of what is alive,
// fails where a test wants it to, and has no more functions than are known of the real one.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "maca/blocks.h"
#include "maca/streams.h"

namespace fake_maca {

using fake::enter;
using fake::enter_late;
using fake::state;

namespace {

constexpr size_t kTotal = size_t{64} << 30;
constexpr unsigned kSharedBytes = 65536;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kUsualBound = 512;

int number_of(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
}

int device_count() { return number_of("FAKE_MACA_DEVICES", 1); }

// Whether the device has a context: mcFree(0) makes it, or the first allocation.
std::array<bool, 64>& initialised() {
    static std::array<bool, 64> all{};
    return all;
}

thread_local int t_device = 0;
// Contexts are the addresses of these.
std::array<char, 64> g_contexts;

struct Block {
    size_t bytes;
    const char* kind;  // "memory", "pinned"
    bool managed;
    bool pool;
};
std::map<char*, Block>& blocks() {
    static auto& instance = *new std::map<char*, Block>;
    return instance;
}

// New memory holds what nobody should take for zeros.
Result allocate(const char* function, void** memory, size_t bytes, Block block) {
    if (const Result result = enter_late(function)) return result;
    if (bytes > kTotal) return kOutOfMemory;
    constexpr size_t kAlignment = 256;
    *memory = std::aligned_alloc(kAlignment, std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
    if (*memory == nullptr) return kOutOfMemory;
    std::memset(*memory, 0xcd, std::min(bytes, size_t{1} << 20));
    initialised().at(static_cast<size_t>(t_device)) = true;
    block.bytes = bytes;
    const std::lock_guard lock(state().mutex);
    state().alive[block.kind].insert(*memory);
    blocks()[static_cast<char*>(*memory)] = block;
    return 0;
}

void release(const char* kind, void* memory) {
    {
        const std::lock_guard lock(state().mutex);
        blocks().erase(static_cast<char*>(memory));
    }
    if (fake::forget(kind, memory)) std::free(memory);
}

}  // namespace

extern "C" {

// ---- the runtime and its devices ----

Result mcInit(unsigned) {
    fake::read_failures("FAKE_MACA_FAILURES");
    return enter("mcInit");
}

Result mcDriverGetVersion(int* version) {
    *version = 30700;
    return enter("mcDriverGetVersion");
}

const char* mcGetErrorName(Result result) {
    static const std::map<Result, const char*> names = {
        {1, "mcErrorInvalidValue"},         {2, "mcErrorMemoryAllocation"},          {100, "mcErrorNoDevice"},
        {200, "mcErrorInvalidKernelImage"}, {700, "mcErrorIllegalAddress"},          {719, "mcErrorLaunchFailure"},
        {801, "mcErrorNotSupported"},       {901, "mcErrorStreamCaptureInvalidated"}};
    const auto found = names.find(result);
    return found == names.end() ? "mcErrorUnknown" : found->second;
}

const char* mcGetErrorString(Result result) {
    static const std::map<Result, const char*> texts = {
        {1, "invalid argument"},
        {2, "out of memory"},
        {100, "no MACA-capable device is detected"},
        {200, "device kernel image is invalid"},
        {700, "an illegal memory access was encountered"},
        {719, "unspecified launch failure"},
        {801, "operation not supported"},
        {901, "operation failed due to a previous error during capture"}};
    const auto found = texts.find(result);
    return found == texts.end() ? "unknown error" : found->second;
}

Result mcGetDeviceCount(int* count) {
    *count = device_count();
    return enter("mcGetDeviceCount");
}

Result mcDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return enter("mcDeviceGet");
}

Result mcDeviceGetName(char* name, int length, int) {
    std::snprintf(name, static_cast<size_t>(length), "MetaX C500");
    return enter("mcDeviceGetName");
}

Result mcDeviceGetUuid(unsigned char* uuid, int device) {
    for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(16 * device + i);
    return enter("mcDeviceGetUuid");
}

Result mcDeviceGetPCIBusId(char* text, int length, int device) {
    std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
    return enter("mcDeviceGetPCIBusId");
}

Result mcDeviceGetAttribute(int* value, int attribute, int) {
    const std::map<int, int> values = {{0, 1024},
                                       {7, 65536},
                                       {9, number_of("FAKE_MACA_LANES", kLanes)},
                                       {10, 64},
                                       {16, 104},
                                       {19, 2048},
                                       {21, number_of("FAKE_MACA_MAJOR", 10)},
                                       {22, 2},
                                       {50, 1},
                                       {63, 1},
                                       {64, 1}};
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return enter("mcDeviceGetAttribute");
}

Result mcSetDevice(int device) {
    if (const Result result = enter("mcSetDevice")) return result;
    t_device = device;
    return 0;
}

Result mcGetDevice(int* device) {
    *device = t_device;
    return enter("mcGetDevice");
}

Result mcMemGetInfo(size_t* free, size_t* total) {
    *free = *total = kTotal;
    return enter_late("mcMemGetInfo");
}

Result mcDeviceSetLimit(int, size_t) { return enter("mcDeviceSetLimit"); }

// ---- contexts: each thread has a current device, whose context it is ----

Result mcDevicePrimaryCtxRetain(void** context, int device) {
    if (const Result result = enter("mcDevicePrimaryCtxRetain")) return result;
    *context = &g_contexts.at(static_cast<size_t>(device));
    return 0;
}

thread_local void* t_context = nullptr;

Result mcCtxGetCurrent(void** context) {
    *context = t_context;
    return enter("mcCtxGetCurrent");
}

Result mcCtxSetCurrent(void* context) {
    if (const Result result = enter("mcCtxSetCurrent")) return result;
    t_context = context;
    if (context != nullptr) t_device = static_cast<int>(static_cast<char*>(context) - g_contexts.data());
    return 0;
}

Result mcDeviceCanAccessPeer(int* can, int, int) {
    *can = 1;
    return enter("mcDeviceCanAccessPeer");
}
Result mcDeviceEnablePeerAccess(int peer, unsigned) {
    if (const Result result = enter("mcDeviceEnablePeerAccess")) return result;
    return peer < 0 || peer >= device_count() || peer == t_device ? kInvalidValue : 0;
}
Result mcDeviceDisablePeerAccess(int peer) {
    if (const Result result = enter("mcDeviceDisablePeerAccess")) return result;
    return peer < 0 || peer >= device_count() || peer == t_device ? kInvalidValue : 0;
}

// ---- memory ----

Result mcMalloc(void** memory, size_t bytes) {
    if (capture_forbids()) return kCaptureUnsupported;
    return allocate("mcMalloc", memory, bytes, {0, "memory", false, false});
}
Result mcMallocManaged(void** memory, size_t bytes, unsigned) {
    return allocate("mcMallocManaged", memory, bytes, {0, "memory", true, false});
}
Result mcMallocHost(void** memory, size_t bytes, unsigned) {
    return allocate("mcMallocHost", memory, bytes, {0, "pinned", false, false});
}
Result mcMallocAsync(void** memory, size_t bytes, Stream* stream) {
    {
        const std::lock_guard lock(state().mutex);
        if (stream != nullptr && stream->capture != nullptr) return kNotSupported;
    }
    return allocate("mcMallocAsync", memory, bytes, {0, "memory", false, true});
}

Result mcFree(void* memory) {
    if (const Result result = enter("mcFree")) return result;
    if (capture_forbids()) return kCaptureUnsupported;
    if (memory == nullptr) {
        initialised().at(static_cast<size_t>(t_device)) = true;
        return 0;
    }
    wait_for_all();
    release("memory", memory);
    return 0;
}
Result mcFreeHost(void* memory) {
    const Result result = enter("mcFreeHost");
    wait_for_all();
    release("pinned", memory);
    return result;
}
Result mcFreeAsync(void* memory, Stream* stream) {
    const Result result = enter("mcFreeAsync");
    give(stream, [memory] { release("memory", memory); });
    return result;
}

Result mcDeviceGetDefaultMemPool(void** pool, int device) {
    if (const Result result = enter("mcDeviceGetDefaultMemPool")) return result;
    *pool = &g_contexts.at(static_cast<size_t>(device));
    return 0;
}
Result mcMemPoolSetAttribute(void*, int, void*) { return enter("mcMemPoolSetAttribute"); }
Result mcMemPoolGetAttribute(void*, int, void* value) {
    *static_cast<uint64_t*>(value) = 0;
    return enter("mcMemPoolGetAttribute");
}

Result mcPointerGetAttribute(void* value, int attribute, char* memory) {
    constexpr int kMemoryType = 2;
    constexpr int kIsManaged = 8;
    constexpr int kPoolHandle = 17;
    if (const Result result = enter("mcPointerGetAttribute")) return result;
    const std::lock_guard lock(state().mutex);
    auto found = blocks().upper_bound(memory);
    if (found == blocks().begin()) return kInvalidValue;
    --found;
    if (memory >= found->first + std::max<size_t>(1, found->second.bytes)) return kInvalidValue;
    const Block& block = found->second;
    switch (attribute) {
        case kMemoryType:
            *static_cast<int*>(value) = std::strcmp(block.kind, "pinned") == 0 ? 1 : 2;
            return 0;
        case kIsManaged:
            *static_cast<int*>(value) = block.managed ? 1 : 0;
            return 0;
        case kPoolHandle:
            *static_cast<void**>(value) = block.pool ? g_contexts.data() : nullptr;
            return 0;
        default:
            return kInvalidValue;
    }
}

Result mcMemcpyAsync(void* to, const void* from, size_t bytes, int kind, Stream* stream) {
    constexpr std::array kNames = {"mcMemcpyHostToHost", "mcMemcpyHostToDevice", "mcMemcpyDeviceToHost",
                                   "mcMemcpyDeviceToDevice", "mcMemcpyDefault"};
    if (kind < 0 || kind >= static_cast<int>(kNames.size())) return kInvalidValue;
    if (const Result result = enter_late(kNames.at(static_cast<size_t>(kind)))) return result;
    return give(stream, [=] { std::memmove(to, from, bytes); });
}
Result mcMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, Stream* stream) {
    if (const Result result = enter_late("mcMemcpyPeerAsync")) return result;
    return give(stream, [=] { std::memmove(to, from, bytes); });
}
Result mcMemsetAsync(void* to, int value, size_t bytes, Stream* stream) {
    if (const Result result = enter_late("mcMemsetAsync")) return result;
    return give(stream, [=] { std::memset(to, value, bytes); });
}
Result mcMemsetD32Async(void* to, int value, size_t count, Stream* stream) {
    if (const Result result = enter_late("mcMemsetD32Async")) return result;
    return give(stream, [=] { std::fill_n(static_cast<int*>(to), count, value); });
}
}

// ---- code ----

namespace {

struct Module {
    void* library;
};

}  // namespace

extern "C" {

// The image is a shared library of the host. A copy is opened: the same image may be loaded twice.
Result mcModuleLoadData(Module** module, const char* image) {
    if (const Result result = enter_late("mcModuleLoadData")) return result;
    if (capture_forbids()) return kCaptureUnsupported;
    if (std::memcmp(image, "\177ELF", 4) != 0) return kInvalidKernelImage;
    // As long as its header says: section headers lie at the end.
    uint64_t sections = 0;
    uint16_t size = 0;
    uint16_t count = 0;
    std::memcpy(&sections, image + 0x28, sizeof(sections));
    std::memcpy(&size, image + 0x3a, sizeof(size));
    std::memcpy(&count, image + 0x3c, sizeof(count));
    std::string path = "/tmp/fake-maca-XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) return kInvalidKernelImage;
    const size_t bytes = sections + size_t{size} * count;
    const bool written = write(file, image, bytes) == static_cast<ssize_t>(bytes);
    close(file);
    void* library = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (library == nullptr) std::fprintf(stderr, "MACA stand-in: %s\n", dlerror());
    unlink(path.c_str());
    if (library == nullptr) return kInvalidKernelImage;
    *static_cast<const Services**>(dlsym(library, "fake_maca_services")) = &services();
    *module = new Module{library};
    const std::lock_guard lock(state().mutex);
    state().alive["module"].insert(*module);
    return 0;
}

Result mcModuleUnload(Module* module) {
    const Result result = enter("mcModuleUnload");
    if (!fake::forget("module", module)) return kInvalidValue;
    dlclose(module->library);
    delete module;
    return result;
}

Result mcModuleGetFunction(const Kernel** function, Module* module, const char* name) {
    if (const Result result = enter("mcModuleGetFunction")) return result;
    *function = static_cast<const Kernel*>(dlsym(module->library, ("fake_maca_kernel_" + std::string(name)).c_str()));
    return *function != nullptr ? 0 : kSymbolNotFound;
}

Result mcModuleGetGlobal(void** address, size_t* bytes, Module* module, const char* name) {
    if (const Result result = enter("mcModuleGetGlobal")) return result;
    auto* variable = static_cast<void**>(dlsym(module->library, ("fake_maca_variable_" + std::string(name)).c_str()));
    if (variable == nullptr) return kSymbolNotFound;
    *address = *variable;
    *bytes = sizeof(void*);
    return 0;
}

Result mcFuncGetAttribute(int* value, int attribute, const Kernel* function) {
    const std::map<int, int> values = {{0, function->bound > 0 ? function->bound : static_cast<int>(kMaxThreads)},
                                       {4, 32}};
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return enter("mcFuncGetAttribute");
}

// Parameters are copied now, as they may change once this has returned. FAKE_MACA_ARGUMENTS: the only form ("extra",
// "parameters") that is taken.
Result mcModuleLaunchKernel(const Kernel* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream* stream,
                            void** parameters, void** extra) {
    if (const Result result = enter_late("mcModuleLaunchKernel")) return result;
    const char* form = std::getenv("FAKE_MACA_ARGUMENTS");
    if (form != nullptr && (std::strcmp(form, "extra") == 0 ? extra == nullptr : parameters == nullptr))
        return kInvalidValue;
    if (!initialised().at(static_cast<size_t>(t_device)) || t_context == nullptr) return kUninitialized;
    const unsigned threads = block_x * block_y * block_z;
    if (threads == 0 || grid_x * grid_y * grid_z == 0) return kInvalidConfiguration;
    const unsigned bound = function->bound > 0 ? static_cast<unsigned>(function->bound) : kUsualBound;
    if (threads > kMaxThreads || shared_bytes > kSharedBytes) return kInvalidValue;
    if (threads > bound) enter("recompiled");

    std::vector<std::vector<char>> values;
    size_t offset = 0;
    for (size_t i = 0; i < function->count; ++i) {
        const size_t alignment = function->alignments[i];
        offset = (offset + alignment - 1) / alignment * alignment;
        const char* from = parameters != nullptr ? static_cast<const char*>(parameters[i])
                                                 : static_cast<const char*>(extra[1]) + offset;
        values.emplace_back(from, from + function->sizes[i]);
        offset += function->sizes[i];
    }
    if (parameters == nullptr && *static_cast<const size_t*>(extra[3]) != offset) return kInvalidValue;
    {
        const std::lock_guard lock(state().mutex);
        const std::array<unsigned, 3> sizes = {grid_x, threads, 1};
        std::ranges::copy(sizes, state().last_launch);
    }
    return give(stream, [=, values = std::move(values)]() mutable {
        std::vector<void*> addresses;
        for (std::vector<char>& value : values) addresses.push_back(value.data());
        const int failure =
            run_grid(*function, addresses.data(), {grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
        const std::lock_guard lock(state().mutex);
        fake::count_launch();
        if (failure != 0) state().error = failure;
    });
}
}

}  // namespace fake_maca
