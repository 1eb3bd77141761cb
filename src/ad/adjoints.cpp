#include "ad/adjoints.h"

#include "base/error.h"

namespace weft::ad {

using ir::Type;
using ir::TypeKind;
using ir::Value;

Value* add_values(ir::Builder& builder, Value* a, Value* b) {
    if (a->type.has_float_elements()) return builder.add(a, b);
    if (!a->type.is_differentiable() || a->type.is(TypeKind::Array)) return a;
    WEFT_CHECK(a->type.is_aggregate(), "adjoint of type " + a->type.str());
    std::vector<Value*> parts;
    for (int i = 0; i < a->type.part_count(); ++i) {
        parts.push_back(add_values(builder, builder.extract(a, i), builder.extract(b, i)));
    }
    return builder.compose(a->type, parts);
}

void Adjoints::add(const Value* value, Value* contribution) {
    if (!value->type.is_differentiable()) return;
    Entry& entry = entries_[value];
    if (!entry.parts.empty()) {
        for (int i = 0; i < value->type.part_count(); ++i) {
            if (value->type.part(i).is_differentiable()) add_part(value, i, builder_->extract(contribution, i));
        }
        return;
    }
    entry.whole = entry.whole ? add_values(*builder_, entry.whole, contribution) : contribution;
}

void Adjoints::add_part(const Value* aggregate, int part, Value* contribution) {
    if (!contribution->type.is_differentiable()) return;
    Entry& entry = entries_[aggregate];
    const int count = aggregate->type.part_count();
    if (entry.parts.empty()) {
        entry.parts.resize(static_cast<size_t>(count), nullptr);
        for (int i = 0; entry.whole && i < count; ++i) {
            entry.parts[static_cast<size_t>(i)] = builder_->extract(entry.whole, i);
        }
        entry.whole = nullptr;
    }
    Value*& slot = entry.parts[static_cast<size_t>(part)];
    slot = slot ? add_values(*builder_, slot, contribution) : contribution;
}

Value* Adjoints::get(const Value* value) {
    const auto it = entries_.find(value);
    if (it == entries_.end()) return nullptr;
    Entry& entry = it->second;
    if (entry.parts.empty()) return entry.whole;
    std::vector<Value*> parts;
    for (int i = 0; i < value->type.part_count(); ++i) {
        Value* part = entry.parts[static_cast<size_t>(i)];
        parts.push_back(part ? part : builder_->zero(value->type.part(i)));
    }
    return builder_->compose(value->type, parts);
}

Value* Adjoints::get_or_zero(const Value* value) {
    Value* adjoint = get(value);
    return adjoint ? adjoint : builder_->zero(value->type);
}

}  // namespace weft::ad
