// One description of each step (`describe`) serves writing and reading. Pointers are written as a region and an offset:
// a region is a range of memory, of one storage or of several that overlap.
#include "runtime/graph_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "builtins/textures.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "runtime/array_places.h"
#include "runtime/runtime.h"

namespace weft::runtime {
namespace {

constexpr std::string_view kMagic = "weft graph 2\n";
constexpr size_t kHashDigits = 64;
// A descriptor's extents and strides are so many words behind its pointer.
constexpr size_t kMaxDescriptor = size_t{8} * (1 + 2 * Array::kMaxDims);

[[noreturn]] void refuse_save(const std::string& what) {
    throw UserError(ErrorKind::Unsupported, "the capture cannot be saved: " + what);
}

[[noreturn]] void refuse_load(const std::string& why) {
    throw UserError(ErrorKind::Value, "this is no saved capture: " + why);
}

std::string hash_of(std::string_view bytes) {
    Hasher hasher;
    hasher.add(bytes);
    return hasher.hex();
}

// ---- what both directions share ----

template <typename File>
void describe(File& file, FillStep& s) {
    file.items(s.to, s.value);
}
template <typename File>
void describe(File& file, CopyStep& s) {
    file.items(s.to, s.from);
}
template <typename File>
void describe(File& file, ScanStep& s) {
    file.items(s.in, s.out, s.inclusive);
}
template <typename File>
void describe(File& file, SortStep& s) {
    file.items(s.keys, s.values, s.begin, s.count, s.begin_bit, s.end_bit);
}
template <typename File>
void describe(File& file, SegmentSortStep& s) {
    file.items(s.keys, s.values, s.count, s.starts, s.ends);
}
template <typename File>
void describe(File& file, RunsStep& s) {
    file.items(s.values, s.count, s.run_values, s.run_lengths, s.runs);
}
template <typename File>
void describe(File& file, SumStep& s) {
    file.items(s.values, s.out, s.axis, s.count);
}
template <typename File>
void describe(File& file, InnerStep& s) {
    file.items(s.a, s.b, s.out, s.axis, s.count);
}
template <typename File>
void describe(File& file, BranchStep& s) {
    file.items(s.condition, s.yes, s.no);
}
template <typename File>
void describe(File& file, LoopStep& s) {
    file.items(s.condition, s.body);
}
template <typename File>
void describe(File& file, PartStep& s) {
    file.items(s.graph);
}
template <typename File>
void describe(File& file, LaunchStep& s) {
    file.launch(s);
}

template <typename File>
void describe(File& file, codegen::LaunchShape& shape) {
    for (int64_t& dim : shape.dims) file.item(dim);
    file.items(shape.ndim, shape.block_dim);
}

template <typename File>
void describe(File& file, codegen::Options& o) {
    file.items(o.fast_math, o.contract, o.optimize, o.lanes);  // places in the program do not travel
}

template <typename Visit>
void each_step(const Graph& graph, const Visit& visit) {
    for (const Step& step : graph.steps()) {
        visit(step);
        if (const auto* branch = std::get_if<BranchStep>(&step)) {
            if (branch->yes) each_step(*branch->yes, visit);
            if (branch->no) each_step(*branch->no, visit);
        } else if (const auto* loop = std::get_if<LoopStep>(&step)) {
            each_step(*loop->body, visit);
        } else if (const auto* part = std::get_if<PartStep>(&step)) {
            each_step(*part->graph, visit);
        }
    }
}

// ---- memory ----

class Regions {
  public:
    struct Range {
        const std::byte* begin;
        const std::byte* end;
    };
    // Bytes of no region: of the null pointer, and of nothing that was added.
    static constexpr int64_t kNone = -1;

    void add(const std::shared_ptr<Storage>& storage) {
        // An empty storage has a place too: its array is not the null array.
        if (storage == nullptr || storage->data() == nullptr) return;
        if (!storage->device().capabilities().host_memory) {
            throw UserError(ErrorKind::Unsupported, "a graph that uses an array of " + storage->device().alias() +
                                                        " cannot be saved: only memory of the host can");
        }
        ranges_.push_back({storage->data(), storage->data() + std::max<int64_t>(storage->bytes(), 1)});
    }
    void merge() {
        std::ranges::sort(ranges_, {}, &Range::begin);
        std::vector<Range> merged;
        for (const Range& range : ranges_) {
            if (!merged.empty() && range.begin < merged.back().end) {
                merged.back().end = std::max(merged.back().end, range.end);
            } else {
                merged.push_back(range);
            }
        }
        ranges_ = std::move(merged);
    }
    // Region and offset.
    std::pair<int64_t, int64_t> find(const std::byte* pointer) const {
        auto after = std::ranges::upper_bound(ranges_, pointer, {}, &Range::begin);
        if (pointer == nullptr || after == ranges_.begin()) return {kNone, 0};
        --after;
        if (pointer > after->end) return {kNone, 0};
        return {after - ranges_.begin(), pointer - after->begin};
    }
    const std::vector<Range>& ranges() const { return ranges_; }

  private:
    std::vector<Range> ranges_;
};

// ---- writing ----

class Writer {
  public:
    Writer(const Regions& regions, std::map<Code*, int64_t>& codes) : regions_(regions), codes_(codes) {}

    std::string take() { return std::move(out_); }

    template <typename... Items>
    void items(Items&... all) {
        (item(all), ...);
    }
    template <typename Number>
        requires std::is_arithmetic_v<Number>
    void item(Number number) {
        out_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    }
    void item(const std::string& text) {
        item(static_cast<int64_t>(text.size()));
        out_ += text;
    }
    void item(const std::vector<std::byte>& bytes) {
        item(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    void item(const Array& array) {
        if (array.element().contains_array()) refuse_save("elements of an array of the recording hold arrays");
        item(array.element().str());
        pointer(array.data(), "an array of the recording");
        item(static_cast<int64_t>(array.ndim()));
        for (const int64_t n : array.shape()) item(n);
        for (const int64_t n : array.strides()) item(n);
    }
    void item(const std::shared_ptr<Graph>& graph) {
        item(graph != nullptr);
        if (graph != nullptr) steps(*graph);
    }
    void steps(const Graph& graph) {
        item(static_cast<int64_t>(graph.size()));
        for (const Step& step : graph.steps()) {
            item(static_cast<int64_t>(step.index()));
            Step copy = step;
            std::visit([this](auto& s) { describe(*this, s); }, copy);
        }
    }
    void launch(const LaunchStep& s) {
        item(codes_.at(s.code));
        codegen::LaunchShape shape = s.shape;
        describe(*this, shape);
        std::vector<std::byte> block(s.arguments(), s.arguments() + s.code->block_bytes());
        std::vector<std::pair<int64_t, std::pair<int64_t, int64_t>>> pointers;
        for (const Parameter& parameter : s.code->parameters()) {
            const std::string who = "argument '" + parameter.name + "' of kernel '" + s.code->name() + "'";
            std::vector<ArrayPlace> places;
            if (builtins::contains_texture(parameter.type)) refuse_save(who + " holds a texture");
            find_arrays(parameter.type, parameter.offset, places);
            for (const ArrayPlace& place : places) {
                if (place.type.target().contains_array()) refuse_save("the elements of " + who + " hold arrays");
                std::byte* data = nullptr;
                std::memcpy(static_cast<void*>(&data), block.data() + place.offset, sizeof(data));
                std::memset(block.data() + place.offset, 0, sizeof(void*));
                pointers.emplace_back(place.offset, found(data, who));
            }
        }
        item(block);
        for (const auto& [offset, at] : pointers) {
            item(at.first);
            item(at.second);
        }
    }

  private:
    std::pair<int64_t, int64_t> found(const std::byte* data, const std::string& who) const {
        const auto at = regions_.find(data);
        if (data != nullptr && at.first == Regions::kNone) {
            refuse_save(who + " lies in memory that is no array's");
        }
        return at;
    }
    void pointer(const std::byte* data, const std::string& who) {
        const auto [region, offset] = found(data, who);
        item(region);
        item(offset);
    }

    const Regions& regions_;
    std::map<Code*, int64_t>& codes_;
    std::string out_;
};

// Code that makes arrays of numbers would find nothing at those addresses.
void check_code(const Code& code) {
    for (const auto& function : code.module().functions) {
        ir::walk(function->body, [&](const ir::Op& op) {
            if (op.code == ir::Opcode::ArrayAt) {
                refuse_save("kernel '" + code.name() + "' makes an array of an address");
            }
        });
    }
}

void write_code(Writer& writer, const Code& code) {
    check_code(code);
    writer.item(code.name());
    writer.item(code.backend());
    writer.item(code.asks_deterministic());
    codegen::Options options = code.options();
    describe(writer, options);
    writer.item(ir::print(code.module()));
    const Compiled compiled = code.compiled();
    writer.item(compiled.key);
    writer.item(compiled.payload);
}

void add_memory(Regions& regions, const Step& step) {
    const auto add = [&](const auto&... arrays) { (regions.add(arrays.storage()), ...); };
    struct Visitor {
        const decltype(add)& arrays;
        Regions& regions;
        void operator()(const LaunchStep& s) const {
            for (const auto& storage : s.holds.memory) regions.add(storage);
        }
        void operator()(const FillStep& s) const { arrays(s.to); }
        void operator()(const CopyStep& s) const { arrays(s.to, s.from); }
        void operator()(const ScanStep& s) const { arrays(s.in, s.out); }
        void operator()(const SortStep& s) const { arrays(s.keys, s.values); }
        void operator()(const SegmentSortStep& s) const { arrays(s.keys, s.values, s.starts, s.ends); }
        void operator()(const RunsStep& s) const { arrays(s.values, s.run_values, s.run_lengths, s.runs); }
        void operator()(const SumStep& s) const { arrays(s.values, s.out); }
        void operator()(const InnerStep& s) const { arrays(s.a, s.b, s.out); }
        void operator()(const BranchStep& s) const { arrays(s.condition); }
        void operator()(const LoopStep& s) const { arrays(s.condition); }
        void operator()(const PartStep&) const {}
    };
    std::visit(Visitor{add, regions}, step);
}

// ---- reading ----

class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    // What pointers and launches refer to; told as soon as it is read.
    std::vector<std::shared_ptr<Storage>> regions;
    std::vector<std::shared_ptr<Code>> codes;

    bool at_end() const { return position_ == bytes_.size(); }

    template <typename... Items>
    void items(Items&... all) {
        (item(all), ...);
    }
    template <typename Number>
        requires std::is_arithmetic_v<Number>
    void item(Number& number) {
        take(sizeof(number)).copy(reinterpret_cast<char*>(&number), sizeof(number));
    }
    void item(bool& truth) {
        uint8_t byte = 0;
        item(byte);
        truth = byte != 0;
    }
    void item(std::string& text) { text = take(count()); }
    void item(std::vector<std::byte>& bytes) {
        const std::string_view text = take(count());
        const auto* data = reinterpret_cast<const std::byte*>(text.data());
        bytes.assign(data, data + text.size());
    }
    void item(Array& array) {
        std::string type;
        item(type);
        const ir::Type element = ir::parse_type(type);
        const auto [storage, offset] = pointer();
        const size_t ndim = count();
        if (ndim > Array::kMaxDims) refuse_load("an array of " + std::to_string(ndim) + " dimensions");
        std::vector<int64_t> sizes(2 * ndim);
        for (int64_t& n : sizes) item(n);
        const std::span<const int64_t> all(sizes);
        array = Array(element, all.first(ndim), all.last(ndim), storage ? storage->data() + offset : nullptr, storage);
        check_extent(array);
    }
    void item(std::shared_ptr<Graph>& graph) {
        bool there = false;
        item(there);
        graph = there ? steps() : nullptr;
    }
    std::shared_ptr<Graph> steps() {
        auto graph = std::make_shared<Graph>();
        const size_t number = count();
        for (size_t i = 0; i < number; ++i) {
            Step step = made(count(), std::make_index_sequence<std::variant_size_v<Step>>());
            std::visit([this](auto& s) { describe(*this, s); }, step);
            graph->add(std::move(step));
        }
        return graph;
    }
    void launch(LaunchStep& s) {
        const size_t code = count();
        if (code >= codes.size()) refuse_load("a launch of no kernel");
        const std::shared_ptr<Code>& keep = codes[code];
        s.code = keep.get();
        s.holds.keep = keep;
        describe(*this, s.shape);
        std::vector<std::byte> block;
        item(block);
        if (block.size() != static_cast<size_t>(s.code->block_bytes())) refuse_load("arguments of another kernel");
        for (const Parameter& parameter : s.code->parameters()) {
            std::vector<ArrayPlace> places;
            find_arrays(parameter.type, parameter.offset, places);
            for (const ArrayPlace& place : places) {
                const Array array = described(place, block);
                if (parameter.access.write) s.holds.written.push_back(array);
                s.holds.memory.push_back(array.storage());
            }
        }
        s.block = std::make_shared<std::vector<double>>(block.size() / sizeof(double) + 2);
        std::memcpy(s.block->data(), block.data(), block.size());
    }
    size_t count() {
        int64_t number = 0;
        item(number);
        if (number < 0) refuse_load("a negative count");
        return static_cast<size_t>(number);
    }
    std::string_view take(size_t size) {
        if (size > bytes_.size() - position_) refuse_load("it ends early");
        const std::string_view out = bytes_.substr(position_, size);
        position_ += size;
        return out;
    }

  private:
    // A step of kind `index`.
    template <size_t... I>
    static Step made(size_t index, std::index_sequence<I...>) {
        Step step;
        if (!((index == I && (step.emplace<I>(), true)) || ...)) refuse_load("a step of no kind");
        return step;
    }
    std::pair<std::shared_ptr<Storage>, int64_t> pointer() {
        int64_t region = 0;
        int64_t offset = 0;
        items(region, offset);
        if (region == Regions::kNone) return {nullptr, 0};
        if (region < 0 || static_cast<size_t>(region) >= regions.size()) refuse_load("memory of no region");
        const std::shared_ptr<Storage>& storage = regions[static_cast<size_t>(region)];
        if (offset < 0 || offset > storage->bytes()) refuse_load("a pointer beyond its region");
        return {storage, offset};
    }
    // The array whose descriptor is at `place` of the block, which gets its pointer.
    Array described(const ArrayPlace& place, std::vector<std::byte>& block) {
        const auto [storage, offset] = pointer();
        std::byte* data = storage ? storage->data() + offset : nullptr;
        std::memcpy(block.data() + place.offset, static_cast<const void*>(&data), sizeof(data));
        const auto ndim = static_cast<size_t>(place.type.ndim());
        std::vector<int64_t> sizes(2 * ndim);
        static_assert(kMaxDescriptor >= ir::descriptor_size(Array::kMaxDims));
        std::memcpy(sizes.data(), block.data() + place.offset + ir::descriptor_shape_offset(0),
                    sizes.size() * sizeof(int64_t));
        const std::span<const int64_t> all(sizes);
        Array array(place.type.target(), all.first(ndim), all.last(ndim), data, storage);
        check_extent(array);
        return array;
    }
    static void check_extent(const Array& array) {
        const auto [begin, end] = array.extent();
        if (begin == end) return;
        const Storage* storage = array.storage().get();
        if (storage == nullptr || begin < storage->data() || end > storage->data() + storage->bytes()) {
            refuse_load("an array beyond its region");
        }
    }

    std::string_view bytes_;
    size_t position_ = 0;
};

std::shared_ptr<Storage> read_region(Reader& reader) {
    const size_t size = reader.count();
    const std::string_view content = reader.take(size);
    auto storage = Storage::allocate(*devices().front(), static_cast<int64_t>(size), false);
    if (size > 0) std::memcpy(storage->data(), content.data(), size);
    return storage;
}

std::shared_ptr<Code> read_code(Reader& reader) {
    std::string name;
    std::string text;
    KernelOptions options;
    reader.items(name, options.backend, options.deterministic);
    describe(reader, options.codegen);
    reader.item(text);
    auto code = std::make_shared<Code>(ir::parse(text), name, options);
    Compiled compiled;
    reader.items(compiled.key, compiled.payload);
    code->offer(std::move(compiled));
    code->loaded(*devices().front());  // in the background
    return code;
}

}  // namespace

std::string save_graph(const Graph& graph, std::span<const NamedArray> named) {
    Regions regions;
    std::map<Code*, int64_t> numbers;
    std::vector<Code*> codes;
    each_step(graph, [&](const Step& step) {
        add_memory(regions, step);
        if (const auto* launch = std::get_if<LaunchStep>(&step)) {
            if (numbers.try_emplace(launch->code, static_cast<int64_t>(codes.size())).second) {
                codes.push_back(launch->code);
            }
        }
    });
    for (const NamedArray& each : named) regions.add(each.array.storage());
    regions.merge();

    Writer writer(regions, numbers);
    writer.item(static_cast<int64_t>(regions.ranges().size()));
    for (const auto& [begin, end] : regions.ranges()) {
        writer.item(std::string(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)));
    }
    writer.item(static_cast<int64_t>(codes.size()));
    for (const Code* code : codes) write_code(writer, *code);
    writer.steps(graph);
    writer.item(static_cast<int64_t>(named.size()));
    for (const NamedArray& each : named) {
        writer.item(each.name);
        writer.item(each.array);
    }
    const std::string body = writer.take();
    return std::string(kMagic) + hash_of(body) + body;
}

LoadedGraph load_graph(std::string_view bytes) {
    if (!bytes.starts_with(kMagic) || bytes.size() < kMagic.size() + kHashDigits) {
        refuse_load("it does not begin as one");
    }
    const std::string_view body = bytes.substr(kMagic.size() + kHashDigits);
    if (hash_of(body) != bytes.substr(kMagic.size(), kHashDigits)) refuse_load("it is damaged");
    Reader reader(body);
    const size_t regions = reader.count();
    for (size_t i = 0; i < regions; ++i) reader.regions.push_back(read_region(reader));
    const size_t codes = reader.count();
    for (size_t i = 0; i < codes; ++i) reader.codes.push_back(read_code(reader));
    LoadedGraph loaded;
    loaded.graph = reader.steps();
    const size_t named = reader.count();
    for (size_t i = 0; i < named; ++i) {
        NamedArray& each = loaded.named.emplace_back();
        reader.items(each.name, each.array);
    }
    if (!reader.at_end()) refuse_load("something follows it");
    return loaded;
}

}  // namespace weft::runtime
