// The arguments of one launch, and the kernel instance that they choose.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <vector>

#include "bind/kernels.h"
#include "bind/pack.h"
#include "codegen/backend.h"
#include "runtime/kernel.h"

namespace weft::bind {

// Where a launch runs, and how.
struct Where {
    runtime::Device& device;
    runtime::LaunchOptions options;
};

// The arguments of one launch: inputs, then outputs, then defaults.
class Arguments {
  public:
    Arguments(PyObject* inputs, PyObject* outputs);
    void add(PyObject* argument) {
        if (count_ < kInline) {
            inline_[count_] = argument;
        } else {
            if (more_.empty()) more_.assign(inline_.begin(), inline_.end());
            more_.push_back(argument);
        }
        ++count_;
    }
    size_t count() const { return count_; }
    PyObject* operator[](size_t i) const { return count_ <= kInline ? inline_[i] : more_[i]; }
    void replace(size_t i, const nanobind::object& argument) {
        (count_ <= kInline ? inline_[i] : more_[i]) = argument.ptr();
        replaced_.push_back(argument);
    }

    nanobind::tuple tuple() const;

  private:
    static constexpr size_t kInline = 16;
    std::array<PyObject*, kInline> inline_{};
    std::vector<PyObject*> more_;
    size_t count_ = 0;
    std::array<nanobind::object, 2> holders_;
    std::vector<nanobind::object> replaced_;
    size_t holder_count_ = 0;
};

// The instance for these arguments; it adds the defaults of the last parameters where arguments are missing.
runtime::KernelInstance& instance_of(nanobind::handle kernel, Arguments& arguments, int block_dim);

void pack_all(ArgumentBlock& block, const Arguments& arguments, const runtime::Code& code, runtime::Device& device);

// The launch's dimensions: an int, or a sequence of up to four.
codegen::LaunchShape read_shape(PyObject* dim);

// Whether launches on the CPU have blocks of several threads: warp.config.enable_cpu_blocks.
bool cpu_blocks();
void set_cpu_blocks(bool enabled);

}  // namespace weft::bind
