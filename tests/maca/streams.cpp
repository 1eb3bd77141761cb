#include "maca/streams.h"

#include <chrono>

namespace fake_maca {

using fake::enter;
using fake::enter_late;
using fake::state;

namespace {

std::vector<Stream*>& all_streams() {
    static auto& instance = *new std::vector<Stream*>;
    return instance;
}

// A mark in a stream.
struct Event {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t recorded = 0;
    uint64_t reached = 0;
    std::chrono::steady_clock::time_point time;
    std::weak_ptr<Capture> capture;  // that it was recorded in
};

void reach(const std::shared_ptr<Event>& event, uint64_t number) {
    const std::lock_guard lock(event->mutex);
    event->reached = std::max(event->reached, number);
    event->time = std::chrono::steady_clock::now();
    event->changed.notify_all();
}

void wait_for(Event& event, uint64_t number) {
    std::unique_lock lock(event.mutex);
    event.changed.wait(lock, [&] { return event.reached >= number; });
}

using EventHandle = std::shared_ptr<Event>*;

std::shared_ptr<Capture> capture_of(Stream* stream) {
    const std::lock_guard lock(state().mutex);
    return stream != nullptr ? stream->capture : nullptr;
}

// Waiting for what a capture records breaks it off.
bool breaks_capture(Stream* stream) {
    const std::shared_ptr<Capture> capture = capture_of(stream);
    if (capture != nullptr) capture->invalid = true;
    return capture != nullptr;
}

}  // namespace

Stream::Stream() : thread_([this] { run(); }) {
    const std::lock_guard lock(state().mutex);
    all_streams().push_back(this);
}

Stream::~Stream() {
    {
        const std::lock_guard lock(state().mutex);
        std::erase(all_streams(), this);
    }
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Stream::push(Work work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
}

void Stream::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
}

bool Stream::idle() {
    const std::lock_guard lock(mutex_);
    return queue_.empty() && !busy_;
}

void Stream::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        const Work work = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        work();
        lock.lock();
        busy_ = false;
        changed_.notify_all();
    }
}

Result give(Stream* stream, Work work) {
    if (stream == nullptr) {
        wait_for_all();
        work();
        return 0;
    }
    if (const std::shared_ptr<Capture> capture = capture_of(stream)) {
        if (capture->invalid) return kCaptureInvalidated;
        capture->graph->work.push_back(std::move(work));
        return 0;
    }
    stream->push(std::move(work));
    return 0;
}

void wait_for_all() {
    std::vector<Stream*> streams;
    {
        const std::lock_guard lock(state().mutex);
        streams = all_streams();
    }
    for (Stream* stream : streams) stream->wait();
}

bool capture_forbids() {
    constexpr int kRelaxed = 2;
    const std::lock_guard lock(state().mutex);
    for (const Stream* stream : all_streams()) {
        if (stream->capture != nullptr && stream->capture->mode != kRelaxed) return true;
    }
    return false;
}

extern "C" {

// ---- streams ----

Result mcStreamCreateWithPriority(Stream** stream, unsigned, int) {
    if (const Result result = enter_late("mcStreamCreateWithPriority")) return result;
    *stream = new Stream;
    const std::lock_guard lock(state().mutex);
    state().alive["stream"].insert(*stream);
    return 0;
}

Result mcStreamCreateWithFlags(Stream** stream, unsigned flags) { return mcStreamCreateWithPriority(stream, flags, 0); }

Result mcStreamDestroy(Stream* stream) {
    const Result result = enter("mcStreamDestroy");
    if (fake::forget("stream", stream)) delete stream;
    return result;
}

Result mcStreamSynchronize(Stream* stream) {
    if (const Result result = enter_late("mcStreamSynchronize")) return result;
    if (breaks_capture(stream)) return kCaptureUnsupported;
    if (stream == nullptr) {
        wait_for_all();
    } else {
        stream->wait();
    }
    const std::lock_guard lock(state().mutex);
    return state().error;
}

Result mcStreamQuery(Stream* stream) {
    if (const Result result = enter_late("mcStreamQuery")) return result;
    return stream == nullptr || stream->idle() ? 0 : kNotReady;
}

Result mcDeviceSynchronize() {
    if (const Result result = enter_late("mcDeviceSynchronize")) return result;
    wait_for_all();
    const std::lock_guard lock(state().mutex);
    return state().error;
}

// ---- events ----

Result mcEventCreateWithFlags(EventHandle* event, unsigned) {
    if (const Result result = enter_late("mcEventCreateWithFlags")) return result;
    *event = new std::shared_ptr<Event>(std::make_shared<Event>());
    const std::lock_guard lock(state().mutex);
    state().alive["event"].insert(*event);
    return 0;
}

Result mcEventDestroy(EventHandle event) {
    const Result result = enter("mcEventDestroy");
    if (fake::forget("event", event)) delete event;
    return result;
}

Result mcEventRecordWithFlags(EventHandle handle, Stream* stream, unsigned flags) {
    constexpr unsigned kExternal = 1;
    if (const Result result = enter_late("mcEventRecord")) return result;
    const std::shared_ptr<Event> event = *handle;
    const std::shared_ptr<Capture> capture = capture_of(stream);
    if (capture != nullptr && (flags & kExternal) == 0) {
        event->capture = capture;  // a place in the graph, which nothing marks when it runs
        return capture->invalid ? kCaptureInvalidated : 0;
    }
    event->capture.reset();
    if (capture != nullptr) {
        return give(stream, [event] {
            uint64_t number = 0;
            {
                const std::lock_guard lock(event->mutex);
                number = ++event->recorded;
            }
            reach(event, number);
        });
    }
    uint64_t number = 0;
    {
        const std::lock_guard lock(event->mutex);
        number = ++event->recorded;
    }
    return give(stream, [event, number] { reach(event, number); });
}

Result mcEventRecord(EventHandle event, Stream* stream) { return mcEventRecordWithFlags(event, stream, 0); }

Result mcStreamWaitEvent(Stream* stream, EventHandle handle, unsigned flags) {
    if (const Result result = enter_late("mcStreamWaitEvent")) return result;
    const std::shared_ptr<Event> event = *handle;
    const std::shared_ptr<Capture> theirs = event->capture.lock();
    if (theirs != nullptr && stream != nullptr) {
        const std::lock_guard lock(state().mutex);
        if (stream->capture != nullptr && stream->capture != theirs) return kCaptureIsolation;
        stream->capture = theirs;
        return 0;
    }
    if (capture_of(stream) != nullptr && flags == 0) return kCaptureIsolation;
    uint64_t number = 0;
    {
        const std::lock_guard lock(event->mutex);
        number = event->recorded;
    }
    return give(stream, [event, number] { wait_for(*event, number); });
}

Result mcEventQuery(EventHandle event) {
    if (const Result result = enter_late("mcEventQuery")) return result;
    const std::lock_guard lock((*event)->mutex);
    return (*event)->reached >= (*event)->recorded ? 0 : kNotReady;
}

Result mcEventSynchronize(EventHandle event) {
    if (const Result result = enter_late("mcEventSynchronize")) return result;
    wait_for(**event, (*event)->recorded);
    const std::lock_guard lock(state().mutex);
    return state().error;
}

Result mcEventElapsedTime(float* milliseconds, EventHandle from, EventHandle to) {
    if (const Result result = enter_late("mcEventElapsedTime")) return result;
    *milliseconds = std::chrono::duration<float, std::milli>((*to)->time - (*from)->time).count();
    return 0;
}

// ---- graphs ----

Result mcStreamBeginCapture(Stream* stream, int mode) {
    if (const Result result = enter("mcStreamBeginCapture")) return result;
    if (stream == nullptr) return kCaptureUnsupported;
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    const std::lock_guard lock(state().mutex);
    if (stream->capture != nullptr) return kInvalidValue;
    stream->capture = std::move(capture);
    return 0;
}

// Ends the capture even where it fails; there is no graph then.
Result mcStreamEndCapture(Stream* stream, Graph** graph) {
    const Result result = enter("mcStreamEndCapture");
    const std::lock_guard lock(state().mutex);
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) return kInvalidValue;
    if (capture->origin != stream) return kCaptureUnmatched;
    for (Stream* other : all_streams()) {
        if (other->capture == capture) other->capture.reset();
    }
    if (result != 0) return result;
    if (capture->invalid) return kCaptureInvalidated;
    *graph = capture->graph.release();
    state().alive["graph"].insert(*graph);
    return 0;
}

Result mcGraphInstantiate(Graph** exec, Graph* graph, void** error, char* log, size_t bytes) {
    if (const Result result = enter_late("mcGraphInstantiate")) return result;
    if (error == nullptr || log == nullptr || bytes == 0) return kInvalidValue;
    *exec = new Graph(*graph);
    const std::lock_guard lock(state().mutex);
    state().alive["exec"].insert(*exec);
    return 0;
}

Result mcGraphLaunch(Graph* exec, Stream* stream) {
    if (const Result result = enter_late("mcGraphLaunch")) return result;
    return give(stream, [work = exec->work] {
        for (const Work& each : work) each();
    });
}

Result mcGraphExecDestroy(Graph* exec) {
    const Result result = enter("mcGraphExecDestroy");
    if (fake::forget("exec", exec)) delete exec;
    return result;
}

Result mcGraphDestroy(Graph* graph) {
    const Result result = enter("mcGraphDestroy");
    if (fake::forget("graph", graph)) delete graph;
    return result;
}
}

}  // namespace fake_maca
