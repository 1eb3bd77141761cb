// References in objects for AArch64: fields of instructions. On other processors this file is empty.
#if defined(__aarch64__)

#include <elf.h>

#include <cstring>
#include <limits>

#include "runtime/cpu/relocations.h"

namespace weft::runtime {
namespace {

constexpr uint64_t kPage = 4096;  // of the instruction that takes an address without its last bits, not of the system

// Sets `bits` bits of the instruction from bit `at` on.
void set_field(unsigned char* to, unsigned at, unsigned bits, uint64_t value) {
    uint32_t instruction;
    std::memcpy(&instruction, to, 4);
    const uint32_t mask = ((uint32_t{1} << bits) - 1) << at;
    instruction = (instruction & ~mask) | (static_cast<uint32_t>(value) << at & mask);
    std::memcpy(to, &instruction, 4);
}

bool fits(int64_t value, unsigned bits) {
    const int64_t limit = int64_t{1} << (bits - 1);
    return value >= -limit && value < limit;
}

// The distance of a jump, in instructions.
bool set_jump(unsigned char* to, unsigned at, unsigned bits, uint64_t distance) {
    const auto words = static_cast<int64_t>(distance) / 4;
    if (distance % 4 != 0 || !fits(words, bits)) return false;
    set_field(to, at, bits, static_cast<uint64_t>(words));
    return true;
}

// Of ADR and ADRP: the last two bits stand apart.
bool set_address(unsigned char* to, int64_t distance) {
    if (!fits(distance, 21)) return false;
    set_field(to, 29, 2, static_cast<uint64_t>(distance) & 3);
    set_field(to, 5, 19, static_cast<uint64_t>(distance) >> 2);
    return true;
}

// The last twelve bits of an address, of which the instruction has those that a number of that size leaves.
bool set_last_bits(unsigned char* to, uint64_t value, unsigned shift) {
    const uint64_t last = value % kPage;
    if (last % (uint64_t{1} << shift) != 0) return false;
    set_field(to, 10, 12, last >> shift);
    return true;
}

}  // namespace

const uint16_t kObjectMachine = EM_AARCH64;

Reference reference_of(uint32_t type) {
    switch (type) {
        case R_AARCH64_NONE:
            return Reference::None;
        case R_AARCH64_ABS64:
        case R_AARCH64_PREL64:
        case R_AARCH64_PREL32:
        case R_AARCH64_LD_PREL_LO19:
        case R_AARCH64_ADR_PREL_LO21:
        case R_AARCH64_ADR_PREL_PG_HI21:
        case R_AARCH64_ADD_ABS_LO12_NC:
        case R_AARCH64_LDST8_ABS_LO12_NC:
        case R_AARCH64_LDST16_ABS_LO12_NC:
        case R_AARCH64_LDST32_ABS_LO12_NC:
        case R_AARCH64_LDST64_ABS_LO12_NC:
        case R_AARCH64_LDST128_ABS_LO12_NC:
            return Reference::Address;
        case R_AARCH64_TSTBR14:
        case R_AARCH64_CONDBR19:
        case R_AARCH64_JUMP26:
        case R_AARCH64_CALL26:
            return Reference::Callable;
        case R_AARCH64_ADR_GOT_PAGE:
        case R_AARCH64_LD64_GOT_LO12_NC:
            return Reference::Slot;
        default:
            return Reference::Unknown;
    }
}

uint64_t width_of(uint32_t type) { return type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64 ? 8 : 4; }

bool write_reference(uint32_t type, unsigned char* to, uint64_t place, uint64_t value) {
    const uint64_t distance = value - place;
    switch (type) {
        case R_AARCH64_ABS64:
            std::memcpy(to, &value, 8);
            return true;
        case R_AARCH64_PREL64:
            std::memcpy(to, &distance, 8);
            return true;
        case R_AARCH64_PREL32: {
            const auto narrow = static_cast<int32_t>(distance);
            std::memcpy(to, &narrow, 4);
            return fits(static_cast<int64_t>(distance), 32);
        }
        case R_AARCH64_LD_PREL_LO19:
        case R_AARCH64_CONDBR19:
            return set_jump(to, 5, 19, distance);
        case R_AARCH64_TSTBR14:
            return set_jump(to, 5, 14, distance);
        case R_AARCH64_JUMP26:
        case R_AARCH64_CALL26:
            return set_jump(to, 0, 26, distance);
        case R_AARCH64_ADR_PREL_LO21:
            return set_address(to, static_cast<int64_t>(distance));
        case R_AARCH64_ADR_PREL_PG_HI21:
        case R_AARCH64_ADR_GOT_PAGE:
            return set_address(to, static_cast<int64_t>(value / kPage - place / kPage));
        case R_AARCH64_ADD_ABS_LO12_NC:
        case R_AARCH64_LDST8_ABS_LO12_NC:
            return set_last_bits(to, value, 0);
        case R_AARCH64_LDST16_ABS_LO12_NC:
            return set_last_bits(to, value, 1);
        case R_AARCH64_LDST32_ABS_LO12_NC:
            return set_last_bits(to, value, 2);
        case R_AARCH64_LDST64_ABS_LO12_NC:
        case R_AARCH64_LD64_GOT_LO12_NC:
            return set_last_bits(to, value, 3);
        case R_AARCH64_LDST128_ABS_LO12_NC:
            return set_last_bits(to, value, 4);
        default:
            return false;
    }
}

void write_stub(unsigned char* to, uint64_t address) {
    static constexpr uint32_t jump[2] = {0x58000050, 0xd61f0200};  // ldr x16, #8; br x16
    std::memcpy(to, jump, sizeof jump);
    std::memcpy(to + sizeof jump, &address, 8);
}

}  // namespace weft::runtime

#endif
