// What emits a kernel's body for lanes (lanes.h), for the files that do it: lanes.cpp ops, lane_control.cpp arms and
// loops, lane_addresses.cpp places of elements, lane_memory.cpp loads and stores, lane_atomics.cpp updates.
// A leaf of a value is either scalar (all lanes have it) or a vector; ops widen their operands when one of them is a
// vector. Lanes that a mask leaves out compute whatever they like, but touch no memory; the regions of an `if` run only
// if some lane takes them, so that what is scalar inside may be done without a mask.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "codegen/llvm/lane_shuffles.h"
#include "codegen/llvm/lanes.h"
#include "opt/item_forms.h"

namespace weft::codegen::llvm_backend {

// A kernel may have what lanes do not do: it then runs item by item.
struct NotForLanes {};

// Where each lane's value lies: `base`, plus lane * step bytes, plus an offset a lane.
struct LaneAddress {
    llvm::Value* base = nullptr;
    llvm::Value* step = nullptr;     // i64; null: 0
    llvm::Value* offsets = nullptr;  // i64 a lane, or i32 where the launch promises that they suffice; null: 0
    int64_t distance = 0;            // the step in bytes where the launch is known to have it, else 0
    int64_t member = 0;              // where in elements of `distance` bytes it lies
    // Where an index of the affine address may be negative and count from the end: whether it is not (i1), and the
    // address that holds in any case. Likewise where an index is the remainder of an affine one.
    llvm::Value* affine = nullptr;
    llvm::Value* other_base = nullptr;
    llvm::Value* other_offsets = nullptr;
    // The remainders are further offsets of that address: computed where they are needed, as divisions are slow.
    struct Remainder {
        const ir::Op* op;
        llvm::Value* extent;
        llvm::Value* stride;
    };
    llvm::SmallVector<Remainder, 1> remainders = {};

    bool uniform() const { return step == nullptr && offsets == nullptr; }
};

class LaneEmitter {
  public:
    LaneEmitter(ModuleContext& module, const ir::Function& kernel, llvm::Function& target, int lanes)
        : module_(module),
          kernel_(kernel),
          target_(target),
          lanes_(static_cast<unsigned>(lanes)),
          forms_(kernel, module.coordinates),
          builder_(llvm::BasicBlock::Create(module.llvm.getContext(), "entry", &target)),
          scalars_(module.llvm, builder_, module.machine, module.options.fast_math),
          shuffles_(builder_, lanes_) {
        builder_.setFastMathFlags(math_flags(module.options));
        if (module.lines != nullptr) builder_.SetCurrentDebugLocation(module.lines->begin(kernel, target));
    }

    LaneBody emit();

  private:
    // What is done with arrays besides storing whole elements.
    void note_reads(const ir::Op& op);
    static const ir::Value* array_of(const ir::Value* ref) {
        return ref->op != nullptr && ref->op->code == ir::Opcode::At ? ref->op->operands[0] : nullptr;
    }

    // --- values ---

    static bool is_vector(const llvm::Value* v) { return v->getType()->isVectorTy(); }
    llvm::Type* wide(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }
    llvm::Value* widen(llvm::Value* v) { return is_vector(v) ? v : builder_.CreateVectorSplat(lanes_, v); }
    llvm::Value* widen_if(bool wanted, llvm::Value* v) { return wanted ? widen(v) : v; }
    const Scalars& value(const ir::Value* v) const {
        const auto place = values_.find(v);
        WEFT_CHECK(place != values_.end(), "value %" + std::to_string(v->id) + " was not emitted");
        return place->second;
    }
    llvm::Value* scalar(const ir::Value* v) const { return value(v).front(); }
    void define(const ir::Op& op, Scalars leaves) { values_[op.result()] = std::move(leaves); }
    llvm::Type* leaf_type(const Leaf& leaf) {
        return leaf.kind == LeafKind::Number    ? scalars_.type(leaf.scalar)
               : leaf.kind == LeafKind::Pointer ? static_cast<llvm::Type*>(builder_.getPtrTy())
                                                : builder_.getInt64Ty();
    }
    // The leaves of a value that paths join: as wide as its form says, whatever those of one path are.
    llvm::SmallVector<llvm::Type*, 4> joined_types(const ir::Value* v);
    Scalars fitted(const ir::Value* v, const ir::Value* like);
    llvm::BasicBlock* block(const char* name) {
        return llvm::BasicBlock::Create(module_.llvm.getContext(), name, &target_);
    }

    // --- masks ---

    llvm::Value* both(llvm::Value* mask, llvm::Value* condition) {
        condition = widen(condition);
        return mask == nullptr ? condition : builder_.CreateAnd(mask, condition);
    }
    llvm::Value* any(llvm::Value* mask) { return builder_.CreateOrReduce(mask); }
    llvm::Value* full_mask() {
        return mask_ != nullptr ? mask_ : llvm::Constant::getAllOnesValue(wide(builder_.getInt1Ty()));
    }

    // --- control flow ---

    void region(const ir::Region& region);
    bool is_flat(const ir::Region& region) const;
    void if_op(const ir::Op& op);
    void uniform_if(const ir::Op& op, llvm::Value* condition);
    // Carried values, and with them the lanes that still turn.
    struct Turn {
        llvm::BasicBlock* start = nullptr;
        llvm::BasicBlock* exit = nullptr;
        llvm::SmallVector<llvm::SmallVector<llvm::PHINode*, 4>, 4> carried;
        llvm::PHINode* active = nullptr;  // null: all lanes turn as one
    };
    // Opens the block that every turn starts with.
    Turn begin_turns(const ir::Op& op, llvm::Value* active, llvm::BasicBlock* from);
    void enter(const ir::Op& op, Turn& turn, const llvm::SmallVector<Scalars, 4>& initial, llvm::BasicBlock* from);
    llvm::SmallVector<Scalars, 4> initial_values(const ir::Op& op);
    // What the body yields; lanes that do not turn keep what they had.
    llvm::SmallVector<Scalars, 4> next_values(const ir::Op& op, const Turn& turn);
    void for_op(const ir::Op& op);
    void while_op(const ir::Op& op);

    // --- addresses ---

    llvm::Value* wrapped(llvm::Value* index, llvm::Value* extent);
    // An index as i64, or one a lane.
    llvm::Value* index(const ir::Value* v, llvm::Value* extent);
    // The first lane's value of an affine or uniform integer, as i64; taken not to overflow, as indices are.
    llvm::Value* first_lane(const ir::Value* v);
    llvm::Value* last_of_lanes(llvm::Value* first, int64_t step);
    void require(llvm::Value*& all, llvm::Value* condition);
    // x % m of an affine x: affine too while the lanes do not wrap around, which is most of the time in what is
    // periodic.
    bool is_affine_remainder(const ir::Value* v);
    // The first lane's remainder; `holds` gets the condition under which those of the other lanes follow by `step`.
    // Indices are at most once around: no division is needed.
    llvm::Value* first_remainder(const ir::Op& op, int64_t step, llvm::Value*& holds);
    llvm::Value* remainder_offsets(const LaneAddress& a);
    static llvm::Value* sum(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y) {
        return x == nullptr ? y : y == nullptr ? x : b.CreateAdd(x, y);
    }
    LaneAddress element(const ir::Op& op);
    void demand(const LaneCondition& condition);
    // Whether the launch can promise that offsets of 32 bits reach all elements.
    bool counts_narrow(const ir::Op& at) const;
    // An index a lane as i32, and as bytes from the array's start.
    llvm::Value* narrow_offsets(const ir::Value* v, llvm::Value* extent, llvm::Value* stride);
    llvm::Value* offset(llvm::Value* address, int64_t bytes);
    LaneAddress member_at(const ir::Op& op);
    llvm::Value* lane_offsets(const LaneAddress& a);
    LaneAddress otherwise(const LaneAddress& a);

    // --- memory ---

    llvm::Type* memory_type(ir::Scalar scalar);
    llvm::Value* from_memory(ir::Scalar scalar, llvm::Value* v);
    llvm::Value* to_memory(ir::Scalar scalar, llvm::Value* v);
    // Whether the lanes' values fill one run of memory, number by number of one type.
    bool is_run(ir::Type type, const LaneAddress& a);
    // Of how many numbers elements are that lie in a run of memory and have values of this type among these numbers; 0:
    // they do not.
    unsigned numbers_of_run(ir::Type type, const LaneAddress& a);
    // A run of all lanes' values is `count` vectors; of one of them the mask of its numbers.
    llvm::Value* run_mask(unsigned piece, unsigned count);
    Scalars load(ir::Type type, const LaneAddress& a);
    // Asks for what lanes further on will read of a run: the processor's own guesses end with a page, and a row of a
    // few pages is mostly waiting.
    void fetch_ahead(const ir::Op& access);
    // How many of the first leaves lie side by side, up to what a lane loads at once.
    unsigned row_length(llvm::ArrayRef<Leaf> leaves) const;
    // Numbers of elements that lie anywhere: lane by lane, for a load of a few numbers costs what one of a number does.
    LaneShuffles::Vectors load_rows(const Leaf& leaf, unsigned count, llvm::Value* base, llvm::Value* places);
    // Stores a run that nothing of this launch reads: what does not fit in the caches need not come there, which
    // saves reading it first.
    void stream(llvm::ArrayRef<llvm::Value*> run, const LaneAddress& a);
    // Stores some of the `count` numbers of elements that lie in a run: the numbers between stay as they are.
    void store_among(llvm::ArrayRef<Leaf> leaves, const Scalars& values, const LaneAddress& a, unsigned count);
    void store(ir::Type type, const Scalars& values, const LaneAddress& a, bool only_written = false);
    // Where an index may count from the end: the affine address if it holds, else the general one.
    void by_address(const LaneAddress& a, llvm::function_ref<void(const LaneAddress&)> work);
    Scalars load_any(ir::Type type, const LaneAddress& a);

    // --- atomics ---

    void atomic(const ir::Op& op);
    // Lanes meet neither each other nor other threads, if the launch says so.
    void own_update(const ir::Op& op, const LaneAddress& a);
    // Lanes are summed pairwise, and the sum is added once.
    void reduce(const ir::Op& op, const LaneAddress& a);
    // A vector in memory, for its elements to be read one by one; what is no vector stays.
    llvm::Value* laid_out(llvm::Value* v);
    llvm::Value* of_lane(llvm::Value* laid_out, llvm::Value* lane);
    // Lane by lane: `work` gets the lane's number.
    void for_each_lane(llvm::function_ref<void(llvm::Value*)> work);
    // Lane by lane of those that the mask takes: `work` gets the lane's number and what the lane before it made of
    // `carried`; what the last one made is returned.
    using Carried = llvm::SmallVector<llvm::Value*, 4>;
    Carried for_each_active_lane(const Carried& carried,
                                 llvm::function_ref<Carried(llvm::Value*, const Carried&)> work);
    // Sums of float32 where no other thread comes between: several numbers at once.
    bool is_sum_of_rows(const ir::Op& op);
    void sum_rows(const ir::Op& op, const LaneAddress& a);
    void in_order(const ir::Op& op, const LaneAddress& a, bool used);
    void lane_by_lane(const ir::Op& op, const LaneAddress& a, bool used);

    // --- ops ---

    // Calls make(i, operands) for each leaf of elementwise operands, widened where one of them is a vector.
    void by_leaf(const ir::Op& op, llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> make);
    // Numbers that only calls convert.
    bool is_called(ir::Type type) const;
    llvm::Value* chosen(llvm::Value* condition, llvm::Value* a, llvm::Value* b);
    void op(const ir::Op& op);
    llvm::Value* is_at(llvm::Value* place, size_t i);

    ModuleContext& module_;
    const ir::Function& kernel_;
    llvm::Function& target_;
    unsigned lanes_;
    opt::ItemForms forms_;
    llvm::IRBuilder<> builder_;
    ScalarEmitter scalars_;
    LaneShuffles shuffles_;
    NonNegative non_negative_;
    llvm::Value* shape_ = nullptr;
    llvm::Value* item_ = nullptr;
    llvm::SmallVector<llvm::Value*, 4> coordinates_;
    unsigned first_leaf_ = 0;
    llvm::Constant* iota_ = nullptr;
    llvm::Value* mask_ = nullptr;  // null: all lanes
    std::unordered_map<const ir::Value*, Scalars> values_;
    std::unordered_map<const ir::Value*, LaneAddress> addresses_;
    std::unordered_map<const ir::Value*, llvm::Value*> wide_loops_;
    std::unordered_set<const ir::Value*> used_;
    std::unordered_set<const ir::Value*> read_;
    std::set<std::vector<const ir::Value*>> fetched_;  // arrays, each with the indices of a row
    bool streams_ = false;
    std::vector<LaneCondition> conditions_;
};

}  // namespace weft::codegen::llvm_backend
