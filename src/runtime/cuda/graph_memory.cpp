#include "runtime/cuda/graph_memory.h"

#include <algorithm>
#include <utility>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/recent_launches.h"

namespace weft::runtime::cuda {
namespace {

constexpr int kCaptureRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

}  // namespace

std::shared_ptr<GraphMemory> GraphMemory::kept_for_ever(CudaDevice& device) {
    auto made = std::make_shared<GraphMemory>(device);
    keep_for_ever(made);
    return made;
}

void GraphMemory::keep_for_ever(std::shared_ptr<GraphMemory> memory) {
    static std::mutex mutex;
    static auto& all = *new std::vector<std::shared_ptr<GraphMemory>>;
    const std::lock_guard lock(mutex);
    all.push_back(std::move(memory));
}

GraphMemory::~GraphMemory() {
    // Objects first: what they give back may come here.
    objects_.clear();
    for (const Address block : blocks_) device_.free_block(block);
}

void GraphMemory::take(Address block) {
    const std::lock_guard lock(mutex_);
    blocks_.push_back(block);
}

void GraphMemory::keep(std::shared_ptr<const void> object) {
    const std::lock_guard lock(mutex_);
    objects_.push_back(std::move(object));
}

void GraphMemory::note(const LaunchOrigin* launch) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(launches_, launch) == launches_.end()) launches_.push_back(launch);
}

const LaunchOrigin* GraphMemory::origin() const {
    const std::lock_guard lock(mutex_);
    std::string what = "a captured graph";
    for (const LaunchOrigin* launch : launches_) {
        what += (launch == launches_.front() ? " of " : ", ") + launch->what;
    }
    if (launches_.size() != 1) return launch_origin({what, "", 0, [] { return Location(); }});
    const LaunchOrigin& only = *launches_.front();
    return launch_origin({what, only.file, only.line, only.location});
}

OutsideCapture::OutsideCapture() : mode_(kCaptureRelaxed) { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

OutsideCapture::~OutsideCapture() { driver().cuThreadExchangeStreamCaptureMode(&mode_); }

}  // namespace weft::runtime::cuda
