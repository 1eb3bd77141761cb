#include "runtime/cuda/conditional.h"

#include <mutex>

#include "base/error.h"

namespace weft::runtime::cuda {
namespace {

constexpr int kOldest = 12040;
constexpr int kConditionalNode = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
constexpr int kIf = 0;                // CUgraphConditionalNodeType
constexpr int kWhile = 1;

// CUgraphNodeParams, with the member for conditional nodes.
struct NodeParameters {
    int type;
    int reserved[3];
    uint64_t handle;
    int kind;
    unsigned bodies;
    GraphHandle* body;
    Context context;
    std::byte rest[232 - 32];
    int64_t reserved_end;
};
static_assert(sizeof(NodeParameters) == 256);

// Sets the handle by the value at an address. The function that it calls is the driver's.
constexpr const char* kSetterName = "weft_set_condition";
constexpr const char* kSetter = R"(
.version 7.8
.target sm_75
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry weft_set_condition(.param .u64 handle, .param .u64 condition, .param .u32 flip)
{
    .reg .pred %p;
    .reg .b32 %value, %flip;
    .reg .b64 %handle, %at;
    ld.param.u64 %handle, [handle];
    ld.param.u64 %at, [condition];
    ld.param.u32 %flip, [flip];
    cvta.to.global.u64 %at, %at;
    ld.global.u32 %value, [%at];
    setp.ne.s32 %p, %value, 0;
    selp.u32 %value, 1, 0, %p;
    xor.b32 %value, %value, %flip;
    {
        .param .b64 first;
        .param .b32 second;
        st.param.b64 [first], %handle;
        st.param.b32 [second], %value;
        call.uni cudaGraphSetConditional, (first, second);
    }
    ret;
}
)";

// Loaded once for each device, and kept.
FunctionHandle setter(CudaDevice& device) {
    static std::mutex mutex;
    static auto& loaded = *new std::map<CudaDevice*, FunctionHandle>;
    const std::lock_guard lock(mutex);
    FunctionHandle& function = loaded[&device];
    if (function == nullptr) {
        const OutsideCapture outside;
        ModuleHandle module = nullptr;
        check(driver().cuModuleLoadData(&module, kSetter), "loading the kernel that sets conditions");
        const Result result = driver().cuModuleGetFunction(&function, module, kSetterName);
        if (result != 0) driver().cuModuleUnload(module);
        check(result, "loading the kernel that sets conditions");
    }
    return function;
}

}  // namespace

bool Conditional::is_supported() {
    const Driver* d = find_driver();
    return d != nullptr && d->version >= kOldest && d->cuStreamBeginCaptureToGraph != nullptr &&
           d->cuGraphConditionalHandleCreate != nullptr && d->cuGraphAddNode != nullptr;
}

Conditional::Conditional(const Stream& stream, Address condition, bool loop, bool flip)
    : device_(stream.device()), condition_(condition), loop_(loop), flip_(flip) {
    if (!is_supported()) {
        throw UserError(ErrorKind::Runtime, "Conditional graph nodes need a driver of CUDA 12.4 or newer, found " +
                                                driver().vendor.name + " " + std::to_string(driver().version));
    }
    const CudaDevice::Guard guard(device_);
    check(driver().cuGraphConditionalHandleCreate(&handle_, capture_place(stream).graph, device_.context(), 0, 0),
          "recording a condition");
    set_from_memory(stream);
    const CapturePlace place = capture_place(stream);
    NodeParameters parameters{};
    parameters.type = kConditionalNode;
    parameters.handle = handle_;
    parameters.kind = loop_ ? kWhile : kIf;
    parameters.bodies = 1;
    parameters.context = device_.context();
    NodeHandle node = nullptr;
    check(driver().cuGraphAddNode(&node, place.graph, place.waits, place.count, &parameters), "recording a condition");
    body_ = *parameters.body;
    continue_after(stream, node);
}

void Conditional::begin(const Stream& stream) const {
    const CudaDevice::Guard guard(device_);
    check(driver().cuStreamBeginCaptureToGraph(stream.handle(), body_, nullptr, nullptr, 0,
                                               static_cast<int>(CaptureMode::Relaxed)),
          "recording the body of a condition");
}

void Conditional::end(const Stream& stream) const {
    const CudaDevice::Guard guard(device_);
    if (loop_) set_from_memory(stream);
    GraphHandle graph = nullptr;
    check(driver().cuStreamEndCapture(stream.handle(), &graph), "recording the body of a condition");
}

void Conditional::set_from_memory(const Stream& stream) const {
    uint64_t handle = handle_;
    Address condition = condition_;
    unsigned flip = flip_ ? 1 : 0;
    void* parameters[] = {&handle, &condition, &flip};
    check(driver().cuLaunchKernel(setter(device_), 1, 1, 1, 1, 1, 1, 0, stream.handle(), parameters, nullptr),
          "recording a condition");
}

}  // namespace weft::runtime::cuda
