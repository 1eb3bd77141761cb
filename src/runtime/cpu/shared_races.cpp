#include "runtime/cpu/shared_races.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/blocks.h"

namespace weft::runtime {
namespace {

using codegen::SharedAccess;

const char* verb(bool write, bool atomic) { return atomic ? "updates by an atomic" : write ? "writes" : "reads"; }

}  // namespace

SharedRaces::SharedRaces(const char* memory, int64_t bytes, int64_t threads)
    : memory_(memory), bytes_(static_cast<size_t>(bytes)), waited_(static_cast<size_t>(threads)) {}

bool SharedRaces::ordered(const Touch& before, int32_t thread) const {
    if (before.time == 0 || before.thread == thread || before.time < barrier_) return true;
    const auto waited = [&](int32_t who) { return waited_[static_cast<size_t>(who)] > before.time; };
    return before.thread / kWarp == thread / kWarp && waited(before.thread) && waited(thread);
}

std::string SharedRaces::access(const char* address, int64_t bytes, SharedAccess kind, const char* place,
                                const char* stored, int32_t thread) {
    const int64_t begin = address - memory_;
    if (begin < 0 || begin >= static_cast<int64_t>(bytes_.size())) return "";
    const int64_t end = std::min(begin + bytes, static_cast<int64_t>(bytes_.size()));
    const bool atomic = kind == SharedAccess::Atomic;
    const bool changes = stored == nullptr || std::memcmp(address, stored, static_cast<size_t>(end - begin)) != 0;
    const bool write = kind != SharedAccess::Read && changes;
    for (int64_t at = begin; at < end; ++at) {
        Byte& byte = bytes_[static_cast<size_t>(at)];
        const auto against = [&](const Touch& before, bool wrote) -> std::string {
            if (ordered(before, thread) || (before.atomic && atomic)) return "";
            return "a race on shared memory, byte " + std::to_string(at) + ": thread " + std::to_string(thread) + " " +
                   verb(write, atomic) + " what thread " + std::to_string(before.thread) + " " +
                   verb(wrote, before.atomic) + " with no barrier between them" + before.place +
                   (std::strcmp(before.place, place) == 0 ? "" : place);
        };
        if (write || kind == SharedAccess::Read || atomic) {
            if (std::string found = against(byte.write, true); !found.empty()) return found;
        }
        if (write || atomic) {
            for (const Touch* read : {&byte.read, &byte.other_read}) {
                if (std::string found = against(*read, false); !found.empty()) return found;
            }
        }
        const Touch now{clock_, thread, atomic, place};
        if (write || atomic) byte.write = now;
        if (kind == SharedAccess::Read) {
            if (byte.read.time != 0 && byte.read.thread != thread) byte.other_read = byte.read;
            byte.read = now;
        }
    }
    return "";
}

}  // namespace weft::runtime
