#include "runtime/cuda/device_memory.h"

#include <cstring>

#include "base/error.h"

namespace weft::runtime::cuda {
namespace {

constexpr int kDeviceLocation = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kNoAccess = 0;        // CUmemAccess_flags
constexpr int kReadAndWrite = 3;
constexpr Result kAlreadyEnabled = 704;  // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
constexpr Result kNotEnabled = 705;
constexpr int kMemoryType = 2;  // CUpointer_attribute
constexpr int kIsManaged = 8;
constexpr int kPoolHandle = 17;
constexpr int kHostMemory = 1;           // CUmemorytype
constexpr unsigned kAttachGlobal = 1;    // of managed memory
constexpr unsigned kPortable = 1;        // of pinned memory
constexpr unsigned kLazyPeerAccess = 1;  // of opened memory

PoolHandle pool_of(CudaDevice& device) {
    if (device.attribute(CudaDevice::kMemoryPools) == 0) {
        throw UserError(ErrorKind::Runtime, "Device " + device.alias() + " does not support memory pools");
    }
    PoolHandle pool = nullptr;
    check(driver().cuDeviceGetDefaultMemPool(&pool, device.id()), "asking for the memory pool");
    return pool;
}

IpcHandle to_handle(const std::string& bytes) {
    IpcHandle out{};
    if (bytes.size() != sizeof(out.bytes)) {
        throw UserError(ErrorKind::Value,
                        "a handle of another process has 64 bytes, found " + std::to_string(bytes.size()));
    }
    std::memcpy(out.bytes, bytes.data(), sizeof(out.bytes));
    return out;
}

}  // namespace

uint64_t pool_attribute(CudaDevice& device, PoolAttribute attribute) {
    uint64_t value = 0;
    check(driver().cuMemPoolGetAttribute(pool_of(device), static_cast<int>(attribute), &value),
          "asking for an attribute of the memory pool");
    return value;
}

void set_pool_attribute(CudaDevice& device, PoolAttribute attribute, uint64_t value) {
    check(driver().cuMemPoolSetAttribute(pool_of(device), static_cast<int>(attribute), &value),
          "setting an attribute of the memory pool");
}

bool can_access(CudaDevice& device, CudaDevice& peer) {
    if (&device == &peer) return true;
    int can = 0;
    check(driver().cuDeviceCanAccessPeer(&can, device.id(), peer.id()), "asking for access to another device");
    return can != 0;
}

bool has_pool_access(CudaDevice& device, CudaDevice& peer) {
    if (&device == &peer) return true;
    const PoolLocation location = {kDeviceLocation, device.id()};
    int flags = 0;
    check(driver().cuMemPoolGetAccess(&flags, pool_of(peer), &location), "asking for access to a memory pool");
    return flags != kNoAccess;
}

void set_pool_access(CudaDevice& device, CudaDevice& peer, bool enable) {
    if (&device == &peer) return;
    const PoolAccess access = {{kDeviceLocation, device.id()}, enable ? kReadAndWrite : kNoAccess};
    check(driver().cuMemPoolSetAccess(pool_of(peer), &access, 1), "setting access to a memory pool");
}

void set_peer_access(CudaDevice& device, CudaDevice& peer, bool enable) {
    if (&device == &peer) return;
    const CudaDevice::Guard guard(device);
    const Result result =
        enable ? driver().cuCtxEnablePeerAccess(peer.context(), 0) : driver().cuCtxDisablePeerAccess(peer.context());
    if (result == kAlreadyEnabled || result == kNotEnabled) return;
    check(result, "setting access to another device");
}

MemoryKind memory_kind(Address address) {
    if (find_driver() == nullptr) return MemoryKind::Host;
    int type = 0;
    if (driver().cuPointerGetAttribute(&type, kMemoryType, address) != 0) return MemoryKind::Host;  // not CUDA's
    int managed = 0;
    if (driver().cuPointerGetAttribute(&managed, kIsManaged, address) == 0 && managed != 0) return MemoryKind::Managed;
    if (type == kHostMemory) return MemoryKind::Pinned;
    PoolHandle pool = nullptr;
    const bool in_pool = driver().cuPointerGetAttribute(static_cast<void*>(&pool), kPoolHandle, address) == 0;
    return in_pool && pool != nullptr ? MemoryKind::Pool : MemoryKind::Device;
}

Address allocate(CudaDevice& device, MemoryKind kind, int64_t bytes) {
    if (bytes <= 0) return 0;
    const CudaDevice::Guard guard(device);
    const auto size = static_cast<size_t>(bytes);
    Address memory = 0;
    Result result = 0;
    switch (kind) {
        case MemoryKind::Pinned: {
            void* host = nullptr;
            result = driver().cuMemHostAlloc(&host, size, kPortable);
            memory = reinterpret_cast<Address>(host);
            break;
        }
        case MemoryKind::Managed:
            result = driver().cuMemAllocManaged(&memory, size, kAttachGlobal);
            break;
        case MemoryKind::Pool:
            result = driver().cuMemAllocAsync(&memory, size, device.stream());
            break;
        default:
            result = driver().cuMemAlloc(&memory, size);
    }
    if (result == kOutOfMemory) {
        throw UserError(ErrorKind::Runtime, "Failed to allocate " + std::to_string(bytes) + " bytes on device '" +
                                                device.alias() + "': out of memory");
    }
    check(result, "allocating memory");
    return memory;
}

void free_memory(CudaDevice& device, MemoryKind kind, Address memory) noexcept {
    if (memory == 0) return;
    try {
        const CudaDevice::Guard guard(device);
        const OutsideCapture outside;
        if (kind == MemoryKind::Pinned) {
            driver().cuMemFreeHost(reinterpret_cast<void*>(memory));
        } else if (kind == MemoryKind::Pool) {
            driver().cuMemFreeAsync(memory, device.is_recording() ? device.side_stream() : device.stream());
        } else {
            driver().cuMemFree(memory);
        }
    } catch (const UserError&) {
        // The driver has gone, with the memory.
    }
}

std::string ipc_handle(CudaDevice& device, Address memory) {
    const CudaDevice::Guard guard(device);
    IpcHandle handle{};
    check(driver().cuIpcGetMemHandle(&handle, memory), "sharing memory with other processes");
    return {handle.bytes, sizeof(handle.bytes)};
}

Address open_memory(CudaDevice& device, const std::string& handle) {
    const CudaDevice::Guard guard(device);
    Address memory = 0;
    check(driver().cuIpcOpenMemHandle(&memory, to_handle(handle), kLazyPeerAccess),
          "opening memory of another process");
    return memory;
}

void close_memory(CudaDevice& device, Address memory) noexcept {
    try {
        const CudaDevice::Guard guard(device);
        driver().cuIpcCloseMemHandle(memory);
    } catch (const UserError&) {
        // The driver has gone, with the memory.
    }
}

std::string ipc_handle(CudaDevice& device, EventHandle event) {
    const CudaDevice::Guard guard(device);
    IpcHandle handle{};
    check(driver().cuIpcGetEventHandle(&handle, event), "sharing an event with other processes");
    return {handle.bytes, sizeof(handle.bytes)};
}

EventHandle open_event(CudaDevice& device, const std::string& handle) {
    const CudaDevice::Guard guard(device);
    EventHandle event = nullptr;
    check(driver().cuIpcOpenEventHandle(&event, to_handle(handle)), "opening an event of another process");
    return event;
}

}  // namespace weft::runtime::cuda
