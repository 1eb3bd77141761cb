// The driver of the machine's GPUs, opened at run time: machines without it run everything else. The table has the
// names and types of NVIDIA's, whose interface is stable; no header of CUDA is needed to build. MetaX's runtime is
// entered in the same table (runtime/maca). A process has one driver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace weft::runtime::cuda {

using Result = int;  // 0: success
using DeviceId = int;
using Address = uint64_t;  // of memory of a device
using Context = struct ContextTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using StreamHandle = struct StreamTag*;  // null: the legacy default stream
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using GraphExecHandle = struct GraphExecTag*;
using NodeHandle = struct NodeTag*;  // of a graph
using LinkHandle = struct LinkTag*;
using PoolHandle = struct PoolTag*;
using ArrayHandle = struct ArrayTag*;  // texels in an order of the driver's own
using MipmappedHandle = struct MipmappedTag*;

// CUmemLocation, CUmemAccessDesc, and the handles that other processes take (CUipcMemHandle, CUipcEventHandle).
struct PoolLocation {
    int type;
    int id;
};
struct PoolAccess {
    PoolLocation location;
    int flags;
};
struct IpcHandle {
    char bytes[64];
};

// CUlaunchAttribute (of which clusters are the only kind used) and CUlaunchConfig.
struct LaunchAttribute {
    int kind;
    int padding;
    unsigned cluster[16];
};
struct LaunchConfiguration {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    StreamHandle stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

// CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC (of arrays, and of arrays of all levels), CUDA_TEXTURE_DESC.
struct ArrayDescription {
    size_t width;
    size_t height;
    size_t depth;
    int format;
    unsigned channels;
    unsigned flags;
};
struct Resource {
    int kind;
    int padding;
    void* object;
    char unused[120];
    unsigned flags;
    unsigned more_padding;
};
struct TextureDescription {
    int address_modes[3];
    int linear;
    unsigned flags;
    unsigned anisotropy;
    int blends_levels;
    float level_bias;
    float first_level;
    float last_level;
    float border[4];
    int reserved[12];
};

// CUDA_MEMCPY3D.
struct CopyEnd {
    size_t x_bytes;
    size_t y;
    size_t z;
    size_t level;
    int kind;
    int padding;
    void* host;
    Address device;
    ArrayHandle array;
    void* reserved;
    size_t pitch;
    size_t height;
};
struct Copy3D {
    CopyEnd from;
    CopyEnd to;
    size_t row_bytes;
    size_t rows;
    size_t slices;
};

// What the runtime asks of whose driver it is, beyond the table.
struct Vendor {
    std::string name = "CUDA";    // in messages
    std::string prefix = "cuda";  // of the devices' aliases
    std::string backend;          // codegen::backends()
    // What codegen::Options::architecture is to be; throws UserError where no code can be made for such a machine.
    std::string (*architecture)(int major, int minor) = nullptr;
    int lanes = 32;                // of a warp
    bool promises = true;          // code may want them from launches (codegen/gpu_plan.h)
    bool variants = true;          // of architectures, named by a suffix
    bool clusters = true;          // of thread blocks, on machines that have them
    bool tells_captures = true;    // what a capture has so far, so that nodes of ours can be added to it
    bool packs_arguments = false;  // launches hand over one buffer, not an address for each parameter
    // Threads of a block that code is made for, where the user sets no bound: the first is enough for most launches.
    // 0: code needs none.
    int usual_bound = 0;
    int largest_bound = 0;
};

struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes none
#define DRIVER(name, symbol, parameters) Result(*name) parameters = nullptr;
#define OPTIONAL(name, symbol, parameters) DRIVER(name, symbol, parameters)
#include "runtime/cuda/driver_functions.def"
#undef OPTIONAL
#undef DRIVER
    int version = 0;  // 12040 for CUDA 12.4
    Vendor vendor;
};

// The driver, or why there is none.
struct OpenedDriver {
    std::unique_ptr<Driver> driver;
    std::string problem;
};

// The driver, initialised; null where there is none that serves, and driver_problem() says why. MetaX's goes first
// where the environment names it, else NVIDIA's.
const Driver* find_driver();
const std::string& driver_problem();
// What keeps devices from being used though there is a driver; to be called before anybody asks.
void set_driver_problem(std::string problem);
// The driver; to be called only where a device was found.
const Driver& driver();

// Throws UserError (Runtime) with the driver's own words unless `result` is success. `what`: "copy to the device".
void check(Result result, const char* what);

// The same for both drivers.
inline constexpr Result kNotReady = 600;
inline constexpr Result kOutOfMemory = 2;

}  // namespace weft::runtime::cuda
