// What a backend is: it turns a verified IR module into an image that the runtime can load. One folder a backend, one
// row in backends.cpp. Nothing above this layer knows which backend runs; differences are asked as capabilities.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace weft::codegen {

struct Options {
    bool fast_math = false;  // reassociation, approximate functions
    bool contract = false;   // a * b + c may become one rounding
    int optimize = 2;        // 0: quick and plain, 2: the slim pipeline (design: no SLP)
    int lanes = 0;           // items that run side by side on a CPU; 1: one after the other, 0: as the machine wants it
    bool line_info = false;  // debug information that maps instructions to the user's lines
    // Of a GPU's kernel. dense, and narrow besides: what launches promise (gpu_plan.h). The others are bounds that its
    // launches have, or 0: threads of a block, blocks that a multiprocessor must be able to hold, registers of a
    // thread.
    bool dense = false;
    bool narrow = false;
    int max_threads = 0;
    int min_blocks = 0;
    int max_registers = 0;
    std::string architecture = {};  // of a GPU ("sm_90"); "": the oldest that the backend serves
    bool operator==(const Options&) const = default;
    std::string key() const;  // distinct for distinct options; part of the cache key
};

// How the bytes of an image are to be loaded.
enum class ImageFormat {
    Object,         // a relocatable ELF object for this machine, loaded by runtime/cpu/object_loader
    SharedLibrary,  // an ELF shared library, opened with dlopen
    Ptx,            // text that NVIDIA's driver compiles; kernels are entered as nvptx/thread_entry.cpp tells
    Cubin,          // what the driver made of it
    MacaBinary,     // machine code of a MetaX GPU, as MACA's compiler makes it
};

struct Image {
    ImageFormat format = ImageFormat::Object;
    std::string bytes;
};

// Milliseconds per stage of one compile, in order: {"emit", 0.2}, {"optimize", 1.9}, ...
struct StageTime {
    std::string stage;
    double milliseconds = 0;
};

// Every kernel of a module becomes an exported symbol (entry_symbol) of this type. Items [begin, end) of the launch are
// computed; `arguments` is the block of packed parameters (parameter_offsets); the function may be called from several
// threads at once with disjoint ranges.
struct LaunchShape {
    int64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};  // extents; an item's linear index is row-major over them
    int32_t ndim = 1;
    uint32_t exclusive = 0;   // bits of Exclusive
    int32_t block_dim = 256;  // threads of a block, for code that asks for blocks
    int32_t streams = 0;      // not 0: the arrays do not fit in the caches, and what is only written may pass them by
};

// Which atomics no other thread can come between: they may be plain reads and writes.
enum Exclusive : uint32_t {
    kOneThread = 1,    // all: one thread runs the launch
    kOwnElements = 2,  // those marked opt::kOwnElement
};
using KernelEntry = void (*)(const void* arguments, const LaunchShape* shape, int64_t begin, int64_t end);

// An image that defines this symbol runs whole blocks: every range of items begins and ends between blocks, or at the
// launch's end.
inline constexpr const char* kRunsBlocks = "weft_runs_blocks";

// "length" -> "weft_kernel_length": only letters, digits and '_', other characters as _xx in hexadecimal.
std::string entry_symbol(std::string_view kernel);
// Byte offset of each parameter in the argument block, then its total size (multiple of 8).
std::vector<int64_t> parameter_offsets(const ir::Function& kernel);

class Backend {
  public:
    virtual ~Backend() = default;
    // Human-readable code before the last step ("llvm", "asm", "cxx"): what `python -m warp dump` shows.
    virtual std::vector<std::string> dump_kinds() const = 0;
    // `kind` is one of dump_kinds(). The text names every kernel's entry_symbol, whatever the kind.
    virtual std::string dump(const ir::Module& module, const Options& options, const std::string& kind) = 0;
    virtual Image compile(const ir::Module& module, const Options& options, std::vector<StageTime>* times) = 0;
};

struct BackendInfo {
    std::string name;
    // What of machine and compiler the image depends on, besides `name`; known without loading the compiler.
    std::string (*target_key)();
    bool runs_on_host;   // whether its images are for the CPU of this machine
    Backend& (*open)();  // loads the compiler on first use; throws UserError (Unsupported) when it cannot
};

// The one whose images NVIDIA's GPUs run.
inline constexpr const char* kGpuBackend = "llvm-nvptx";
// And MetaX's.
inline constexpr const char* kMacaBackend = "cxx-maca";

// The one for an architecture of GPUs ("sm_90", "xcore1000").
const char* gpu_backend(std::string_view architecture);

// All backends of this build; the first is the default for the CPU.
const std::vector<BackendInfo>& backends();
const BackendInfo& backend(const std::string& name);

}  // namespace weft::codegen
