// References in objects for x86-64. On other processors this file is empty.
#if defined(__x86_64__)

#include <elf.h>

#include <cstring>
#include <limits>

#include "runtime/cpu/relocations.h"

namespace weft::runtime {

const uint16_t kObjectMachine = EM_X86_64;

Reference reference_of(uint32_t type) {
    switch (type) {
        case R_X86_64_NONE:
            return Reference::None;
        case R_X86_64_64:
        case R_X86_64_PC64:
            return Reference::Address;
        case R_X86_64_PC32:
        case R_X86_64_PLT32:
            return Reference::Callable;
        case R_X86_64_GOTPCREL:
        case R_X86_64_GOTPCRELX:
        case R_X86_64_REX_GOTPCRELX:
            return Reference::Slot;
        default:
            return Reference::Unknown;
    }
}

uint64_t width_of(uint32_t type) { return type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4; }

bool write_reference(uint32_t type, unsigned char* to, uint64_t place, uint64_t value) {
    if (type != R_X86_64_64) value -= place;
    if (width_of(type) == 8) {
        std::memcpy(to, &value, 8);
        return true;
    }
    const auto distance = static_cast<int64_t>(value);
    if (distance < std::numeric_limits<int32_t>::min() || distance > std::numeric_limits<int32_t>::max()) return false;
    const auto narrow = static_cast<int32_t>(distance);
    std::memcpy(to, &narrow, 4);
    return true;
}

void write_stub(unsigned char* to, uint64_t address) {
    static constexpr unsigned char jump[6] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
    std::memcpy(to, jump, sizeof jump);
    std::memcpy(to + sizeof jump, &address, 8);
}

}  // namespace weft::runtime

#endif
