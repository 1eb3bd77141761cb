// Streams, events and graphs of an NVIDIA GPU: the order of its work, marks in it, and work recorded to be repeated.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

class Event {
  public:
    Event(CudaDevice& device, bool timing, bool interprocess);
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

// Work recorded from a stream; launched as one.
class StreamGraph {
  public:
    // From now on what goes to the stream is recorded and not run.
    static void begin(const Stream& stream, bool only_this_thread);
    static std::unique_ptr<StreamGraph> end(const Stream& stream);
    ~StreamGraph();
    StreamGraph(const StreamGraph&) = delete;
    StreamGraph& operator=(const StreamGraph&) = delete;

    // Makes it ready, which the first launch does otherwise.
    void instantiate();
    void launch(const Stream& stream);
    // The graph as a picture's description (Graphviz).
    void write_dot(const std::string& path) const;

  private:
    StreamGraph(CudaDevice& device, GraphHandle graph) : device_(device), graph_(graph) {}

    CudaDevice& device_;
    GraphHandle graph_;
    GraphExecHandle exec_ = nullptr;
};

}  // namespace weft::runtime::cuda
