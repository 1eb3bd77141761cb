// A file: magic, size and checksum of the index, the index, then the blobs that it refers to: compiled code, texts of
// IR, texts of source files, each with a checksum of its own, since most are never read.
#include "runtime/source_pack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "runtime/cache.h"

namespace weft::runtime {
namespace {

constexpr std::string_view kMagic = "weftpck1";
constexpr size_t kHeader = 8 + 8 + 8;
// Entries of one name: kernels of one definition that differ in what they capture. The oldest go.
constexpr size_t kMostOfOneName = 64;

}  // namespace

// The bytes of a file, read only.
class SourcePack::Mapping {
  public:
    static std::shared_ptr<Mapping> open(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0) return nullptr;
        struct stat status{};
        std::shared_ptr<Mapping> out;
        if (fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(kHeader)) {
            const auto size = static_cast<size_t>(status.st_size);
            void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
            if (memory != MAP_FAILED) out = std::make_shared<Mapping>(static_cast<const char*>(memory), size);
        }
        close(file);
        return out;
    }

    Mapping(const char* bytes, size_t size) : bytes_(bytes), size_(size) {}
    ~Mapping() { munmap(const_cast<char*>(bytes_), size_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    std::string_view bytes() const { return {bytes_, size_}; }

  private:
    const char* bytes_;
    size_t size_;
};

// Lays out a file.
class SourcePack::Builder {
  public:
    void add(std::string_view name, std::string_view questions, std::string_view summary, std::string_view key,
             std::string_view payload, std::string_view module, const ir::SourceFiles& files) {
        index_.add(name).add(questions).add(summary).add(key);
        blob(index_, payload);
        blob(index_, module);
        index_.add(static_cast<uint32_t>(files.size()));
        for (const auto& file : files) index_.add(number(file));
        ++entries_;
    }

    std::string take(const std::string& identity, const std::string& text) {
        ByteWriter head;
        head.add(identity).add(text).add(static_cast<uint32_t>(files_.size()));
        for (const auto& file : files_) {
            head.add(file->path).add(file->first_line);
            blob(head, file->text);
        }
        head.add(entries_);
        const std::string index = head.take() + index_.take();
        std::string out(kMagic);
        for (const uint64_t number : {uint64_t{index.size()}, checksum(index)}) {
            out.append(reinterpret_cast<const char*>(&number), sizeof number);
        }
        return out + index + blobs_;
    }

  private:
    // Offsets count from the end of the index.
    void blob(ByteWriter& to, std::string_view bytes) {
        to.add(uint64_t{blobs_.size()}).add(uint64_t{bytes.size()}).add(checksum(bytes));
        blobs_ += bytes;
    }

    uint32_t number(const std::shared_ptr<const SourceFile>& wanted) {
        const auto same = [&](const auto& file) { return file->path == wanted->path && file->text == wanted->text; };
        const auto found = std::ranges::find_if(files_, same);
        const auto place = found - files_.begin();
        if (found == files_.end()) files_.push_back(wanted);
        return static_cast<uint32_t>(place);
    }

    ByteWriter index_;
    std::string blobs_;
    ir::SourceFiles files_;
    uint32_t entries_ = 0;
};

SourcePack::SourcePack(std::shared_ptr<const DiskCache> cache, std::string identity, std::string text)
    : cache_(std::move(cache)), identity_(std::move(identity)), text_(std::move(text)) {}

void SourcePack::open() {
    if (std::exchange(opened_, true)) return;
    mapping_ = Mapping::open(cache_->pack_path(sha256(identity_)));
    bool good = false;
    try {
        good = mapping_ != nullptr && read();
    } catch (const InternalError&) {  // damaged: as if there were none
    }
    if (good) return;
    mapping_.reset();
    stored_.clear();
    files_.clear();
    by_name_.clear();
}

bool SourcePack::read() {
    const std::string_view bytes = mapping_->bytes();
    uint64_t size = 0;
    uint64_t sum = 0;
    std::memcpy(&size, bytes.data() + kMagic.size(), 8);
    std::memcpy(&sum, bytes.data() + kMagic.size() + 8, 8);
    if (!bytes.starts_with(kMagic) || size > bytes.size() - kHeader) return false;
    const std::string_view index = bytes.substr(kHeader, size);
    if (checksum(index) != sum) return false;
    ByteReader reader(index);
    const auto blob = [&] {
        Blob out;
        for (uint64_t* number : {&out.offset, &out.size, &out.sum}) *number = reader.number<uint64_t>();
        out.offset += kHeader + size;
        return out;
    };
    if (reader.text() != identity_ || reader.text() != text_) return false;
    const auto files = reader.number<uint32_t>();
    for (uint32_t i = 0; i < files; ++i) {
        StoredFile file;
        file.path = reader.text();
        file.first_line = reader.number<int>();
        file.text = blob();
        files_.push_back(file);
    }
    const auto entries = reader.number<uint32_t>();
    for (uint32_t i = 0; i < entries; ++i) {
        Stored entry;
        for (std::string_view* text : {&entry.name, &entry.questions, &entry.summary, &entry.key}) {
            *text = reader.text();
        }
        entry.payload = blob();
        entry.module = blob();
        entry.files.resize(reader.number<uint32_t>());
        for (uint32_t& file : entry.files) {
            file = reader.number<uint32_t>();
            if (file >= files_.size()) return false;
        }
        by_name_[entry.name].push_back(stored_.size());
        stored_.push_back(std::move(entry));
    }
    return reader.done();
}

std::string_view SourcePack::blob(const Blob& blob) const {
    const std::string_view all = mapping_->bytes();
    if (blob.offset > all.size() || blob.size > all.size() - blob.offset) return {};
    const std::string_view bytes = all.substr(blob.offset, blob.size);
    return checksum(bytes) == blob.sum ? bytes : std::string_view();
}

std::vector<SourcePack::Found> SourcePack::find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    open();
    std::vector<Found> out;
    const auto place = by_name_.find(name);
    if (place == by_name_.end()) return out;
    for (const size_t number : place->second) {
        const Stored& entry = stored_[number];
        out.push_back({entry.questions, entry.summary, std::string(entry.key), number});
    }
    return out;
}

std::string_view SourcePack::payload(const Found& found) { return blob(stored_[found.number].payload); }

ir::SourceFiles SourcePack::files_of(const Stored& stored) const {
    ir::SourceFiles out;
    for (const uint32_t number : stored.files) {
        const StoredFile& file = files_[number];
        out.push_back(std::make_shared<SourceFile>(
            SourceFile{std::string(file.path), std::string(blob(file.text)), file.first_line}));
    }
    return out;
}

std::pair<std::string_view, ir::SourceFiles> SourcePack::module(const Found& found) {
    const Stored& entry = stored_[found.number];
    const std::string_view text = blob(entry.module);
    if (text.empty()) throw InternalError("a kept kernel is damaged: clear the kernel cache");
    return {text, files_of(entry)};
}

void SourcePack::add(const std::string& name, Entry entry) {
    const std::lock_guard lock(mutex_);
    const auto same_name = [&](const auto& made) { return made.first == name; };
    const auto same = [&](const auto& made) { return same_name(made) && made.second.questions == entry.questions; };
    if (std::ranges::any_of(added_, same)) return;
    if (std::ranges::count_if(added_, same_name) >= static_cast<int64_t>(kMostOfOneName)) {
        added_.erase(std::ranges::find_if(added_, same_name));
    }
    added_.emplace_back(name, std::move(entry));
}

void SourcePack::save() {
    const std::lock_guard lock(mutex_);
    if (added_.empty()) return;
    // Another process may have written meanwhile.
    SourcePack before(cache_, identity_, text_);
    before.open();
    Builder builder;
    std::map<std::string, size_t, std::less<>> counts;
    // The latest first.
    for (auto entry = added_.rbegin(); entry != added_.rend(); ++entry) {
        const auto& [name, made] = *entry;
        const std::optional<std::string> payload = made.key.empty() ? std::string() : cache_->load(made.key);
        if (!payload || ++counts[name] > kMostOfOneName) continue;  // what failed to compile is in no cache
        builder.add(name, made.questions, made.summary, made.key, *payload, made.module_text, made.files);
    }
    for (const Stored& entry : before.stored_) {
        const auto known = [&](const auto& made) {
            return made.first == entry.name && made.second.questions == entry.questions;
        };
        const std::string_view payload = before.blob(entry.payload);
        const std::string_view module = before.blob(entry.module);
        if ((payload.empty() && !entry.key.empty()) || module.empty() || std::ranges::any_of(added_, known)) continue;
        if (++counts[std::string(entry.name)] > kMostOfOneName) continue;
        builder.add(entry.name, entry.questions, entry.summary, entry.key, payload, module, before.files_of(entry));
    }
    added_.clear();
    cache_->store_pack(sha256(identity_), builder.take(identity_, text_));
}

std::shared_ptr<SourcePack> SourcePacks::pack(const std::string& identity, const std::string& text) {
    const std::lock_guard lock(mutex_);
    auto& found = packs_[{identity, text}];
    if (found == nullptr) found = std::make_shared<SourcePack>(cache_, identity, text);
    return found;
}

void SourcePacks::save() {
    std::vector<std::shared_ptr<SourcePack>> all;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [key, pack] : packs_) all.push_back(pack);
    }
    for (const auto& pack : all) pack->save();
}

}  // namespace weft::runtime
