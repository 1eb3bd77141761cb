// Memory of a GPU beyond arrays: pools and who may use them, access between GPUs, memory that the host shares (managed,
// pinned), and memory and events of other processes.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/cuda/cuda_device.h"

namespace weft::runtime::cuda {

// Numbers of CUmemPool_attribute.
enum class PoolAttribute : int { ReleaseThreshold = 4, UsedNow = 7, UsedMost = 8 };
uint64_t pool_attribute(CudaDevice& device, PoolAttribute attribute);
void set_pool_attribute(CudaDevice& device, PoolAttribute attribute, uint64_t value);

// Whether `device` could use memory of `peer`, and whether it may.
bool can_access(CudaDevice& device, CudaDevice& peer);
bool has_pool_access(CudaDevice& device, CudaDevice& peer);
void set_pool_access(CudaDevice& device, CudaDevice& peer, bool enable);
// Of all other memory. Throws UserError where the machine has no way.
void set_peer_access(CudaDevice& device, CudaDevice& peer, bool enable);

// How memory was allocated, by its address.
enum class MemoryKind : int { Unknown = 0, Host = 1, Pinned = 2, Device = 3, Pool = 4, Managed = 5 };
MemoryKind memory_kind(Address address);

// Of a kind: Pinned, Device, Pool or Managed. Throws UserError where there is none left.
Address allocate(CudaDevice& device, MemoryKind kind, int64_t bytes);
void free_memory(CudaDevice& device, MemoryKind kind, Address memory) noexcept;

// 64 bytes by which another process opens the memory, or the event.
std::string ipc_handle(CudaDevice& device, Address memory);
Address open_memory(CudaDevice& device, const std::string& handle);
void close_memory(CudaDevice& device, Address memory) noexcept;
std::string ipc_handle(CudaDevice& device, EventHandle event);
EventHandle open_event(CudaDevice& device, const std::string& handle);

}  // namespace weft::runtime::cuda
