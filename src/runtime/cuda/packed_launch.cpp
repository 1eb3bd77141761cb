#include "runtime/cuda/packed_launch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "codegen/backend.h"

namespace weft::runtime::cuda {
namespace {

// Keys of the list (CU_LAUNCH_PARAM_..., MC_LAUNCH_PARAM_...).
void* const kBuffer = reinterpret_cast<void*>(1);
void* const kBufferBytes = reinterpret_cast<void*>(2);
void* const kEnd = reinterpret_cast<void*>(3);
constexpr size_t kLeastArguments = 8;  // an entry without arguments has a block of this size

}  // namespace

Result launch_packed(FunctionHandle function, unsigned grid, unsigned block, StreamHandle stream,
                     void* const* parameters, size_t argument_bytes) {
    static_assert(sizeof(codegen::LaunchShape) % 8 == 0);
    const size_t first = std::max(argument_bytes, kLeastArguments);
    std::vector<std::byte> buffer(first + sizeof(codegen::LaunchShape) + (2 * sizeof(int64_t)));
    std::memcpy(buffer.data(), parameters[0], argument_bytes);
    std::byte* to = buffer.data() + first;
    for (const auto& [which, bytes] :
         {std::pair{1, sizeof(codegen::LaunchShape)}, {2, sizeof(int64_t)}, {3, sizeof(int64_t)}}) {
        std::memcpy(to, parameters[which], bytes);
        to += bytes;
    }
    size_t size = buffer.size();
    std::array<void*, 5> extra = {kBuffer, buffer.data(), kBufferBytes, &size, kEnd};
    return driver().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, nullptr, extra.data());
}

}  // namespace weft::runtime::cuda
