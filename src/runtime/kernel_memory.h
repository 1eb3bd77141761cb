// What a kernel knows of its earlier processes: which entries of a pack are its own, and whether they still hold.
// `bind/source_questions.cpp` answers from Python objects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/source_pack.h"

namespace weft::runtime {

class KernelMemory {
  public:
    KernelMemory(std::shared_ptr<SourcePack> pack, std::string name) : pack_(std::move(pack)), name_(std::move(name)) {}
    virtual ~KernelMemory() = default;
    KernelMemory(const KernelMemory&) = delete;
    KernelMemory& operator=(const KernelMemory&) = delete;

    SourcePack& pack() { return *pack_; }
    const std::shared_ptr<SourcePack>& shared_pack() const { return pack_; }
    // Of the kernel among those of its file.
    const std::string& name() const { return name_; }

    // Runs `lower`; the questions about the world outside the function's text that were asked meanwhile, with their
    // answers. Empty where what was made depends on more.
    virtual std::string watch(const std::function<void()>& lower) = 0;
    // Whether those questions have these answers now. Neither is to be called with the GIL held.
    virtual bool holds(std::string_view questions) = 0;

  private:
    std::shared_ptr<SourcePack> pack_;
    std::string name_;
};

}  // namespace weft::runtime
