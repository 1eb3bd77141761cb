// What the stand-ins for drivers of GPUs count and keep, and what tests ask of it.
#include "fake_driver/state.h"

#include <cstdlib>
#include <sstream>

namespace fake {

State& state() {
    static State& instance = *new State;
    return instance;
}

Result enter(const char* function) {
    State& s = state();
    const std::lock_guard lock(s.mutex);
    ++s.counts[function];
    const auto found = s.failures.find(function);
    if (found == s.failures.end() || found->second.calls-- > 0) return 0;
    const Result result = found->second.result;
    if (--found->second.times == 0) s.failures.erase(found);
    return result;
}

Result enter_late(const char* function) {
    if (const Result result = enter(function)) return result;
    const std::lock_guard lock(state().mutex);
    return state().error;
}

Result make(const char* function, const char* kind, void** object) {
    if (const Result result = enter_late(function)) return result;
    *object = std::malloc(16);
    const std::lock_guard lock(state().mutex);
    state().alive[kind].insert(*object);
    return 0;
}

void count_launch() {
    State& s = state();
    if (s.launches_before_error == 0) s.error = s.coming_error;
    if (s.launches_before_error >= 0) --s.launches_before_error;
}

void read_failures(const char* variable) {
    const char* wanted = std::getenv(variable);
    if (wanted == nullptr) return;
    std::stringstream list(wanted);
    for (std::string item; std::getline(list, item, ',');) {
        const size_t first = item.find(':');
        const size_t second = item.find(':', first + 1);
        const std::lock_guard lock(state().mutex);
        state().failures[item.substr(0, first)] = {std::atoi(item.c_str() + first + 1), 1,
                                                   std::atoi(item.c_str() + second + 1)};
    }
}

bool forget(const char* kind, const void* object) {
    const std::lock_guard lock(state().mutex);
    if (state().alive[kind].erase(object) == 1) return true;
    ++state().wrong;
    return false;
}

Result destroy(const char* function, const char* kind, void* object) {
    const Result result = enter(function);
    if (forget(kind, object)) std::free(object);
    return result;
}

}  // namespace fake

// ---- what tests ask ----

using fake::state;

extern "C" {

// Of this function `times` calls fail, after `calls` more.
void fake_fail(const char* function, int calls, int times, int result) {
    const std::lock_guard lock(state().mutex);
    state().failures[function] = {calls, times, result};
}

// The launch after `launches` more ends badly, which later calls tell; 0 as the result ends that.
void fake_fail_launch(int launches, int result) {
    const std::lock_guard lock(state().mutex);
    state().launches_before_error = result == 0 ? -1 : launches;
    state().coming_error = result;
    state().error = 0;
}

int fake_count(const char* function) {
    const std::lock_guard lock(state().mutex);
    return state().counts[function];
}

// Blocks, threads of a block, blocks of a cluster of the last launch, in this order.
int fake_last_launch(int which) {
    const std::lock_guard lock(state().mutex);
    return state().last_launch[which];
}

// Whether a failure is still to come: the function was not called often enough.
int fake_pending() {
    const std::lock_guard lock(state().mutex);
    return static_cast<int>(state().failures.size());
}

int fake_alive(const char* kind) {
    const std::lock_guard lock(state().mutex);
    return static_cast<int>(state().alive[kind].size());
}

int fake_wrong() {
    const std::lock_guard lock(state().mutex);
    return state().wrong;
}
}
