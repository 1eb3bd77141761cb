// Which parameters' arrays a function reads and writes, found from its IR: what `Tape` must know before it uses a value
// again, and a launch about the storages it changes.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace weft::runtime {

struct Access {
    bool read = false;
    bool write = false;
    // How it is written and read: by atomics that add floats and whose old values nobody uses; by other atomics; by
    // anything else.
    bool sum = false;
    bool other_atomic = false;
    bool plain = false;
};

// One for each parameter. Where an array's origin cannot be told (it was chosen by a branch), all arrays count.
std::vector<Access> parameter_access(const ir::Module& module, const ir::Function& function);

// Whether any function that `function` reaches, or itself, has an op of this code.
bool contains(const ir::Module& module, const ir::Function& function, ir::Opcode code);

}  // namespace weft::runtime
