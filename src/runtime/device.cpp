// The list of devices, and the host's processor as one of them.
#include "runtime/device.h"

#include <unistd.h>

#include <fstream>

#include "runtime/cpu/host_memory.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/launch.h"

namespace weft::runtime {
namespace {

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) {
            const size_t colon = line.find(": ");
            if (colon != std::string::npos) return line.substr(colon + 2);
        }
    }
    return "CPU";
}

class HostDevice final : public Device {
  public:
    HostDevice() : Device("cpu", processor_name(), 0, {.host_memory = true, .synchronous = true}) {}

    const std::string& backend() const override { return backend_; }

    void* allocate(int64_t bytes, bool zeroed) override { return allocate_on_host(bytes, zeroed); }
    void release(void* memory, int64_t bytes) noexcept override { release_on_host(memory, bytes); }

    void synchronize() override {}

    void copy_from_host(void* to, const void* from, int64_t bytes) override { copy_within(to, from, bytes); }
    void copy_to_host(void* to, const void* from, int64_t bytes) override { copy_within(to, from, bytes); }
    void copy_within(void* to, const void* from, int64_t bytes) override {
        if (bytes > 0) copy_on_host(to, from, bytes);
    }
    void prepare(Code& code) override { code.wait(); }
    void fill_zero(void* to, int64_t bytes) override {
        if (bytes > 0) zero_on_host(to, bytes);
    }
    void launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                const LaunchOptions&) override {
        run_on_host(code, arguments, shape);
    }

    int64_t total_memory() const override { return pages(_SC_PHYS_PAGES); }
    int64_t free_memory() const override { return pages(_SC_AVPHYS_PAGES); }

  private:
    static int64_t pages(int what) { return int64_t{sysconf(what)} * sysconf(_SC_PAGESIZE); }

    std::string backend_;  // the default one
};

}  // namespace

Device::Device(std::string alias, std::string description, int ordinal, Capabilities capabilities)
    : alias_(std::move(alias)), description_(std::move(description)), ordinal_(ordinal), capabilities_(capabilities) {}

const std::vector<Device*>& devices() {
    static HostDevice host;
    static const std::vector<Device*> all = [] {
        std::vector<Device*> out = {&host};
        for (cuda::CudaDevice* device : cuda::cuda_devices()) out.push_back(device);
        return out;
    }();
    return all;
}

Device* find_device(const std::string& alias) {
    for (Device* device : devices()) {
        if (device->alias() == alias) return device;
    }
    return nullptr;
}

}  // namespace weft::runtime
