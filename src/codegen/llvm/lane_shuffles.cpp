#include "codegen/llvm/lane_shuffles.h"

#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace weft::codegen::llvm_backend {
namespace {

constexpr size_t kLargestGroup = 16;
constexpr size_t kLargestFactor = 7;  // of the count: what one step takes apart

size_t smallest_factor(size_t count) {
    WEFT_CHECK(count > 1, "nothing to take apart");
    for (size_t factor = 2; factor < count; ++factor) {
        if (count % factor == 0) return factor;
    }
    return count;
}

}  // namespace

// The vector whose every lane comes from `from(lane)`: which of the vectors, and which of its lanes. Vector by
// vector, as LLVM takes long to find out how to shuffle longer ones.
template <typename From>
llvm::Value* LaneShuffles::picked(llvm::ArrayRef<llvm::Value*> vectors, const From& from) {
    if (vectors.size() == 1) return vectors[0];
    llvm::Value* out = vectors[0];
    for (unsigned k = 1; k < vectors.size(); ++k) {
        llvm::SmallVector<int, 16> places;
        for (unsigned lane = 0; lane < lanes_; ++lane) {
            const auto [vector, place] = from(lane);
            places.push_back(vector == k  ? static_cast<int>(lanes_ + place)
                             : vector > k ? -1
                             : k == 1     ? static_cast<int>(place)
                                          : static_cast<int>(lane));
        }
        out = b_.CreateShuffleVector(out, vectors[k], places);
    }
    return out;
}

bool LaneShuffles::can_be_grouped(size_t count) {
    if (count > kLargestGroup) return false;
    while (count > 1) {
        const size_t factor = smallest_factor(count);
        if (factor > kLargestFactor) return false;
        count /= factor;
    }
    return true;
}

// Of a run of elements of `count` numbers: vector i of the result has the lanes' i-th numbers. By the factors of
// the count: numbers are dealt out by their remainders, and then each of these runs is taken apart likewise.
LaneShuffles::Vectors LaneShuffles::taken_apart(llvm::ArrayRef<llvm::Value*> run) {
    const size_t count = run.size();
    if (count == 1) return {run[0]};
    const size_t factor = smallest_factor(count);
    Vectors out(count);
    for (size_t rest = 0; rest < factor; ++rest) {
        Vectors part;
        for (size_t group = 0; group < count; group += factor) {
            part.push_back(picked(run.slice(group, factor), [&](unsigned lane) {
                return std::pair{(rest + factor * lane) / lanes_, (rest + factor * lane) % lanes_};
            }));
        }
        const auto numbers = taken_apart(part);
        for (size_t i = 0; i < numbers.size(); ++i) out[rest + factor * i] = numbers[i];
    }
    return out;
}

// The other way round.
LaneShuffles::Vectors LaneShuffles::put_together(llvm::ArrayRef<llvm::Value*> numbers) {
    const size_t count = numbers.size();
    if (count < 2) return Vectors(numbers.begin(), numbers.end());
    const size_t factor = smallest_factor(count);
    WEFT_CHECK(factor > 1, "no factor");
    llvm::SmallVector<Vectors, 4> parts;
    for (size_t rest = 0; rest < factor; ++rest) {
        Vectors mine;
        for (size_t i = rest; i < count; i += factor) mine.push_back(numbers[i]);
        parts.push_back(put_together(mine));
    }
    Vectors out;
    for (size_t group = 0; group < count / factor; ++group) {
        Vectors vectors;
        for (const auto& part : parts) vectors.push_back(part[group]);
        for (size_t piece = 0; piece < factor; ++piece) {
            out.push_back(picked(vectors, [&](unsigned lane) {
                const size_t place = piece * lanes_ + lane;
                return std::pair{place % factor, place / factor};
            }));
        }
    }
    return out;
}

// Rows of four lanes that are four apart make a vector; of these vectors the numbers are brought together within each
// four, which is one instruction a step.
LaneShuffles::Vectors LaneShuffles::from_rows(llvm::ArrayRef<llvm::Value*> rows, unsigned count) {
    WEFT_CHECK(has_rows() && rows.size() == lanes_ && count <= kRow, "rows of another shape");
    Vectors blocks;
    for (unsigned first = 0; first < kRow; ++first) {
        Vectors parts;
        for (unsigned lane = first; lane < lanes_; lane += kRow) parts.push_back(rows[lane]);
        for (unsigned size = kRow; parts.size() > 1; size *= 2) {
            llvm::SmallVector<int, 16> joined(2 * size_t{size});
            std::iota(joined.begin(), joined.end(), 0);
            for (size_t i = 0; i < parts.size() / 2; ++i) {
                parts[i] = b_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], joined);
            }
            parts.resize(parts.size() / 2);
        }
        blocks.push_back(parts[0]);
    }
    const auto within_fours = [&](llvm::Value* x, llvm::Value* y, const std::array<unsigned, kRow>& from) {
        llvm::SmallVector<int, 16> places;
        for (unsigned lane = 0; lane < lanes_; ++lane) {
            const unsigned place = from[lane % kRow];
            places.push_back(static_cast<int>(lane / kRow * kRow + place % kRow + (place >= kRow ? lanes_ : 0)));
        }
        return b_.CreateShuffleVector(x, y, places);
    };
    Vectors out;
    for (unsigned pair = 0; pair < count; pair += 2) {
        const std::array<unsigned, kRow> both = {pair, kRow + pair, pair + 1, kRow + pair + 1};
        llvm::Value* low = within_fours(blocks[0], blocks[1], both);
        llvm::Value* high = within_fours(blocks[2], blocks[3], both);
        out.push_back(within_fours(low, high, {0, 1, 4, 5}));
        if (pair + 1 < count) out.push_back(within_fours(low, high, {2, 3, 6, 7}));
    }
    return out;
}

}  // namespace weft::codegen::llvm_backend
