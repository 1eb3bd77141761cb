// Memory of a loaded object: code, jump stubs, constants, address slots, and in pages of their own variables. All lie
// within 2 GB, so that relative references always reach; functions of the host may be further away and are reached by
// stubs.
#include "runtime/cpu/object_loader.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "runtime/cpu/code_pages.h"
#include "runtime/cpu/relocations.h"

namespace weft::runtime {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 30;

[[noreturn]] void malformed(const std::string& what) { throw InternalError("malformed object: " + what); }

void demand(bool condition, const char* what) {
    if (!condition) malformed(what);
}

enum Region : size_t { Code, Constants, Variables, kRegions };

class Loader {
  public:
    Loader(std::string_view bytes, LoadedObject::Resolve resolve) : bytes_(bytes), resolve_(resolve) {}

    ~Loader() {
        if (memory_ != nullptr) give_back_code_pages(memory_, total_);
    }

    void load() {
        read_header();
        read_symbols();
        place();
        copy();
        for (const Elf64_Shdr& section : sections_) relocate(section);
        protect();
    }

    // Hands the memory over.
    void* release() {
        void* out = memory_;
        memory_ = nullptr;
        return out;
    }

    uint64_t total() const { return total_; }

    std::map<std::string, void*, std::less<>> globals() const {
        std::map<std::string, void*, std::less<>> out;
        for (const Elf64_Sym& symbol : symbols_) {
            const auto binding = ELF64_ST_BIND(symbol.st_info);
            if ((binding == STB_GLOBAL || binding == STB_WEAK) && symbol.st_shndx != SHN_UNDEF) {
                out.emplace(name(symbol), reinterpret_cast<void*>(address(symbol)));
            }
        }
        return out;
    }

  private:
    template <typename T>
    T read(uint64_t offset) const {
        demand(offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset, "cut short");
        T out;
        std::memcpy(&out, bytes_.data() + offset, sizeof(T));
        return out;
    }

    std::string_view contents(const Elf64_Shdr& section) const {
        demand(section.sh_offset <= bytes_.size() && section.sh_size <= bytes_.size() - section.sh_offset,
               "section outside the file");
        return bytes_.substr(section.sh_offset, section.sh_size);
    }

    static bool loaded(const Elf64_Shdr& section) { return (section.sh_flags & SHF_ALLOC) != 0; }

    void read_header() {
        const auto header = read<Elf64_Ehdr>(0);
        demand(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0, "no ELF file");
        demand(header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB,
               "not 64-bit little-endian");
        demand(header.e_type == ET_REL && header.e_machine == kObjectMachine,
               "not a relocatable object for this processor");
        demand(header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0, "no sections");
        for (uint64_t i = 0; i < header.e_shnum; ++i) {
            demand(header.e_shoff <= bytes_.size(), "section table outside the file");
            sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
        }
    }

    void read_symbols() {
        for (const Elf64_Shdr& section : sections_) {
            if (section.sh_type != SHT_SYMTAB) continue;
            demand(symbols_.empty(), "two symbol tables");
            demand(section.sh_entsize == sizeof(Elf64_Sym) && section.sh_link < sections_.size(), "bad symbol table");
            contents(section);
            strings_ = contents(sections_[section.sh_link]);
            for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
                symbols_.push_back(read<Elf64_Sym>(section.sh_offset + i * sizeof(Elf64_Sym)));
                const Elf64_Sym& symbol = symbols_.back();
                if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
                const auto type = ELF64_ST_TYPE(symbol.st_info);
                demand(type != STT_TLS && type != STT_GNU_IFUNC, "symbol of an unsupported kind");
                demand(symbol.st_shndx < sections_.size(), "symbol in no section");
                const Elf64_Shdr& home = sections_[symbol.st_shndx];
                demand(symbol.st_value <= home.sh_size, "symbol outside its section");
            }
        }
    }

    std::string_view name(const Elf64_Sym& symbol) const {
        demand(symbol.st_name < strings_.size(), "symbol without a name");
        const std::string_view rest = strings_.substr(symbol.st_name);
        const auto end = rest.find('\0');
        demand(end != std::string_view::npos, "symbol without a name");
        return rest.substr(0, end);
    }

    static Region region_of(const Elf64_Shdr& section) {
        if ((section.sh_flags & SHF_EXECINSTR) != 0) return Code;
        return (section.sh_flags & SHF_WRITE) != 0 ? Variables : Constants;
    }

    // Room for every loaded section, and for a stub and a slot for each symbol that may need one.
    void place() {
        const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
        uint64_t end = 0;
        offsets_.resize(sections_.size());
        for (size_t region = 0; region < kRegions; ++region) {
            if (region == Variables) end = (end + page - 1) / page * page;
            starts_[region] = end;
            for (size_t i = 0; i < sections_.size(); ++i) {
                const Elf64_Shdr& section = sections_[i];
                if (!loaded(section) || region_of(section) != region) continue;
                demand((section.sh_flags & SHF_TLS) == 0, "thread-local storage");
                demand(section.sh_type != SHT_INIT_ARRAY && section.sh_type != SHT_FINI_ARRAY, "constructors");
                const uint64_t align = section.sh_addralign == 0 ? 1 : section.sh_addralign;
                demand((align & (align - 1)) == 0 && align <= page, "bad alignment");
                demand(section.sh_size <= kLimit && end <= kLimit, "too large");
                end = (end + align - 1) / align * align;
                offsets_[i] = end;
                end += section.sh_size;
            }
            end = (end + 15) / 16 * 16;
            if (region == Code) {
                stubs_ = end;
                end += kStubSize * symbols_.size();
            } else if (region == Constants) {
                slots_ = end;
                end += 8 * symbols_.size();
            }
        }
        demand(end <= kLimit, "too large");
        total_ = (end + page - 1) / page * page;
        if (total_ == 0) total_ = page;
        void* memory = take_code_pages(total_);
        if (memory == nullptr) throw InternalError("no memory for compiled code");
        memory_ = static_cast<unsigned char*>(memory);
    }

    void copy() {
        for (size_t i = 0; i < sections_.size(); ++i) {
            if (!loaded(sections_[i]) || sections_[i].sh_type == SHT_NOBITS || sections_[i].sh_size == 0) continue;
            const std::string_view bytes = contents(sections_[i]);
            std::memcpy(memory_ + offsets_[i], bytes.data(), bytes.size());
        }
    }

    uint64_t at(uint64_t offset) const { return reinterpret_cast<uint64_t>(memory_) + offset; }

    uint64_t address(const Elf64_Sym& symbol) const {
        if (symbol.st_shndx == SHN_ABS) return symbol.st_value;
        if (symbol.st_shndx == SHN_UNDEF) {
            const std::string_view wanted = name(symbol);
            void* found = resolve_(wanted);
            if (found == nullptr) throw InternalError("compiled code calls unknown function " + std::string(wanted));
            return reinterpret_cast<uint64_t>(found);
        }
        demand(loaded(sections_[symbol.st_shndx]), "symbol in a section that is not loaded");
        return at(offsets_[symbol.st_shndx] + symbol.st_value);
    }

    // The place in memory that holds the symbol's address.
    uint64_t slot(uint64_t index) {
        const uint64_t offset = slots_ + 8 * index;
        const uint64_t value = address(symbols_[index]);
        std::memcpy(memory_ + offset, &value, 8);
        return at(offset);
    }

    // Where a call may go: the function itself, or a jump to it.
    uint64_t callable(uint64_t index) {
        if (symbols_[index].st_shndx != SHN_UNDEF) return address(symbols_[index]);
        const uint64_t offset = stubs_ + kStubSize * index;
        write_stub(memory_ + offset, address(symbols_[index]));
        return at(offset);
    }

    void relocate(const Elf64_Shdr& section) {
        if (section.sh_type != SHT_RELA && section.sh_type != SHT_REL) return;
        demand(section.sh_info < sections_.size(), "relocations of no section");
        const Elf64_Shdr& target = sections_[section.sh_info];
        if (!loaded(target)) return;
        demand(section.sh_type == SHT_RELA && section.sh_entsize == sizeof(Elf64_Rela), "bad relocations");
        contents(section);
        for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Rela); ++i) {
            apply(read<Elf64_Rela>(section.sh_offset + i * sizeof(Elf64_Rela)), target, offsets_[section.sh_info]);
        }
    }

    void apply(const Elf64_Rela& relocation, const Elf64_Shdr& target, uint64_t base) {
        const uint64_t index = ELF64_R_SYM(relocation.r_info);
        const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
        const Reference reference = reference_of(type);
        if (reference == Reference::None) return;
        demand(index < symbols_.size(), "relocation of no symbol");
        const uint64_t width = width_of(type);
        demand(relocation.r_offset <= target.sh_size && width <= target.sh_size - relocation.r_offset,
               "relocation outside its section");
        const uint64_t place = base + relocation.r_offset;
        uint64_t value = static_cast<uint64_t>(relocation.r_addend);
        switch (reference) {
            case Reference::Address:
                value += address(symbols_[index]);
                break;
            case Reference::Callable:
                value += callable(index);
                break;
            case Reference::Slot:
                value += slot(index);
                break;
            default:
                malformed("relocation of unsupported kind " + std::to_string(type));
        }
        demand(write_reference(type, memory_ + place, at(place), value), "reference that does not reach");
    }

    // Constants lie behind the code and have its protection: one call to the system, and neighbours become one mapping.
    void protect() {
        if (starts_[Variables] == 0) return;
        // Processors whose caches of instructions do not see what is written are told; x86-64 needs nothing.
        auto* begin = reinterpret_cast<char*>(memory_);
        __builtin___clear_cache(begin, begin + starts_[Constants]);
        if (mprotect(memory_, starts_[Variables], PROT_READ | PROT_EXEC) != 0) {
            throw InternalError("the system refuses to make compiled code executable");
        }
    }

    std::string_view bytes_;
    LoadedObject::Resolve resolve_;
    std::vector<Elf64_Shdr> sections_;
    std::vector<Elf64_Sym> symbols_;
    std::string_view strings_;
    std::vector<uint64_t> offsets_;
    uint64_t starts_[kRegions] = {};
    uint64_t stubs_ = 0;
    uint64_t slots_ = 0;
    uint64_t total_ = 0;
    unsigned char* memory_ = nullptr;
};

}  // namespace

LoadedObject::LoadedObject(std::string_view bytes, Resolve resolve) {
    Loader loader(bytes, resolve);
    loader.load();
    symbols_ = loader.globals();
    size_ = loader.total();
    memory_ = loader.release();
}

LoadedObject::~LoadedObject() {
    if (memory_ != nullptr) give_back_code_pages(memory_, size_);
}

void* LoadedObject::find(std::string_view symbol) const {
    const auto place = symbols_.find(symbol);
    return place != symbols_.end() ? place->second : nullptr;
}

}  // namespace weft::runtime
