// Clusters of thread blocks: blocks of a launch that run at the same time and can wait for each other. Machines before
// sm_90 have none, and ignore them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/cuda/cuda_device.h"

namespace weft::runtime::cuda {

// The most blocks that a cluster may have; beyond 8 not every machine has room.
inline constexpr int kLargestCluster = 16;

bool has_clusters(const CudaDevice& device);
// How many blocks form a cluster in launches on this device; 1: none.
int64_t cluster_of(const CudaDevice& device, const Code& code);
// Throws UserError (Value) where the blocks of a launch are not whole clusters: none is added to fill one up, as it
// would skip the kernel's body while its siblings wait for it.
void check_clusters(const std::string& kernel, int64_t cluster, int64_t items, const LaunchOptions& options);
// To be called once for a function.
void allow_large_clusters(FunctionHandle function, int64_t cluster);
Result launch_in_clusters(FunctionHandle function, unsigned cluster, unsigned grid, unsigned block, StreamHandle stream,
                          void** parameters);
// The largest cluster that the device has room for.
int largest_cluster(CudaDevice& device, Code& code, int block_dim, int dynamic_shared_bytes);

}  // namespace weft::runtime::cuda
