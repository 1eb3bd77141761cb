#include "runtime/cuda/stream.h"

#include <utility>

#include "base/error.h"
#include "runtime/cuda/recent_launches.h"

namespace weft::runtime::cuda {
namespace {

constexpr unsigned kWithoutTiming = 2;  // of cuEventCreate
constexpr unsigned kInterprocess = 4;
constexpr unsigned kExternal = 1;         // of recording and of waiting
constexpr unsigned kSetDependencies = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES
constexpr unsigned long long kFreeOnLaunch =
    1;  // what the graph allocated and did not free is freed by its next launch
constexpr unsigned kVerbose = 1;

bool has_ended(Result result, const char* what) {
    if (result == kNotReady) return false;
    check(result, what);
    return true;
}

}  // namespace

// ---- events ----

Event::Event(CudaDevice& device, bool timing, bool interprocess) : device_(device), timing_(timing) {
    const CudaDevice::Guard guard(device);
    check(driver().cuEventCreate(&handle_, (timing ? 0 : kWithoutTiming) | (interprocess ? kInterprocess : 0)),
          "making an event");
}

Event::~Event() {
    if (owned_ && handle_ != nullptr) driver().cuEventDestroy(handle_);
}

bool Event::is_complete() const { return has_ended(driver().cuEventQuery(handle_), "asking for an event"); }

void Event::synchronize() const {
    const CudaDevice::Guard guard(device_);
    check(driver().cuEventSynchronize(handle_), "waiting for an event");
    device_.raise_failure();
}

float Event::since(const Event& earlier) const {
    float milliseconds = 0;
    check(driver().cuEventElapsedTime(&milliseconds, earlier.handle_, handle_), "the time between two events");
    return milliseconds;
}

// ---- streams ----

Stream::Stream(CudaDevice& device, int priority) : device_(device), owned_(true) {
    const CudaDevice::Guard guard(device);
    check(driver().cuStreamCreateWithPriority(&handle_, 0, priority), "making a stream");
}

Stream::~Stream() {
    if (owned_ && handle_ != nullptr) driver().cuStreamDestroy(handle_);
}

int Stream::priority() const {
    const CudaDevice::Guard guard(device_);
    int out = 0;
    check(driver().cuStreamGetPriority(handle_, &out), "asking for a stream's priority");
    return out;
}

bool Stream::is_complete() const {
    const CudaDevice::Guard guard(device_);
    return has_ended(driver().cuStreamQuery(handle_), "asking for a stream");
}

bool Stream::is_capturing() const {
    const CudaDevice::Guard guard(device_);
    int status = 0;
    check(driver().cuStreamIsCapturing(handle_, &status), "asking for a stream");
    return status != 0;
}

void Stream::synchronize() const {
    const CudaDevice::Guard guard(device_);
    device_.wait_for(handle_, "waiting for a stream");
    device_.raise_failure();
}

void Stream::record(const Event& event, bool external) const {
    const CudaDevice::Guard guard(device_);
    check(driver().cuEventRecordWithFlags(event.handle(), handle_, external ? kExternal : 0), "recording an event");
}

void Stream::wait(const Event& event, bool external) const {
    const CudaDevice::Guard guard(device_);
    check(driver().cuStreamWaitEvent(handle_, event.handle(), external ? kExternal : 0), "waiting for an event");
}

// ---- graphs ----

CapturePlace capture_place(const Stream& stream) {
    int status = 0;
    CapturePlace out;
    check(driver().cuStreamGetCaptureInfo(stream.handle(), &status, nullptr, &out.graph, &out.waits, &out.count),
          "asking for a capture");
    if (status != 1) throw UserError(ErrorKind::Runtime, "Graph capture is not active");
    return out;
}

void continue_after(const Stream& stream, NodeHandle node) {
    check(driver().cuStreamUpdateCaptureDependencies(stream.handle(), &node, 1, kSetDependencies), "recording a node");
}

StreamGraph::StreamGraph(CudaDevice& device, bool external)
    : device_(device), external_(external), memory_(std::make_shared<GraphMemory>(device)) {
    device_.set_recording(memory_);
}

std::unique_ptr<StreamGraph> StreamGraph::begin(const Stream& stream, CaptureMode mode, bool external) {
    const CudaDevice::Guard guard(stream.device());
    if (external) {
        capture_place(stream);
    } else {
        check(driver().cuStreamBeginCapture(stream.handle(), static_cast<int>(mode)), "beginning a capture");
    }
    return std::unique_ptr<StreamGraph>(new StreamGraph(stream.device(), external));
}

void StreamGraph::end(const Stream& stream) {
    device_.set_recording(nullptr);
    if (external_) return;
    const CudaDevice::Guard guard(stream.device());
    check(driver().cuStreamEndCapture(stream.handle(), &graph_), "CUDA graph capture failed");
    if (graph_ == nullptr) throw UserError(ErrorKind::Runtime, "CUDA graph capture failed: it was broken off");
}

StreamGraph::~StreamGraph() {
    const OutsideCapture outside;
    if (exec_ != nullptr) driver().cuGraphExecDestroy(exec_);
    if (graph_ != nullptr) driver().cuGraphDestroy(graph_);
    if (external_) GraphMemory::keep_for_ever(std::move(memory_));
    // A replay may be under way: its memory goes back behind it, in the order of the stream.
}

GraphHandle StreamGraph::handle() const {
    if (graph_ == nullptr) {
        throw UserError(ErrorKind::Runtime, external_ ? "the graph belongs to whoever began the capture: it launches it"
                                                      : "the capture of this graph has not ended");
    }
    return graph_;
}

void StreamGraph::instantiate() {
    if (exec_ != nullptr) return;
    const CudaDevice::Guard guard(device_);
    check(driver().cuGraphInstantiate(&exec_, handle(), kFreeOnLaunch), "making a graph ready");
    origin_ = memory_->origin();
}

void StreamGraph::launch(const Stream& stream) {
    instantiate();
    const CudaDevice::Guard guard(device_);
    check(driver().cuGraphLaunch(exec_, stream.handle()), "launching a graph");
    note_launch(origin_, device_.ordinal(), stream.handle());
    if (verifies_launches() && !stream.is_capturing()) device_.wait_for(stream.handle(), "running a graph");
}

void StreamGraph::add_to(const Stream& stream) {
    const CudaDevice::Guard guard(device_);
    if (!driver().vendor.tells_captures) {
        instantiate();
        check(driver().cuGraphLaunch(exec_, stream.handle()), "recording a graph inside a graph");
        device_.keep(memory_);
        return;
    }
    const CapturePlace place = capture_place(stream);
    NodeHandle node = nullptr;
    check(driver().cuGraphAddChildGraphNode(&node, place.graph, place.waits, place.count, handle()),
          "recording a graph inside a graph");
    continue_after(stream, node);
    device_.keep(memory_);
}

void StreamGraph::write_dot(const std::string& path) const {
    check(driver().cuGraphDebugDotPrint(handle(), path.c_str(), kVerbose), "describing a graph");
}

}  // namespace weft::runtime::cuda
