// The adjoint of one function while it is made: state that the forward sweep (forward_sweep.cpp), the reverse sweep
// over ops (reverse_sweep.cpp) and over control flow (reverse_control.cpp) share. The stages are told in reverse.cpp.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ad/adjoints.h"
#include "ad/atomic_log.h"
#include "ad/shadows.h"
#include "ir/builder.h"

namespace weft::ad {

using Values = std::vector<ir::Value*>;

// The values that a loop carries are kept for every turn up to so many turns; of longer loops for about as many times
// the logarithm of their length, and those in between are computed again.
inline constexpr int64_t kKeptTurnsLog = 10;
inline constexpr int64_t kKeptTurns = int64_t{1} << kKeptTurnsLog;

// Has an adjoint value of its own: floats that are not behind an array. Of a struct with arrays besides, the arrays in
// the adjoint are null.
bool is_active(ir::Type type);

// Makes adjoint functions of a module on demand.
class Maker {
  public:
    explicit Maker(ir::Module& module) : module_(module) {}

    ir::Module& module() { return module_; }

    // The adjoint of a function that is called.
    const ir::Function& adjoint_of(const ir::Function& function);
    // The function without its effects; itself when it has none.
    const ir::Function& replay_of(const ir::Function& function);

  private:
    ir::Module& module_;
};

class ReverseFunction {
  public:
    // `restored`: parameters whose arrays are given as they were before the kernel ran. `log`: which results of atomics
    // are given; there is a parameter for them if any are.
    ReverseFunction(Maker& maker, const ir::Function& original, ir::Function& made, std::vector<int> restored = {},
                    AtomicLog log = {});

    void run();

  private:
    // Where the cursors of the records of loads inside an If or a loop stood when it was entered: pairs of record and
    // position, or of record and the stack of a loop's positions.
    using Positions = std::vector<std::pair<ir::Value*, ir::Value*>>;

    struct Tape {
        Values stacks;               // one a carried value
        Positions positions;         // one a record
        ir::Value* turns = nullptr;  // how many there are, or were
        // Where not every turn's values are kept: a stack of the turns whose are.
        ir::Value* kept = nullptr;
    };

    ir::Value* primal(const ir::Value* value) const;
    Values primals(std::span<ir::Value* const> values) const;

    // Forward sweep (forward_sweep.cpp)
    // Copies the ops of a region without their effects. `taped`: loops of this very region leave what their reverse
    // needs; those further in are taped when their own region is reversed.
    void forward(const ir::Region& region, bool taped);
    void plain(const ir::Op& op);
    bool without_effect(const ir::Op& op, ir::ValueMap& map);
    // Memory whose earlier content is needed: what is loaded from it is recorded.
    bool is_restored(const ir::Value* ref) const;
    // One record (a stack) for each load from a restored array.
    void make_records();
    Values records_inside(const ir::Op& op) const;
    void taped_loop(const ir::Op& op);
    // What a taped loop does at the beginning of a turn; `turn` counts them where not all are kept.
    void keep(const ir::Op& op, const Tape& tape, ir::Value* turn, std::span<ir::Value* const> carried);
    // The turn after `turn` that is kept next on the way to turn `last`.
    ir::Value* next_kept(ir::Value* turn, ir::Value* last);

    // Reverse sweep over ops (reverse_sweep.cpp)
    void reverse(const ir::Region& region, Adjoints& adjoints);
    void op(const ir::Op& op, Adjoints& adjoints);
    // Adds to memory, leaf by leaf: atomically, as other items may add to the same place.
    void add_gradient(ir::Value* place, ir::Value* g);
    void clear_gradient(ir::Value* place);
    void load(const ir::Op& op, Adjoints& adjoints);
    // What was written takes the place's gradient with it; what stood there before has none through this place.
    void store(const ir::Op& op, Adjoints& adjoints);
    void atomic(const ir::Op& op, Adjoints& adjoints);
    ir::Value* where_equal(ir::Value* a, ir::Value* b, ir::Value* g);
    void call(const ir::Op& op, Adjoints& adjoints);
    void snippet(const ir::Op& op, Adjoints& adjoints);
    // A snippet sees memory as it is when it runs, which restored arrays are not.
    void check_memory_of_snippet(const ir::Op& op);

    // and over control flow (reverse_control.cpp)
    void branch(const ir::Op& op, Adjoints& adjoints);
    // How many turns a For has: ceil((end - begin) / step), at least 0.
    ir::Value* trip_count(const ir::Op& op);
    void loop(const ir::Op& op, Adjoints& adjoints);
    // The carried values at the beginning of a turn, from the tape: computed again from those of the last turn before
    // it that were kept, where they were not.
    Values carried_at(const ir::Op& op, const Tape& tape, ir::Value* turn);
    ir::Value* index_at(const ir::Op& op, ir::Value* turn);
    // How a loop runs backwards: the range, whether it is that of the loop's own index, and the turn that belongs to
    // it.
    struct Backwards {
        ir::Value* begin;
        ir::Value* end;
        ir::Value* step;
        bool by_index;
        std::function<ir::Value*(ir::Value*)> turn;
    };
    Backwards backwards(const ir::Op& op, const Tape& tape);

    Maker& maker_;
    const ir::Function& original_;
    ir::Builder b_;
    ir::ValueMap primal_;
    Shadows shadows_;
    std::unordered_map<const ir::Op*, Tape> tapes_;
    std::vector<int> restored_;
    AtomicLog log_;
    ir::Value* logged_ = nullptr;  // the parameter
    std::unordered_map<const ir::Op*, ir::Value*> records_;
    std::unordered_map<const ir::Op*, Positions> positions_;
    std::unordered_set<const ir::Op*> before_snippets_;  // snippets.h
    bool recording_ = false;
    bool selects_ = false;
};

}  // namespace weft::ad
