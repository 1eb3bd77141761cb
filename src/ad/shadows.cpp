#include "ad/shadows.h"

#include "base/error.h"

namespace weft::ad {

using namespace ir;

namespace {

// The array that a Ref of the function being built points into.
Value* array_of(Value* ref) {
    while (ref->op && ref->op->code != Opcode::At) ref = ref->op->operands[0];
    WEFT_CHECK(ref->op, "a shadow of what is no element of an array");
    return ref->op->operands[0];
}

}  // namespace

Value* Shadows::of(const Value* value) {
    Builder& b = *builder_;
    const auto it = shadows_.find(value);
    if (it != shadows_.end()) return it->second;
    if (value->op && value->op->code == Opcode::Zero) return b.zero(value->type);
    if (!value->op || value->op->operands.empty()) return nullptr;
    const Op& op = *value->op;
    if (op.code == Opcode::Select) {
        Value* first = of(op.operands[1]);
        Value* second = of(op.operands[2]);
        return first && second ? b.select(primal_(op.operands[0]), first, second) : nullptr;
    }
    // Structs with arrays, made of parts: so are their shadows.
    if (op.code == Opcode::Compose || op.code == Opcode::Insert) {
        std::vector<Value*> parts;
        for (const Value* v : op.operands) {
            parts.push_back(has_shadow(v->type) ? of(v) : b.zero(v->type));
            if (!parts.back()) return nullptr;
        }
        return op.code == Opcode::Compose ? b.compose(op.result()->type, parts)
                                          : b.insert(parts[0], parts[1], static_cast<int>(op.ints[0]));
    }
    if (op.code != Opcode::View && op.code != Opcode::Slice && op.code != Opcode::Extract && op.code != Opcode::At &&
        op.code != Opcode::Member && op.code != Opcode::MemberAt) {
        return nullptr;
    }
    Value* base = of(op.operands[0]);
    if (!base) return nullptr;
    std::vector<Value*> indices;
    for (size_t i = 1; i < op.operands.size(); ++i) indices.push_back(primal_(op.operands[i]));
    switch (op.code) {
        case Opcode::View:
            return b.view(base, indices);
        case Opcode::Slice: {
            bool ranges[8] = {};
            for (size_t d = 0; d < op.ints.size(); ++d) ranges[d] = op.ints[d] != 0;
            return b.slice(base, {ranges, op.ints.size()}, indices);
        }
        case Opcode::At:
            return b.at(base, indices);
        case Opcode::Extract:
            return b.extract(base, static_cast<int>(op.ints[0]));
        case Opcode::Member:
            return b.member(base, static_cast<int>(op.ints[0]));
        default:
            return b.member_at(base, indices[0]);
    }
}

Value* Shadows::of_ref(const Op& op) {
    Value* place = of(op.operands[0]);
    if (place) return place;
    const Op* made = op.operands[0]->op;
    while (made != nullptr && made->code != Opcode::Snippet && !made->operands.empty()) made = made->operands[0]->op;
    const bool shared = made != nullptr && made->text.find("__shared__") != std::string::npos;
    throw UserError(ErrorKind::Gradient,
                    shared ? "no gradient through memory that the threads of a block share"
                           : "no gradient through an array that is chosen while the kernel runs",
                    op.location);
}

void Shadows::if_kept(Value* place, const std::function<void()>& then) {
    builder_->if_(builder_->is_valid(array_of(place)), {}, then, [] {});
}

Value* Shadows::load(Value* place) {
    Builder& b = *builder_;
    const std::vector<Type> types = {place->type.target()};
    return b.if_(
        b.is_valid(array_of(place)), types,
        [&] {
            Value* held = b.load(place);
            b.yield({&held, 1});
        },
        [&] {
            Value* zero = b.zero(types[0]);
            b.yield({&zero, 1});
        })[0];
}

}  // namespace weft::ad
