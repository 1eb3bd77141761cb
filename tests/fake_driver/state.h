// What the stand-in for NVIDIA's driver knows: how often each function was called, which calls are to fail, and what is
// alive. Tests set and ask it through the functions that begin with "fake_", in the same process.
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
bool is_captured(weft::runtime::cuda::StreamHandle stream);
// The same for functions that tell of earlier launches' errors.
Result enter_late(const char* function);

}  // namespace fake
