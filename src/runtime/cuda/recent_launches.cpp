#include "runtime/cuda/recent_launches.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"

namespace weft::runtime::cuda {
namespace {

struct Noted {
    std::atomic<const LaunchOrigin*> origin{nullptr};
    std::atomic<StreamHandle> stream{nullptr};
    std::atomic<int> device{0};
};

constexpr uint64_t kKept = 64;

struct Ring {
    std::array<Noted, kKept> launches;
    std::atomic<uint64_t> count{0};
    std::atomic<uint64_t> idle_at{0};  // all that was noted before has ended

    Noted& at(uint64_t number) { return launches.at(number % kKept); }
};

Ring& ring() {
    static Ring& instance = *new Ring;
    return instance;
}

std::atomic<bool> g_verify{false};

// One after another of the same kind.
struct Run {
    const LaunchOrigin* origin;
    int device;
    StreamHandle stream;
    int launches;
};

std::vector<Run> recent_runs() {
    Ring& r = ring();
    const uint64_t count = r.count.load(std::memory_order_acquire);
    std::vector<Run> runs;
    for (uint64_t n = count > kKept ? count - kKept : 0; n < count; ++n) {
        const Noted& noted = r.at(n);
        const LaunchOrigin* origin = noted.origin.load(std::memory_order_acquire);
        if (origin == nullptr) continue;
        const int device = noted.device.load(std::memory_order_relaxed);
        StreamHandle stream = noted.stream.load(std::memory_order_relaxed);
        if (!runs.empty() && runs.back().origin == origin && runs.back().device == device &&
            runs.back().stream == stream) {
            ++runs.back().launches;
        } else {
            runs.push_back({origin, device, stream, 1});
        }
    }
    return runs;
}

std::string described(const Run& run) {
    std::string out = run.origin->what;
    if (!run.origin->file.empty()) out += " (" + run.origin->file + ":" + std::to_string(run.origin->line) + ")";
    std::array<char, 24> stream{};
    std::snprintf(stream.data(), stream.size(), "%#zx", reinterpret_cast<size_t>(run.stream));
    out += " on " + driver().vendor.prefix + ":" + std::to_string(run.device) + ", stream " + stream.data();
    return run.launches == 1 ? out : out + ", " + std::to_string(run.launches) + " times";
}

}  // namespace

const LaunchOrigin* launch_origin(LaunchOrigin origin) {
    using Key = std::tuple<std::string, std::string, int>;
    static std::mutex mutex;
    static auto& known = *new std::map<Key, LaunchOrigin>;
    const std::lock_guard lock(mutex);
    const Key key(origin.what, origin.file, origin.line);
    return &known.try_emplace(key, std::move(origin)).first->second;
}

void note_launch(const LaunchOrigin* origin, int device, StreamHandle stream) {
    Ring& r = ring();
    Noted& noted = r.at(r.count.fetch_add(1, std::memory_order_acq_rel));
    noted.stream.store(stream, std::memory_order_relaxed);
    noted.device.store(device, std::memory_order_relaxed);
    noted.origin.store(origin, std::memory_order_release);
}

WaitedFor::WaitedFor(int device) : device_(device), all_streams_(true), end_(ring().count.load()) {}

WaitedFor::WaitedFor(int device, StreamHandle stream)
    : device_(device), all_streams_(false), stream_(stream), end_(ring().count.load()) {}

void WaitedFor::ended() const {
    Ring& r = ring();
    const uint64_t begin = std::max(r.idle_at.load(std::memory_order_relaxed), end_ > kKept ? end_ - kKept : 0);
    bool all = true;
    for (uint64_t n = begin; n < end_; ++n) {
        // What has been noted since in its place is later.
        if (r.count.load(std::memory_order_acquire) - n > kKept) continue;
        Noted& noted = r.at(n);
        const bool mine = noted.device.load(std::memory_order_relaxed) == device_ &&
                          (all_streams_ || noted.stream.load(std::memory_order_relaxed) == stream_);
        if (mine) {
            noted.origin.store(nullptr, std::memory_order_release);
        } else {
            all = all && noted.origin.load(std::memory_order_relaxed) == nullptr;
        }
    }
    if (all) r.idle_at.store(end_, std::memory_order_relaxed);
}

bool is_late(Result result) {
    // ECC and NVLink errors, illegal addresses and instructions, time-outs, asserts, and launches that failed
    // otherwise.
    constexpr std::array kLate = {214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719};
    return std::ranges::find(kLate, result) != kLate.end();
}

void throw_late(const std::string& message) {
    const std::vector<Run> runs = recent_runs();
    if (runs.empty()) {
        throw UserError(ErrorKind::Runtime, message).with_note("no launch of Weft's was under way");
    }
    const bool single = std::ranges::all_of(runs, [&](const Run& run) { return run.origin == runs[0].origin; });
    UserError error(ErrorKind::Runtime, message, single ? runs[0].origin->location() : Location());
    error = error.with_note(single ? "caused by:" : "caused by one of these launches, the newest last:");
    for (const Run& run : runs) error = error.with_note("  " + described(run));
    const uint64_t begun = ring().count.load() - ring().idle_at.load();
    if (begun > kKept) {
        error =
            error.with_note("(the last " + std::to_string(kKept) + " of up to " + std::to_string(begun) + " launches)");
    }
    if (!single)
        error =
            error.with_note("with warp.config.verify_cuda = True each launch is waited for, and the error names it");
    throw error;
}

bool verifies_launches() { return g_verify.load(std::memory_order_relaxed); }
void set_verifies_launches(bool enabled) { g_verify.store(enabled, std::memory_order_relaxed); }

}  // namespace weft::runtime::cuda
