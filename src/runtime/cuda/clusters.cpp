#include "runtime/cuda/clusters.h"

#include "base/error.h"
#include "runtime/kernel.h"

namespace weft::runtime::cuda {
namespace {

constexpr int kClusterDimension = 4;      // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
constexpr int kAllowsLargeClusters = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
constexpr int64_t kPortable = 8;
constexpr int kFirstMajor = 9;

}  // namespace

bool has_clusters(const CudaDevice& device) {
    return driver().vendor.clusters && device.attribute(CudaDevice::kMajor) >= kFirstMajor;
}

int64_t cluster_of(const CudaDevice& device, const Code& code) {
    return code.cluster() > 1 && has_clusters(device) ? code.cluster() : 1;
}

void check_clusters(const std::string& kernel, int64_t cluster, int64_t items, const LaunchOptions& options) {
    if (cluster == 1) return;
    const int64_t blocks = (items + options.block_dim - 1) / options.block_dim;
    const std::string wanted = "kernel '" + kernel + "' has cluster_dim " + std::to_string(cluster);
    if (blocks % cluster != 0) {
        throw UserError(ErrorKind::Value,
                        wanted + ", so that the number of blocks must be a multiple of cluster_dim, found " +
                            std::to_string(blocks) + " blocks: " + std::to_string(items) + " items in blocks of " +
                            std::to_string(options.block_dim));
    }
    if (options.max_blocks > 0 && options.max_blocks < cluster) {
        throw UserError(ErrorKind::Value, "max_blocks is " + std::to_string(options.max_blocks) + ", but " + wanted +
                                              ": max_blocks must be at least cluster_dim");
    }
}

void allow_large_clusters(FunctionHandle function, int64_t cluster) {
    if (cluster <= kPortable) return;
    check(driver().cuFuncSetAttribute(function, kAllowsLargeClusters, 1), "asking for large clusters");
}

Result launch_in_clusters(FunctionHandle function, unsigned cluster, unsigned grid, unsigned block, StreamHandle stream,
                          void** parameters) {
    LaunchAttribute attribute{kClusterDimension, 0, {cluster, 1, 1}};
    const LaunchConfiguration configuration{{grid, 1, 1}, {block, 1, 1}, 0, stream, &attribute, 1};
    return driver().cuLaunchKernelEx(&configuration, function, parameters, nullptr);
}

int largest_cluster(CudaDevice& device, Code& code, int block_dim, int dynamic_shared_bytes) {
    if (!has_clusters(device)) return 1;
    const CudaDevice::Guard guard(device);
    FunctionHandle function = device.function(code);
    allow_large_clusters(function, kLargestCluster);
    const LaunchConfiguration configuration{{kLargestCluster, 1, 1},
                                            {static_cast<unsigned>(block_dim), 1, 1},
                                            static_cast<unsigned>(dynamic_shared_bytes),
                                            nullptr,
                                            nullptr,
                                            0};
    int blocks = 0;
    check(driver().cuOccupancyMaxPotentialClusterSize(&blocks, function, &configuration),
          "asking for the size of clusters");
    return blocks;
}

}  // namespace weft::runtime::cuda
