// How objects for this processor refer to symbols, and how the references are written. What the symbols are, and where
// everything lies, is object_loader.cpp's; one file for each processor.
#pragma once

#include <cstdint>

namespace weft::runtime {

// e_machine of objects for this processor.
extern const uint16_t kObjectMachine;

// What a relocation wants of its symbol.
enum class Reference : uint8_t {
    None,      // nothing
    Address,   // where it is
    Callable,  // where a call may go: within reach
    Slot,      // a place in memory, within reach, that holds its address
    Unknown,   // a kind that compiled code does not have
};

Reference reference_of(uint32_t type);
// How many bytes it writes.
uint64_t width_of(uint32_t type);
// Writes at `to`, which is at the address `place`, a reference to `value`; false if it does not reach.
bool write_reference(uint32_t type, unsigned char* to, uint64_t place, uint64_t value);

// Code that jumps to an address anywhere.
constexpr uint64_t kStubSize = 16;
void write_stub(unsigned char* to, uint64_t address);

}  // namespace weft::runtime
