// What the stand-ins for NVIDIA's driver and MACA's runtime know: how often each function was called, which calls are
// to fail, and what is alive. Tests set and ask it through the functions that begin with "fake_", in the same process.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "runtime/cuda/driver.h"

namespace fake {

using weft::runtime::cuda::Result;

struct Failure {
    int calls;  // how many succeed before it
    int times;  // how many fail
    Result result;
};

struct State {
    std::mutex mutex;
    std::map<std::string, int> counts;
    std::map<std::string, Failure> failures;
    std::map<std::string, std::set<const void*>> alive;  // kind -> objects
    int wrong = 0;                                       // objects used or given back that are not alive
    // A launch that ends badly later on: how many launches succeed before it; then the error that all calls give.
    int launches_before_error = -1;
    Result coming_error = 0;
    Result error = 0;
    // Blocks of the last launch, threads of a block, blocks of a cluster.
    int last_launch[3] = {0, 0, 0};
    int largest_cluster = 8;
    int devices = 1;
    int version = 12080;
};

State& state();

// To be called first by each function: counts it, and says what it is to return if it is to fail.
Result enter(const char* function);
// Makes, or gives back, an object of a kind; both count the call, and fail where that is wanted.
Result make(const char* function, const char* kind, void** object);
Result destroy(const char* function, const char* kind, void* object);
// Whether the object was alive; it is no more.
bool forget(const char* kind, const void* object);
// A launch that runs now, with the state's mutex held: the error that was asked for comes with it.
void count_launch();
// "function:calls:result,..." in the environment, for what happens before a test can ask.
void read_failures(const char* variable);
bool is_captured(weft::runtime::cuda::StreamHandle stream);
// The same for functions that tell of earlier launches' errors.
Result enter_late(const char* function);

}  // namespace fake
