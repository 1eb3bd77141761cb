// Every function of the driver that the runtime asks for: it does nothing, but may be told to fail. Those that do more
// are in driver.cpp, which the linker prefers.
#include "fake_driver/state.h"

using namespace weft::runtime::cuda;

#define DRIVER(name, symbol, parameters)                                     \
    extern "C" __attribute__((weak)) Result name parameters __asm__(symbol); \
    Result name parameters { return fake::enter(#name); }
#define OPTIONAL(name, symbol, parameters) DRIVER(name, symbol, parameters)
#include "runtime/cuda/driver_functions.def"
