// Streams of the stand-in for MACA's runtime: a thread of the host each, so that work is as late as on a GPU. What a
// stream is given while it captures goes to a graph instead.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fake_driver/state.h"

namespace fake_maca {

using fake::Result;

inline constexpr Result kInvalidValue = 1;          // mcErrorInvalidValue
inline constexpr Result kOutOfMemory = 2;           // mcErrorMemoryAllocation
inline constexpr Result kInvalidConfiguration = 9;  // mcErrorInvalidConfiguration
inline constexpr Result kInvalidKernelImage = 200;  // mcErrorInvalidKernelImage
inline constexpr Result kUninitialized = 201;       // mcErrorDeviceUninitialized
inline constexpr Result kSymbolNotFound = 500;      // mcErrorSymbolNotFound
inline constexpr Result kNotReady = 600;            // mcErrorNotReady
inline constexpr Result kNotSupported = 801;        // mcErrorNotSupported
inline constexpr Result kCaptureUnsupported = 900;  // mcErrorStreamCaptureUnsupported
inline constexpr Result kCaptureInvalidated = 901;  // mcErrorStreamCaptureInvalidated
inline constexpr Result kCaptureUnmatched = 903;    // mcErrorStreamCaptureUnmatched
inline constexpr Result kCaptureIsolation = 905;    // mcErrorStreamCaptureIsolation

using Work = std::function<void()>;

struct Graph {
    std::vector<Work> work;
};

struct Capture {
    struct Stream* origin = nullptr;
    int mode = 0;  // mcStreamCaptureMode
    bool invalid = false;
    std::unique_ptr<Graph> graph = std::make_unique<Graph>();
};

struct Stream {
    Stream();
    ~Stream();
    void push(Work work);
    void wait();
    bool idle();

    std::shared_ptr<Capture> capture;  // guarded by the state's mutex

  private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> queue_;
    bool busy_ = false;
    bool ending_ = false;
    std::thread thread_;
};

// Gives work to a stream, or to the graph that it captures. Null: done at once, after all that streams have.
Result give(Stream* stream, Work work);
void wait_for_all();
// Whether some capture forbids what may disturb it (mcMalloc, loading code).
bool capture_forbids();

}  // namespace fake_maca
