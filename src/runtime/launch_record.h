// What a tape keeps of a launch, so that its adjoint gets the values which the derivative needs: copies of arrays,
// taken just before somebody overwrites them, or before the launch where the kernel itself does. Nothing is copied that
// is not overwritten, or that the adjoint does not read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/array.h"
#include "runtime/kernel.h"

namespace weft::runtime {

class LaunchRecord : public WriteWatcher, public std::enable_shared_from_this<LaunchRecord> {
  public:
    // An array that the launch was given: as parameter `parameter` itself, or inside the struct that is.
    struct Given {
        size_t parameter;
        Array array;
        bool is_member;
    };

    LaunchRecord(KernelInstance& instance, std::vector<Given> arrays);

    // What was launched.
    KernelInstance& instance() const { return instance_; }
    // To be called before the kernel runs: copies what the kernel overwrites though its derivative needs it.
    void before_launch();
    // To be called after it: from now on nothing that the derivative needs is lost.
    void watch();
    void before_write(int tag) noexcept override;

    // What the adjoint is to be given as parameter `parameter`: null for the launch's own array. A copy that the
    // adjoint may write is made anew each time. Throws UserError (Gradient) when the values are lost.
    std::unique_ptr<Array> for_adjoint(size_t parameter);

  private:
    bool adjoint_reads(size_t parameter);

    KernelInstance& instance_;
    std::vector<Given> arrays_;
    std::mutex mutex_;
    std::map<size_t, Array> saved_;
    std::map<size_t, std::string> lost_;  // parameter: why its values could not be saved
};

// A dense copy.
Array clone(const Array& array);

}  // namespace weft::runtime
