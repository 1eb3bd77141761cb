// The launches that a GPU may not have ended. An error of a kernel is told by a later call: these are the launches that
// can have caused it. Noting one takes a few nanoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/source.h"
#include "runtime/cuda/driver.h"

namespace weft::runtime::cuda {

// What was launched. One for each that differs; they live as long as the process.
struct LaunchOrigin {
    std::string what;  // "kernel 'saxpy'"
    std::string file;
    int line = 0;
    std::function<Location()> location;  // which takes time to find
};
const LaunchOrigin* launch_origin(LaunchOrigin origin);

// Of the device with this ordinal.
void note_launch(const LaunchOrigin* origin, int device, StreamHandle stream);

// What was noted before a call that waits: forgotten once it has returned without an error. Where no stream is named,
// it is that of all the device's streams.
class WaitedFor {
  public:
    explicit WaitedFor(int device);
    WaitedFor(int device, StreamHandle stream);
    void ended() const;

  private:
    int device_;
    bool all_streams_;
    StreamHandle stream_ = nullptr;
    uint64_t end_;
};

// Whether the driver reports by this result that a kernel failed which was launched earlier.
bool is_late(Result result);
// An error with the launches that can have caused it; its location is the kernel's, where there is one only.
[[noreturn]] void throw_late(const std::string& message);

// Whether each launch is waited for, so that its errors are its own.
bool verifies_launches();
void set_verifies_launches(bool enabled);

}  // namespace weft::runtime::cuda
