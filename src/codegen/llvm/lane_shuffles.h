// Elements of several numbers as they lie in memory, and as lanes want them: a vector for each number. Shuffles only,
// no memory.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace weft::codegen::llvm_backend {

class LaneShuffles {
  public:
    using Vectors = llvm::SmallVector<llvm::Value*, 16>;

    LaneShuffles(llvm::IRBuilder<>& builder, unsigned lanes) : b_(builder), lanes_(lanes) {}

    // Whether runs of elements of so many numbers are worth it.
    static bool can_be_grouped(size_t count);
    // Of a run of elements of `run.size()` numbers, in as many vectors: vector i of the result has the lanes' i-th
    // numbers.
    Vectors taken_apart(llvm::ArrayRef<llvm::Value*> run);
    // The other way round.
    Vectors put_together(llvm::ArrayRef<llvm::Value*> numbers);

    // Numbers of a row of from_rows().
    static constexpr unsigned kRow = 4;
    bool has_rows() const { return lanes_ >= kRow; }
    // Of a vector of kRow numbers for each lane: the vectors of the first `count` of these numbers.
    Vectors from_rows(llvm::ArrayRef<llvm::Value*> rows, unsigned count);

  private:
    template <typename From>
    llvm::Value* picked(llvm::ArrayRef<llvm::Value*> vectors, const From& from);

    llvm::IRBuilder<>& b_;
    unsigned lanes_;
};

}  // namespace weft::codegen::llvm_backend
