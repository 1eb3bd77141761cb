// What was compiled of the kernels of one source file, found by their source: with it a process that starts again needs
// neither the front end nor a compiler. A file of the cache for each source file and build, mapped when the first
// kernel asks. An entry counts only where its questions (what its code was made of beside the file's text) have the
// same answers now; who asks them again knows what they mean (kernel_memory.h). Not here: code found by its IR
// (compiler.h), which serves what this does not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/source.h"
#include "ir/text.h"

namespace weft::runtime {

class DiskCache;

class SourcePack {
  public:
    // `identity`: what entries depend on that their questions do not tell; `text`: a hash of the source file's.
    SourcePack(std::shared_ptr<const DiskCache> cache, std::string identity, std::string text);

    struct Entry {
        std::string questions;
        std::string summary;      // code_summary.h
        std::string key;          // of the host's compiled code in the cache; "": there is none
        std::string module_text;  // of the IR, with locations in these files
        ir::SourceFiles files;
    };
    // An entry of an earlier process. What it refers to lives as long as `pack`.
    struct Found {
        std::string_view questions;
        std::string_view summary;
        std::string key;
        size_t number = 0;
    };

    // The entries of a name; none where the pack is of another text, or damaged.
    std::vector<Found> find(const std::string& name);
    // Compiled code of an entry; empty where it is damaged.
    std::string_view payload(const Found& found);
    // The text of an entry's IR and its files. Throws InternalError where they are damaged.
    std::pair<std::string_view, ir::SourceFiles> module(const Found& found);

    void add(const std::string& name, Entry entry);
    // Writes what was added, with what was there, unless there is nothing new.
    void save();

  private:
    struct Blob {
        uint64_t offset = 0;
        uint64_t size = 0;
        uint64_t sum = 0;
    };
    struct Stored {
        std::string_view name;
        std::string_view questions;
        std::string_view summary;
        std::string_view key;
        Blob payload;
        Blob module;
        std::vector<uint32_t> files;
    };
    struct StoredFile {
        std::string_view path;
        int first_line = 1;
        Blob text;
    };
    class Mapping;
    class Builder;

    void open();
    bool read();
    std::string_view blob(const Blob& blob) const;
    ir::SourceFiles files_of(const Stored& stored) const;

    std::shared_ptr<const DiskCache> cache_;
    std::string identity_;
    std::string text_;
    std::mutex mutex_;
    bool opened_ = false;
    std::shared_ptr<Mapping> mapping_;
    std::vector<Stored> stored_;
    std::vector<StoredFile> files_;
    std::unordered_map<std::string_view, std::vector<size_t>> by_name_;
    std::vector<std::pair<std::string, Entry>> added_;
};

// The packs of one cache.
class SourcePacks {
  public:
    explicit SourcePacks(std::shared_ptr<const DiskCache> cache) : cache_(std::move(cache)) {}
    std::shared_ptr<SourcePack> pack(const std::string& identity, const std::string& text);
    // Writes all that was added.
    void save();

  private:
    std::shared_ptr<const DiskCache> cache_;
    std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<SourcePack>> packs_;
};

}  // namespace weft::runtime
