#include "runtime/strided_kernels.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "ir/layout.h"
#include "ir/text.h"
#include "runtime/kernel.h"

namespace weft::runtime {
namespace {

// An element as a vector of the largest words that its size and place allow.
struct Words {
    std::string type;  // "vec<3, u32>"
    int64_t alignment = 1;
};

Words words_of(int64_t size, int64_t aligned_to) {
    int64_t word = 8;
    while (word > 1 && (size % word != 0 || aligned_to % word != 0)) word /= 2;
    const std::string scalar = "u" + std::to_string(8 * word);
    const int64_t count = size / word;
    return {count == 1 ? scalar : "vec<" + std::to_string(count) + ", " + scalar + ">", word};
}

// What every address in the array is a multiple of.
int64_t alignment_of(const Array& array) {
    auto bits = reinterpret_cast<uint64_t>(array.data()) | 8U;
    for (const int64_t stride : array.strides()) bits |= static_cast<uint64_t>(stride);
    return static_cast<int64_t>(bits & (~bits + 1));
}

// kernel @move(%to: array<T, n>, %from: array<T, n>) or, of a fill, %from: T.
std::string text_of(const std::string& element, int ndim, bool is_fill) {
    const std::string array = "array<" + element + ", " + std::to_string(ndim) + ">";
    std::string text = "kernel @move(%to: " + array + ", %from: " + (is_fill ? element : array) + ") {\n";
    std::string indices;
    for (int d = 0; d < ndim; ++d) {
        const std::string name = "%i" + std::to_string(d);
        text += "  " + name + " = thread.index [" + std::to_string(d) + "] : i32\n";
        indices += ", " + name;
    }
    text += "  %there = at(%to" + indices + ") : ref<" + element + ">\n";
    if (is_fill) {
        text += "  store(%there, %from)\n";
    } else {
        text += "  %here = at(%from" + indices + ") : ref<" + element + ">\n  %v = load(%here) : " + element +
                "\n  store(%there, %v)\n";
    }
    return text + "  return\n}\n";
}

Code& code_of(const std::string& text) {
    static std::mutex mutex;
    static auto& made = *new std::map<std::string, std::unique_ptr<Code>>;
    const std::lock_guard lock(mutex);
    auto& slot = made[text];
    if (slot == nullptr) {
        slot = std::make_unique<Code>(std::shared_ptr<ir::Module>(ir::parse(text)), "move", KernelOptions());
    }
    return *slot;
}

void launch(const Array& to, const Array* from, const std::byte* value, int64_t aligned_to) {
    const int64_t size = ir::size_of(to.element());
    // An array without dimensions that count has one element.
    const int ndim = std::max(to.ndim(), 1);
    Code& code = code_of(text_of(words_of(size, aligned_to).type, ndim, from == nullptr));
    std::vector<int64_t> block(static_cast<size_t>(code.block_bytes() / 8));
    auto* bytes = reinterpret_cast<std::byte*>(block.data());
    to.write_descriptor(bytes + code.parameters()[0].offset);
    if (from != nullptr) {
        from->write_descriptor(bytes + code.parameters()[1].offset);
    } else {
        std::memcpy(bytes + code.parameters()[1].offset, value, static_cast<size_t>(size));
    }
    codegen::LaunchShape shape;
    shape.ndim = ndim;
    for (size_t d = 0; d < to.shape().size(); ++d) shape.dims[d] = to.shape()[d];
    to.device().launch(code, bytes, shape, {});
}

}  // namespace

void copy_by_kernel(const Array& to, const Array& from) {
    launch(to, &from, nullptr, std::min(alignment_of(to), alignment_of(from)));
}

void fill_by_kernel(const Array& to, const std::byte* value) { launch(to, nullptr, value, alignment_of(to)); }

}  // namespace weft::runtime
