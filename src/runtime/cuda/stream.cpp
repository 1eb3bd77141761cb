#include "runtime/cuda/stream.h"

#include "base/error.h"

namespace weft::runtime::cuda {
namespace {

constexpr unsigned kWithoutTiming = 2;  // of cuEventCreate
constexpr unsigned kInterprocess = 4;
constexpr unsigned kExternal = 1;  // of recording and of waiting
constexpr int kCaptureThreadLocal = 1;
constexpr int kCaptureRelaxed = 2;
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
    if (handle_ != nullptr) driver().cuEventDestroy(handle_);
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
    check(driver().cuStreamSynchronize(handle_), "waiting for a stream");
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

void StreamGraph::begin(const Stream& stream, bool only_this_thread) {
    const CudaDevice::Guard guard(stream.device());
    check(driver().cuStreamBeginCapture(stream.handle(), only_this_thread ? kCaptureThreadLocal : kCaptureRelaxed),
          "beginning a capture");
}

std::unique_ptr<StreamGraph> StreamGraph::end(const Stream& stream) {
    const CudaDevice::Guard guard(stream.device());
    GraphHandle graph = nullptr;
    check(driver().cuStreamEndCapture(stream.handle(), &graph), "ending a capture");
    if (graph == nullptr) throw UserError(ErrorKind::Runtime, "the capture of the stream was broken off");
    return std::unique_ptr<StreamGraph>(new StreamGraph(stream.device(), graph));
}

StreamGraph::~StreamGraph() {
    if (exec_ != nullptr) driver().cuGraphExecDestroy(exec_);
    driver().cuGraphDestroy(graph_);
}

void StreamGraph::instantiate() {
    if (exec_ != nullptr) return;
    const CudaDevice::Guard guard(device_);
    check(driver().cuGraphInstantiate(&exec_, graph_, kFreeOnLaunch), "making a graph ready");
}

void StreamGraph::launch(const Stream& stream) {
    instantiate();
    const CudaDevice::Guard guard(device_);
    check(driver().cuGraphLaunch(exec_, stream.handle()), "launching a graph");
}

void StreamGraph::write_dot(const std::string& path) const {
    check(driver().cuGraphDebugDotPrint(graph_, path.c_str(), kVerbose), "describing a graph");
}

}  // namespace weft::runtime::cuda
