// Streams, events and graphs of an NVIDIA GPU: the order of its work, marks in it, and work recorded to be repeated.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

class Event {
  public:
    Event(CudaDevice& device, bool timing, bool interprocess);
    // Somebody else's, or (`owned`) one that was opened for us.
    Event(CudaDevice& device, EventHandle handle, bool owned)
        : device_(device), handle_(handle), timing_(true), owned_(owned) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    CudaDevice& device() const { return device_; }
    EventHandle handle() const { return handle_; }
    bool has_timing() const { return timing_; }
    // Whether the work before it has ended.
    bool is_complete() const;
    void synchronize() const;
    // Milliseconds from an event to this one; both have timing, and have been recorded.
    float since(const Event& earlier) const;

  private:
    CudaDevice& device_;
    EventHandle handle_ = nullptr;
    bool timing_;
    bool owned_ = true;
};

class Stream {
  public:
    // A new one; the least priority is 0, higher ones are negative.
    Stream(CudaDevice& device, int priority);
    // Somebody else's.
    Stream(CudaDevice& device, StreamHandle handle) : device_(device), handle_(handle), owned_(false) {}
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    CudaDevice& device() const { return device_; }
    StreamHandle handle() const { return handle_; }
    int priority() const;
    bool is_complete() const;
    bool is_capturing() const;
    void synchronize() const;
    // `external`: an event that a graph keeps as such.
    void record(const Event& event, bool external = false) const;
    void wait(const Event& event, bool external = false) const;

  private:
    CudaDevice& device_;
    StreamHandle handle_ = nullptr;
    bool owned_;
};

// What a capture forbids meanwhile: what would disturb it, from all threads or from its own, or nothing
// (CUstreamCaptureMode).
enum class CaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };

// Work recorded from a stream; launched as one. Memory that it uses lives as long as it does.
class StreamGraph {
  public:
    // From now on what goes to the stream is recorded and not run. `external`: somebody else has begun the capture of
    // the stream, and will end it.
    static std::unique_ptr<StreamGraph> begin(const Stream& stream, CaptureMode mode, bool external);
    void end(const Stream& stream);
    // Inside another capture, of `stream`: this graph becomes part of it.
    void add_to(const Stream& stream);
    ~StreamGraph();
    StreamGraph(const StreamGraph&) = delete;
    StreamGraph& operator=(const StreamGraph&) = delete;

    // Makes it ready, which the first launch does otherwise.
    void instantiate();
    void launch(const Stream& stream);
    // The graph as a picture's description (Graphviz).
    void write_dot(const std::string& path) const;

  private:
    StreamGraph(CudaDevice& device, bool external);
    GraphHandle handle() const;  // throws where there is none

    CudaDevice& device_;
    bool external_;
    std::shared_ptr<GraphMemory> memory_;
    GraphHandle graph_ = nullptr;
    GraphExecHandle exec_ = nullptr;
    const LaunchOrigin* origin_ = nullptr;  // what it launches, for errors that come late
};

// Where the capture of a stream stands: the graph, and the nodes that the next one waits for.
struct CapturePlace {
    GraphHandle graph = nullptr;
    const NodeHandle* waits = nullptr;
    size_t count = 0;
};
// Throws where the stream is not captured.
CapturePlace capture_place(const Stream& stream);
// What the stream gets next waits for this node.
void continue_after(const Stream& stream, NodeHandle node);

}  // namespace weft::runtime::cuda
