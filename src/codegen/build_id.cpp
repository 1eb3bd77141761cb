#include "codegen/build_id.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"

namespace weft::codegen {
namespace {

class File {
  public:
    explicit File(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    bool read(void* out, size_t size, uint64_t offset) const {
        return descriptor_ >= 0 &&
               pread(descriptor_, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
    }

  private:
    int descriptor_;
};

// What a segment of notes says; empty if it has no id.
std::string id_in_notes(const char* notes, size_t size) {
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes + at, sizeof note);
        const size_t name = at + sizeof note;
        const size_t data = name + (size_t{note.n_namesz} + 3) / 4 * 4;
        const size_t end = data + (size_t{note.n_descsz} + 3) / 4 * 4;
        if (end > size) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
            std::string out;
            for (size_t k = 0; k < note.n_descsz; ++k) {
                const auto byte = static_cast<unsigned char>(notes[data + k]);
                out += "0123456789abcdef"[byte >> 4];
                out += "0123456789abcdef"[byte & 15];
            }
            return out;
        }
        at = end;
    }
    return {};
}

std::string note_id(const std::string& path) {
    const File file(path);
    Elf64_Ehdr header;
    if (!file.read(&header, sizeof header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
    for (uint64_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!file.read(&segment, sizeof segment, header.e_phoff + i * sizeof segment)) return {};
        if (segment.p_type != PT_NOTE || segment.p_filesz > 65536) continue;
        std::vector<char> notes(segment.p_filesz);
        if (!file.read(notes.data(), notes.size(), segment.p_offset)) return {};
        std::string id = id_in_notes(notes.data(), notes.size());
        if (!id.empty()) return id;
    }
    return {};
}

// The library that an address lies in.
struct Wanted {
    uintptr_t address;
    std::string id;
};

int find_loaded(dl_phdr_info* info, size_t, void* data) {
    auto& wanted = *static_cast<Wanted*>(data);
    const std::span segments(info->dlpi_phdr, info->dlpi_phnum);
    const auto begin = [&](const Elf64_Phdr& segment) { return info->dlpi_addr + segment.p_vaddr; };
    const auto holds = [&](const Elf64_Phdr& segment) {
        return segment.p_type == PT_LOAD && wanted.address - begin(segment) < segment.p_memsz;
    };
    if (std::ranges::none_of(segments, holds)) return 0;
    for (const Elf64_Phdr& segment : segments) {
        if (segment.p_type != PT_NOTE || !wanted.id.empty()) continue;
        wanted.id = id_in_notes(reinterpret_cast<const char*>(begin(segment)),  // NOLINT(performance-no-int-to-ptr)
                                segment.p_memsz);
    }
    return 1;
}

}  // namespace

std::string build_id(const std::string& path) {
    std::string id = note_id(path);
    if (!id.empty()) return id;
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return "missing";
    return std::to_string(status.st_size) + "-" + std::to_string(status.st_mtim.tv_sec) + "." +
           std::to_string(status.st_mtim.tv_nsec);
}

std::string build_id(const void* inside) {
    Wanted wanted{reinterpret_cast<uintptr_t>(inside), {}};
    dl_iterate_phdr(&find_loaded, &wanted);
    if (!wanted.id.empty()) return wanted.id;
    Dl_info info;
    return dladdr(inside, &info) != 0 && info.dli_fname != nullptr ? build_id(std::string(info.dli_fname)) : "missing";
}

const std::string& own_build_id() {
    static const std::string id = build_id(reinterpret_cast<const void*>(&own_build_id));
    return id;
}

std::string library_path() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&library_path), &info) == 0 || info.dli_fname == nullptr) return {};
    return info.dli_fname;
}

std::string cpu_key() {
    std::string words;
#if defined(__x86_64__)
    const auto add = [&](unsigned leaf, unsigned part, unsigned registers) {
        unsigned r[4] = {};
        if (__get_cpuid_count(leaf, part, &r[0], &r[1], &r[2], &r[3]) == 0) return;
        for (unsigned i = 0; i < 4; ++i) {
            if ((registers >> i & 1) != 0) words += std::to_string(r[i]) + ",";
        }
    };
    add(1, 0, 0b1101);  // ebx holds the number of the core that runs this
    add(7, 0, 0b1111);
    add(7, 1, 0b1111);
    add(0xd, 1, 0b0001);
    add(0x14, 0, 0b0010);
    add(0x19, 0, 0b0010);
    add(0x24, 0, 0b0010);
    add(0x80000001, 0, 0b1100);
    add(0x80000008, 0, 0b0010);
#else
    for (const auto type : {AT_HWCAP, AT_HWCAP2}) words += std::to_string(getauxval(type)) + ",";
#endif
    return sha256(words).substr(0, 16);
}

}  // namespace weft::codegen
