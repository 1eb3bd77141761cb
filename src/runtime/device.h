// A device that kernels run on: its memory, its compiler backend, and what it can do.
// Shared code asks capabilities, never which device it has. Not here: arrays (array.h), running kernels (launch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::runtime {

struct Capabilities {
    bool host_memory = false;  // the host reads and writes its memory directly
    bool synchronous = false;  // a launch has ended when it returns
};

class Device {
  public:
    virtual ~Device() = default;
    const std::string& alias() const { return alias_; }              // "cpu"
    const std::string& description() const { return description_; }  // the processor's name
    int ordinal() const { return ordinal_; }                         // among devices of its kind
    const Capabilities& capabilities() const { return capabilities_; }
    // The code generator for this device (codegen/backend.h); a setting may name another one of the same kind.
    virtual const std::string& backend() const = 0;

    // At least `bytes` at 64-byte alignment; the content is zero when `zeroed`. Throws std::bad_alloc. 0 bytes: null.
    virtual void* allocate(int64_t bytes, bool zeroed) = 0;
    virtual void release(void* memory, int64_t bytes) noexcept = 0;
    virtual void synchronize() = 0;
    virtual int64_t total_memory() const = 0;
    virtual int64_t free_memory() const = 0;

  protected:
    Device(std::string alias, std::string description, int ordinal, Capabilities capabilities);

  private:
    std::string alias_;
    std::string description_;
    int ordinal_;
    Capabilities capabilities_;
};

// All devices of this process; the host's processor is first and always there.
const std::vector<Device*>& devices();
// By alias; null when there is none.
Device* find_device(const std::string& alias);

}  // namespace weft::runtime
