// The machine that this process runs on, as LLVM knows it, and the making of objects for it.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace weft::codegen::llvm_backend {

// Target machines hold caches and serve one compile at a time: they are lent, and kept for the next.
class HostTarget {
  public:
    explicit HostTarget(int optimize);
    ~HostTarget();
    HostTarget(const HostTarget&) = delete;
    HostTarget& operator=(const HostTarget&) = delete;

    llvm::TargetMachine& machine() { return *machine_; }
    // Whether the machine converts float16 itself.
    static bool has_half_instructions();
    // How many numbers of 32 bits its vectors hold; 1 where masks and gathers are missing.
    static int lanes();
    // Whether it gathers a vector in little more than the time of as many loads.
    static bool has_fast_gathers();
    static const char* triple();
    void configure(llvm::Module& module);
    std::string emit(llvm::Module& module, bool as_text);

  private:
    int optimize_;
    std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace weft::codegen::llvm_backend
