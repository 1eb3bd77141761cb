// What the code of a kernel was made of beside its text: the questions that lowering asked of Python, and the answers.
// Lowering knows nothing else, so code whose questions have the same answers is the same code, whatever the program
// changed: globals, closures, constants, functions called and their texts, structs, wp.static(...). Functions are
// described by their texts, so that asking again parses nothing.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "runtime/kernel.h"

namespace weft::bind {

// Of a kernel object of the package, which outlives it. Null where its code is kept by its IR only.
std::unique_ptr<runtime::KernelMemory> make_memory(nanobind::handle kernel, const runtime::KernelOptions& options);

}  // namespace weft::bind
