// Results of integer atomics that a derivative needs again, such as slots that a counter hands out: no repetition would
// give the same ones, so the kernel writes them to a log, which its adjoint reads. An atomic outside of loops has a
// number there; one in a loop a stack of all its results, which outlives the item (StackKeep).
#pragma once

#include <algorithm>
#include <vector>

#include "ir/builder.h"

namespace weft::ad {

struct AtomicLog {
    // Of an item's row: the number itself, or the address of a stack, followed by where that ends.
    struct Place {
        const ir::Op* atomic;
        int column;
        bool is_stack;
    };
    std::vector<Place> places;
    int columns = 0;
    // Where the addresses are.
    std::vector<int> stacks;

    const Place* find(const ir::Op& atomic) const {
        const auto found = std::ranges::find(places, &atomic, &Place::atomic);
        return found == places.end() ? nullptr : &*found;
    }
};

// The type of the log: a row an item.
ir::Type log_type();

// The atomics of the kernel's own body whose results can be logged: of integers, and used.
AtomicLog loggable_atomics(const ir::Function& kernel);

// The place in the log of the item that runs.
ir::Value* place_in_log(ir::Builder& builder, ir::Value* log, int column);

// Adds the kernel that keeps the results, `<kernel>.logged`.
void add_logged(ir::Module& module, const ir::Function& kernel, const AtomicLog& log);

}  // namespace weft::ad
