// What a tape keeps of a launch, so that its adjoint gets the values which the derivative needs: the arguments as they
// were, and copies of arrays, taken just before somebody overwrites them, or before the launch where the kernel itself
// does. Nothing is copied that is not overwritten, or that the adjoint does not read. Of arrays that may be written
// unseen, a hash of the content is kept and compared. Where another library lends memory and counts its writes, the
// count tells who wrote; on devices whose memory the host cannot read it takes the place of the hash.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "runtime/array.h"
#include "runtime/kernel.h"
#include "runtime/overlaps.h"

namespace weft::runtime {

// Where in the program something happens, for messages.
class ProgramPlace {
  public:
    virtual ~ProgramPlace() = default;
    virtual std::string str() const = 0;
};

class LaunchRecord : public WriteWatcher, public std::enable_shared_from_this<LaunchRecord> {
  public:
    // An array that the launch was given: as parameter `parameter` itself, or inside the struct that is. Its descriptor
    // is at `offset` of the argument block; -1: the struct holds it otherwise.
    struct Given {
        size_t parameter;
        Array array;
        int64_t offset;
        bool is_member = false;
        // Of the content, where it may be written unseen.
        std::optional<uint64_t> hash = {};
        // What Array::write_counter() said, where there is one.
        std::optional<int64_t> writes = {};
    };

    // `captured`: the launch is recorded in a graph, which may run it many times, so that nothing can be saved.
    LaunchRecord(KernelInstance& instance, std::vector<Given> arrays, std::span<const std::byte> block,
                 const codegen::LaunchShape& shape, bool captured, Overlaps overlaps = {});
    ~LaunchRecord() override;
    // The arrays of a launch that overlap.
    static Overlaps overlaps(std::span<const Given> arrays, const std::vector<Parameter>& parameters);
    // The kernel whose adjoint is right for arrays that overlap so; makes adjoints.
    static KernelInstance& instance_for(KernelInstance& instance, std::span<const Given> arrays,
                                        const Overlaps& overlaps);

    // What was launched.
    KernelInstance& instance() const { return instance_; }
    // The code that is to run, on the kernel's arguments and then, where it keeps results of atomics, log().
    Code& forward();
    bool has_members() const;
    // Whether before_launch() has anything to do.
    bool must_prepare() const { return !arrays_.empty() && instance_.may_need_more(); }
    // How the launch was divided, for its adjoint.
    void set_blocks(int block_dim, int max_blocks) { blocks_ = {block_dim, max_blocks, nullptr}; }
    const LaunchOptions& blocks() const { return blocks_; }
    int32_t block_dim() const { return shape_.block_dim; }
    // To be called before the kernel runs: copies what the kernel overwrites though its derivative needs it.
    void before_launch();
    // To be called after it: from now on nothing that the derivative needs is lost. `place` tells where in the program
    // the launch is; asked only when something may be written unseen.
    void watch(std::shared_ptr<const ProgramPlace> (*place)());
    void before_write(int tag) noexcept override;
    void before_export(int tag) noexcept override;

    // The arguments of the adjoint that are the kernel's own, with what was overwritten as it was; a copy that the
    // adjoint may write is made anew each time. Returns the arrays whose memory they point to. Throws UserError
    // (Gradient) when values are lost.
    std::vector<Array> write_arguments(std::byte* block);
    // Results of atomics; null where the adjoint needs none.
    const Array* log() const { return log_ ? &*log_ : nullptr; }
    // To be called after the adjoint with the gradient of each parameter that is an array, or null: sets the gradient
    // to zero of what atomics min and max have replaced.
    void clear_replaced(std::span<const Array* const> gradients);

  private:
    bool adjoint_reads(size_t parameter);
    void save(size_t given);
    // Copies of those arrays of a group that the adjoint must be given, by index.
    std::map<size_t, Array> copies_of(const std::vector<size_t>& group, const std::vector<int>& parameters) const;
    void save_together(const std::vector<size_t>& group);
    bool overlaps_others(size_t given) const;
    void keep_hash(size_t given) noexcept;
    // Throws UserError where the content may be another than at the launch. `written`: the lender has written since.
    void check_unseen(size_t given, bool written) const;
    // Asks the lender, hence not to be called with the lock.
    bool lender_has_written(size_t given) const;
    // Refuses numbers that are written over numbers of another kind which have a gradient.
    void check_reinterpreted(size_t given) const;
    [[noreturn]] void refuse(size_t given, const std::string& why) const;
    // Why results of atomics are not kept for the adjoint; empty where they can be.
    std::string why_not_kept();
    std::string launch() const;
    const Array& as_it_was(size_t given) const;

    KernelInstance& instance_;
    std::vector<Given> arrays_;
    std::vector<std::byte> block_;
    codegen::LaunchShape shape_;
    bool captured_;
    Overlaps overlaps_;
    std::shared_ptr<const ProgramPlace> place_;
    std::optional<Array> log_;
    std::vector<int> kept_stacks_;  // columns of the log that are addresses
    std::string not_kept_;
    LaunchOptions blocks_;
    std::mutex mutex_;
    // By index of `arrays_`:
    std::map<size_t, Array> saved_;
    std::map<size_t, Array> before_;      // what atomics min and max may replace
    std::map<size_t, std::string> lost_;  // why its values could not be saved
};

// A dense copy.
Array clone(const Array& array);

}  // namespace weft::runtime
