// What launches must know of a kernel's code beside the code itself: found from the IR once, and kept with compiled
// code, so that a launch of code that is known needs no IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "codegen/gpu_plan.h"
#include "ir/ir.h"
#include "opt/opt.h"
#include "runtime/access.h"

namespace weft::runtime {

struct Parameter {
    std::string name;
    ir::Type type;
    int64_t offset = 0;  // in the argument block
    Access access;
    // The code reads extents, or strides, which are int32: larger ones are refused.
    bool narrow_extents = false;
    bool narrow_strides = false;
    bool has_textures = false;
};

struct CodeSummary {
    std::vector<Parameter> parameters;
    int64_t block_bytes = 0;
    // Arrays of which items touch elements of their own, on conditions (opt.h).
    std::vector<opt::OwnElements> own_elements;
    // Atomics that are not on own elements, in numbers: an item waits for so many locked instructions, at least.
    int shared_atomics = 0;
    // Numbers that an item updates by them, as far as the code tells.
    int64_t shared_updates = 0;
    // Whether the order of items can change the bits that atomics leave: of others than own elements, of own elements.
    bool ordered = false;
    bool ordered_own = false;
    bool uses_thread_index = false;
    bool has_assertions = false;
    bool has_places = false;  // what the code says when it fails speaks of lines of the program
    // Where the kernel stands: a file's path, and a line.
    std::string file;
    int line = 0;
    // How it runs on a GPU; none where nobody has asked yet.
    std::optional<codegen::GpuLaunch> gpu;
};

// Of a kernel in the program.
Location location_of(const ir::Function& kernel);

// Marks the atomics on own elements, too.
CodeSummary summarize(const ir::Module& module, ir::Function& kernel);

void write(ByteWriter& writer, const CodeSummary& summary);
// Throws InternalError where the bytes are no summary.
CodeSummary read_summary(ByteReader& reader);

}  // namespace weft::runtime
