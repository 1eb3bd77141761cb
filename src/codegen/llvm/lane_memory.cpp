// Loads and stores of lanes: runs of memory where elements lie side by side, else rows, gathers and scatters.
#include "codegen/llvm/lane_emitter.h"

#include <algorithm>
#include <cstddef>

#include "codegen/backend.h"
#include "ir/layout.h"
#include "opt/in_loop.h"

namespace weft::codegen::llvm_backend {

using ir::Opcode;
using ir::TypeKind;
using llvm::Value;

namespace {

// LLVM would take the number out of the vector instead.
Value* kept_in_memory(Value* loaded) {
    llvm::cast<llvm::LoadInst>(loaded)->setVolatile(true);
    return loaded;
}

}  // namespace

llvm::Type* LaneEmitter::memory_type(ir::Scalar scalar) {
    return scalar == ir::Scalar::Bool ? builder_.getInt8Ty() : scalars_.type(scalar);
}

Value* LaneEmitter::from_memory(ir::Scalar scalar, Value* v) {
    return scalar == ir::Scalar::Bool ? builder_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

Value* LaneEmitter::to_memory(ir::Scalar scalar, Value* v) {
    return scalar == ir::Scalar::Bool ? builder_.CreateZExt(v, wide(builder_.getInt8Ty())) : v;
}

bool LaneEmitter::is_run(ir::Type type, const LaneAddress& a) {
    if (a.distance != ir::size_of(type) || a.offsets != nullptr) return false;
    const auto& leaves = module_.leaves_of(type);
    if (!LaneShuffles::can_be_grouped(leaves.size())) return false;
    int64_t at = 0;
    for (const Leaf& leaf : leaves) {
        if (leaf.kind != LeafKind::Number || leaf.scalar != leaves[0].scalar || leaf.offset != at) return false;
        at += ir::scalar_bits(leaf.scalar) / 8;
    }
    return at == ir::size_of(type);
}

unsigned LaneEmitter::numbers_of_run(ir::Type type, const LaneAddress& a) {
    constexpr unsigned kMostForOne = 8;
    if (is_run(type, a)) return static_cast<unsigned>(module_.leaves_of(type).size());
    if (a.distance == 0 || a.offsets != nullptr) return 0;
    const auto& leaves = module_.leaves_of(type);
    if (leaves.empty() || leaves[0].kind != LeafKind::Number) return 0;
    const int64_t size = std::max(ir::scalar_bits(leaves[0].scalar) / 8, 1);
    const auto fits = [&](const Leaf& leaf) {
        return leaf.kind == LeafKind::Number && leaf.scalar == leaves[0].scalar && (a.member + leaf.offset) % size == 0;
    };
    if (a.distance % size != 0 || !std::all_of(leaves.begin(), leaves.end(), fits)) return 0;
    const auto count = static_cast<unsigned>(a.distance / size);
    return count <= kMostForOne && LaneShuffles::can_be_grouped(count) ? count : 0;
}

Value* LaneEmitter::run_mask(unsigned piece, unsigned count) {
    if (count == 1) return mask_;
    llvm::SmallVector<int, 16> lanes;
    for (unsigned i = 0; i < lanes_; ++i) lanes.push_back(static_cast<int>((piece * lanes_ + i) / count));
    return builder_.CreateShuffleVector(mask_, lanes);
}

Scalars LaneEmitter::load(ir::Type type, const LaneAddress& a) {
    const auto& leaves = module_.leaves_of(type);
    Scalars out;
    if (a.uniform()) {
        for (const Leaf& leaf : leaves) {
            Value* place = offset(a.base, leaf.offset);
            out.push_back(leaf.kind == LeafKind::Number
                              ? scalars_.load(leaf.scalar, place, scalars_.alignment(1))
                              : builder_.CreateAlignedLoad(leaf_type(leaf), place, llvm::Align(1)));
        }
        return out;
    }
    if (const unsigned count = numbers_of_run(type, a); count > 0) {
        auto* vector = wide(memory_type(leaves[0].scalar));
        const int64_t size = a.distance / count;
        Scalars pieces;
        for (unsigned piece = 0; piece < count; ++piece) {
            Value* place = offset(a.base, size * lanes_ * piece - a.member);
            pieces.push_back(mask_ == nullptr
                                 ? static_cast<Value*>(builder_.CreateAlignedLoad(vector, place, llvm::Align(1)))
                                 : builder_.CreateMaskedLoad(vector, place, llvm::Align(1), run_mask(piece, count),
                                                             llvm::Constant::getNullValue(vector)));
        }
        const auto numbers = shuffles_.taken_apart(pieces);
        for (const Leaf& leaf : leaves) {
            out.push_back(from_memory(leaf.scalar, numbers[static_cast<size_t>((a.member + leaf.offset) / size)]));
        }
        return out;
    }
    Value* places = lane_offsets(a);
    for (size_t i = 0; i < leaves.size(); ++i) {
        const Leaf& leaf = leaves[i];
        if (leaf.kind != LeafKind::Number) throw NotForLanes();
        if (const unsigned count = row_length(llvm::ArrayRef(leaves).drop_front(i)); count > 1) {
            const auto numbers = load_rows(leaf, count, a.base, places);
            out.append(numbers.begin(), numbers.end());
            i += count - 1;
            continue;
        }
        auto* vector = wide(memory_type(leaf.scalar));
        Value* pointers = builder_.CreateGEP(builder_.getInt8Ty(), offset(a.base, leaf.offset), places);
        Value* part = builder_.CreateMaskedGather(vector, pointers, llvm::Align(1), full_mask(),
                                                  llvm::Constant::getNullValue(vector));
        out.push_back(from_memory(leaf.scalar, part));
    }
    return out;
}

void LaneEmitter::fetch_ahead(const ir::Op& access) {
    constexpr int64_t kAhead = 2048;
    constexpr int64_t kLine = 64;
    constexpr int64_t kMost = 1024;  // beyond it a few elements ahead are more than is asked for
    const LaneAddress& a = addresses_.at(access.operands[0]);
    const int64_t bytes = a.distance * static_cast<int64_t>(lanes_);
    if ((mask_ == nullptr && a.affine == nullptr) || a.distance == 0 || a.offsets != nullptr || bytes > kMost ||
        opt::in_loop(access))
        return;
    const ir::Op* at = access.operands[0]->op;
    while (at->code != Opcode::At) at = at->operands[0]->op;
    // Neighbours in a row share lines.
    if (!fetched_.emplace(at->operands.begin(), at->operands.end() - 1).second) return;
    for (int64_t line = 0; line < bytes; line += kLine) {
        constexpr uint32_t kRead = 0;
        constexpr uint32_t kToAllCaches = 3;
        constexpr uint32_t kData = 1;
        builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                                 {offset(a.base, kAhead - a.member + line), builder_.getInt32(kRead),
                                  builder_.getInt32(kToAllCaches), builder_.getInt32(kData)});
    }
}

unsigned LaneEmitter::row_length(llvm::ArrayRef<Leaf> leaves) const {
    const auto fits = [&](size_t i) {
        return leaves[i].kind == LeafKind::Number && leaves[i].scalar == leaves[0].scalar &&
               leaves[i].offset == leaves[0].offset + 4 * static_cast<int64_t>(i);
    };
    if (!shuffles_.has_rows() || module_.machine.has_fast_gathers() || ir::scalar_bits(leaves[0].scalar) != 32) {
        return 1;
    }
    unsigned count = 1;
    while (count < std::min<size_t>(leaves.size(), LaneShuffles::kRow) && fits(count)) ++count;
    return count;
}

LaneShuffles::Vectors LaneEmitter::load_rows(const Leaf& leaf, unsigned count, Value* base, Value* places) {
    if (mask_ != nullptr) {
        // Lanes that are left out read what one of the others does; there is one.
        auto* bits_type = builder_.getIntNTy(lanes_);
        Value* lane = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, builder_.CreateBitCast(mask_, bits_type),
                                                     builder_.getFalse());
        Value* inside =
            builder_.CreateAnd(builder_.CreateZExtOrTrunc(lane, builder_.getInt32Ty()), builder_.getInt32(lanes_ - 1));
        Value* there = builder_.CreateVectorSplat(lanes_, builder_.CreateExtractElement(places, inside));
        places = builder_.CreateSelect(mask_, places, there);
    }
    auto* row = llvm::FixedVectorType::get(memory_type(leaf.scalar), LaneShuffles::kRow);
    llvm::SmallVector<llvm::Constant*, LaneShuffles::kRow> wanted;
    for (unsigned i = 0; i < LaneShuffles::kRow; ++i) wanted.push_back(builder_.getInt1(i < count));
    Value* start = offset(base, leaf.offset);
    // By way of memory, as it takes longer to bring numbers of vectors to the registers of addresses.
    Value* in_memory = laid_out(places);
    LaneShuffles::Vectors rows;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
        Value* place = builder_.CreateGEP(builder_.getInt8Ty(), start,
                                          kept_in_memory(of_lane(in_memory, builder_.getInt32(lane))));
        rows.push_back(count == LaneShuffles::kRow
                           ? static_cast<Value*>(builder_.CreateAlignedLoad(row, place, llvm::Align(1)))
                           : builder_.CreateMaskedLoad(row, place, llvm::Align(1), llvm::ConstantVector::get(wanted),
                                                       llvm::Constant::getNullValue(row)));
    }
    return shuffles_.from_rows(rows, count);
}

void LaneEmitter::stream(llvm::ArrayRef<Value*> run, const LaneAddress& a) {
    constexpr uint64_t kLine = 64;
    llvm::BasicBlock* past = block("past_caches");
    llvm::BasicBlock* plain = block("plain");
    llvm::BasicBlock* after = block("stored");
    Value* flag = builder_.CreateLoad(builder_.getInt32Ty(), offset(shape_, offsetof(LaunchShape, streams)));
    Value* word = builder_.CreatePtrToInt(a.base, builder_.getInt64Ty());
    Value* aligned = builder_.CreateICmpEQ(builder_.CreateAnd(word, kLine - 1), builder_.getInt64(0));
    builder_.CreateCondBr(builder_.CreateAnd(builder_.CreateICmpNE(flag, builder_.getInt32(0)), aligned), past, plain);
    const int64_t size = a.distance * lanes_ / static_cast<int64_t>(run.size());
    for (llvm::BasicBlock* way : {past, plain}) {
        builder_.SetInsertPoint(way);
        for (size_t piece = 0; piece < run.size(); ++piece) {
            auto* made = builder_.CreateAlignedStore(run[piece], offset(a.base, size * static_cast<int64_t>(piece)),
                                                     llvm::Align(way == past ? kLine : 1));
            if (way == past) {
                made->setMetadata(
                    llvm::LLVMContext::MD_nontemporal,
                    llvm::MDNode::get(module_.llvm.getContext(), llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
            }
        }
        builder_.CreateBr(after);
    }
    builder_.SetInsertPoint(after);
    streams_ = true;
}

void LaneEmitter::store_among(llvm::ArrayRef<Leaf> leaves, const Scalars& values, const LaneAddress& a,
                              unsigned count) {
    const int64_t size = a.distance / count;
    auto* vector = wide(memory_type(leaves[0].scalar));
    Scalars numbers(count, llvm::PoisonValue::get(vector));
    llvm::SmallVector<bool, 16> written(count, false);
    for (size_t i = 0; i < leaves.size(); ++i) {
        const auto number = static_cast<size_t>((a.member + leaves[i].offset) / size);
        numbers[number] = to_memory(leaves[i].scalar, widen(values[i]));
        written[number] = true;
    }
    const auto run = shuffles_.put_together(numbers);
    for (unsigned piece = 0; piece < count; ++piece) {
        llvm::SmallVector<llvm::Constant*, 16> among;
        for (unsigned i = 0; i < lanes_; ++i) among.push_back(builder_.getInt1(written[(piece * lanes_ + i) % count]));
        Value* mask = llvm::ConstantVector::get(among);
        if (mask_ != nullptr) mask = builder_.CreateAnd(mask, run_mask(piece, count));
        builder_.CreateMaskedStore(run[piece], offset(a.base, size * lanes_ * piece - a.member), llvm::Align(1), mask);
    }
}

void LaneEmitter::store(ir::Type type, const Scalars& values, const LaneAddress& a, bool only_written) {
    const auto& leaves = module_.leaves_of(type);
    for (const Leaf& leaf : leaves) {
        if (leaf.kind != LeafKind::Number) throw NotForLanes();
    }
    if (is_run(type, a)) {
        llvm::SmallVector<Value*, 4> parts;
        for (size_t i = 0; i < leaves.size(); ++i) {
            parts.push_back(to_memory(leaves[i].scalar, widen(values[i])));
        }
        const auto count = static_cast<unsigned>(parts.size());
        const auto run = shuffles_.put_together(parts);
        const bool whole_lines = a.distance * lanes_ / count % 64 == 0;
        if (only_written && mask_ == nullptr && whole_lines) return stream(run, a);
        for (unsigned piece = 0; piece < count; ++piece) {
            Value* all = run[piece];
            Value* place = offset(a.base, a.distance * lanes_ / count * piece);
            if (mask_ == nullptr) {
                builder_.CreateAlignedStore(all, place, llvm::Align(1));
            } else {
                builder_.CreateMaskedStore(all, place, llvm::Align(1), run_mask(piece, count));
            }
        }
        return;
    }
    // Stores under masks are quick where masks have registers of their own; without, some processors take dozens of
    // steps for one.
    constexpr unsigned kLanesWithMasks = 16;
    const unsigned count = lanes_ < kLanesWithMasks ? 0 : numbers_of_run(type, a);
    if (count > 0) return store_among(leaves, values, a, count);
    Value* places = lane_offsets(a);
    for (size_t i = 0; i < leaves.size(); ++i) {
        Value* base = offset(a.base, leaves[i].offset);
        if (places == nullptr && !is_vector(values[i])) {
            scalars_.store(leaves[i].scalar, values[i], base, scalars_.alignment(1));
            continue;
        }
        // To one address the last lane writes last.
        Value* pointers = places == nullptr ? widen(base) : builder_.CreateGEP(builder_.getInt8Ty(), base, places);
        builder_.CreateMaskedScatter(to_memory(leaves[i].scalar, widen(values[i])), pointers, llvm::Align(1),
                                     full_mask());
    }
}

void LaneEmitter::by_address(const LaneAddress& a, llvm::function_ref<void(const LaneAddress&)> work) {
    if (a.affine == nullptr) return work(a);
    llvm::BasicBlock* inside = block("inside");
    llvm::BasicBlock* around = block("around");
    llvm::BasicBlock* after = block("accessed");
    builder_.CreateCondBr(a.affine, inside, around);
    builder_.SetInsertPoint(inside);
    work(a);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(around);
    work(otherwise(a));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
}

Scalars LaneEmitter::load_any(ir::Type type, const LaneAddress& a) {
    llvm::SmallVector<std::pair<Scalars, llvm::BasicBlock*>, 2> found;
    by_address(a, [&](const LaneAddress& way) {
        Scalars leaves = load(type, way);
        found.emplace_back(std::move(leaves), builder_.GetInsertBlock());
    });
    if (found.size() == 1) return found[0].first;
    Scalars out;
    for (size_t i = 0; i < found[0].first.size(); ++i) {
        auto* phi = builder_.CreatePHI(found[0].first[i]->getType(), 2);
        for (const auto& [leaves, from] : found) phi->addIncoming(leaves[i], from);
        out.push_back(phi);
    }
    return out;
}

}  // namespace weft::codegen::llvm_backend
