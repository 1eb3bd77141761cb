// A device that kernels run on: its memory, its compiler backend, and what it can do.
// Shared code asks capabilities, never which device it has. Not here: arrays (array.h), running kernels (launch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/backend.h"

namespace weft::runtime {

struct Capabilities {
    bool host_memory = false;  // the host reads and writes its memory directly
    bool synchronous = false;  // a launch has ended when it returns
    bool variants = false;     // its architecture has variants, named by a suffix ("sm_90a")
};

class Code;

// What a launch may ask of a device that runs blocks of threads.
struct LaunchOptions {
    int block_dim = 256;     // threads of a block
    int max_blocks = 0;      // at once; 0: no bound
    void* stream = nullptr;  // of the device; null: its current one
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

    // What codegen::Options::architecture is to be for this device.
    virtual std::string architecture() const { return {}; }
    // The threads of a block that code is made for where neither user nor launch says; 0: it needs no bound.
    virtual int usual_bound() const { return 0; }
    // Between the host's memory and this device's. On return the host's memory is free again, or filled.
    virtual void copy_from_host(void* to, const void* from, int64_t bytes) = 0;
    virtual void copy_to_host(void* to, const void* from, int64_t bytes) = 0;
    // Within this device's memory, not overlapping; after what was begun before, and before what is begun later.
    virtual void copy_within(void* to, const void* from, int64_t bytes) = 0;
    virtual void fill_zero(void* to, int64_t bytes) = 0;
    // Whether work is recorded now, to run later: what it uses is handed to keep(), and lives as long as the record.
    virtual bool is_recording() { return false; }
    // keeps(): whether keep() has any effect now.
    virtual bool keeps() const { return false; }
    virtual void keep(std::shared_ptr<const void>) {}
    // Compiles and loads what a launch would.
    virtual void prepare(Code& code) = 0;
    // Runs all items (launch.h).
    virtual void launch(Code& code, const std::byte* arguments, const codegen::LaunchShape& shape,
                        const LaunchOptions& options) = 0;

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
