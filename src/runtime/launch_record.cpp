#include "runtime/launch_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "ad/overwritten.h"
#include "base/error.h"
#include "runtime/copy.h"
#include "runtime/cpu/stacks.h"
#include "runtime/launch.h"

namespace weft::runtime {
namespace {

bool contains(const std::vector<int>& list, size_t value) {
    return std::find(list.begin(), list.end(), static_cast<int>(value)) != list.end();
}

}  // namespace

Array clone(const Array& array) {
    Array made(array.element(), array.shape(), array.device(), false);
    copy(made, array);
    return made;
}

LaunchRecord::LaunchRecord(KernelInstance& instance, std::vector<Given> arrays, std::span<const std::byte> block,
                           const codegen::LaunchShape& shape, bool captured, Overlaps overlaps)
    : instance_(instance),
      arrays_(std::move(arrays)),
      block_(block.begin(), block.end()),
      shape_(shape),
      captured_(captured),
      overlaps_(std::move(overlaps)) {}

Overlaps LaunchRecord::overlaps(std::span<const Given> arrays, const std::vector<Parameter>& parameters) {
    constexpr size_t kInline = 16;
    std::array<UsedArray, kInline> few;
    std::vector<UsedArray> many(arrays.size() > kInline ? arrays.size() : 0);
    const std::span<UsedArray> used(many.empty() ? few.data() : many.data(), arrays.size());
    for (size_t i = 0; i < arrays.size(); ++i) {
        used[i] = {&arrays[i].array, parameters[arrays[i].parameter].access.write};
    }
    return find_overlaps(used);
}

KernelInstance& LaunchRecord::instance_for(KernelInstance& instance, std::span<const Given> arrays,
                                           const Overlaps& overlaps) {
    std::set<int> together;
    try {
        const std::vector<Parameter>& adjoint = instance.adjoint().parameters();
        for (const std::vector<size_t>& group : overlaps) {
            std::set<int> parameters;
            bool read = false;
            for (const size_t i : group) {
                parameters.insert(static_cast<int>(arrays[i].parameter));
                read = read || adjoint[arrays[i].parameter].access.read;
            }
            if (read && parameters.size() > 1) together.insert(parameters.begin(), parameters.end());
        }
    } catch (const UserError&) {
        // A kernel without a derivative: refused when the tape runs backwards.
    }
    return together.empty() ? instance : instance.overlapping({together.begin(), together.end()});
}

bool LaunchRecord::adjoint_reads(size_t parameter) { return instance_.adjoint().parameters()[parameter].access.read; }

bool LaunchRecord::has_members() const {
    return std::any_of(arrays_.begin(), arrays_.end(), [](const Given& g) { return g.is_member; });
}

void LaunchRecord::save(size_t given) {
    const Given& g = arrays_[given];
    if (captured_) {
        lost_[given] = "a graph that is captured overwrites it: nothing can be saved there";
    } else if (g.offset < 0) {
        lost_[given] = "an array inside it has been overwritten";
    } else {
        saved_.emplace(given, clone(g.array));
    }
}

std::map<size_t, Array> LaunchRecord::copies_of(const std::vector<size_t>& group,
                                                const std::vector<int>& parameters) const {
    std::vector<size_t> wanted;
    std::vector<const Array*> arrays;
    for (const size_t i : group) {
        if (!contains(parameters, arrays_[i].parameter)) continue;
        wanted.push_back(i);
        arrays.push_back(&as_it_was(i));
    }
    std::map<size_t, Array> out;
    if (wanted.empty()) return out;
    const std::vector<Array> made = clone_together(arrays);
    for (size_t k = 0; k < wanted.size(); ++k) out.emplace(wanted[k], made[k]);
    return out;
}

void LaunchRecord::save_together(const std::vector<size_t>& group) {
    const std::vector<int>& restored = instance_.needs().restored;
    const auto lost = [&](size_t i) { return arrays_[i].offset < 0; };
    if (captured_ || std::ranges::any_of(group, lost)) {
        for (const size_t i : group) {
            if (contains(restored, arrays_[i].parameter)) save(i);  // tells why it cannot
        }
        return;
    }
    saved_.merge(copies_of(group, restored));
}

bool LaunchRecord::overlaps_others(size_t given) const {
    return std::ranges::any_of(overlaps_,
                               [&](const auto& group) { return std::ranges::find(group, given) != group.end(); });
}

void LaunchRecord::before_launch() {
    if (!must_prepare()) return;
    try {
        const ad::AdjointNeeds& needs = instance_.needs();
        for (const std::vector<size_t>& group : overlaps_) save_together(group);
        for (size_t i = 0; i < arrays_.size(); ++i) {
            const Given& given = arrays_[i];
            if (contains(needs.restored, given.parameter) && !overlaps_others(i)) save(i);
            if (contains(needs.extremes, given.parameter)) {
                if (captured_) lost_[i] = "what its atomics replace is not kept in a graph that is captured";
                before_.emplace(i, clone(given.array));
            }
        }
        if (needs.results > 0) {
            not_kept_ = why_not_kept();
            if (!not_kept_.empty()) return;
            kept_stacks_ = needs.kept_stacks;
            const int64_t extents[] = {item_count(instance_.logged(), shape_), needs.results};
            log_.emplace(ir::i64(), extents, arrays_.front().array.device(), true);
        }
    } catch (const UserError&) {
        // A kernel without a derivative: refused when the tape runs backwards.
    }
}

std::string LaunchRecord::why_not_kept() {
    if (captured_) return "a graph that is captured does not keep";
    const bool on_host = arrays_.front().array.device().capabilities().host_memory;
    return on_host || instance_.needs().kept_stacks.empty() ? "" : "GPUs do not keep in loops";
}

LaunchRecord::~LaunchRecord() {
    if (kept_stacks_.empty() || !log_) return;
    const int64_t row = log_->shape()[1];
    const auto* words = reinterpret_cast<const int64_t*>(log_->data());
    for (int64_t item = 0; item < log_->shape()[0]; ++item) {
        for (const int column : kept_stacks_) free_kept_stack(words[(item * row) + column]);
    }
}

Code& LaunchRecord::forward() { return log_ ? instance_.logged() : instance_.forward(); }

void LaunchRecord::watch(std::shared_ptr<const ProgramPlace> (*place)()) {
    const auto& parameters = instance_.forward().parameters();
    const auto watched = [&](size_t i) {
        return parameters[arrays_[i].parameter].access.read && (saved_.empty() || !saved_.contains(i));
    };
    // Nobody else knows the record yet: no lock.
    for (size_t i = 0; i < arrays_.size(); ++i) {
        Given& given = arrays_[i];
        if (!watched(i)) continue;
        const auto& counter = given.array.write_counter();
        const bool exported = given.array.storage()->exported();
        if (place_ == nullptr && (exported || counter != nullptr)) place_ = place();
        if (counter != nullptr) given.writes = counter->count();
        if (exported) keep_hash(i);
    }
    for (size_t i = 0; i < arrays_.size(); ++i) {
        if (!watched(i)) continue;
        const Given& given = arrays_[i];
        const bool hashed = given.hash.has_value();
        const auto [begin, end] = given.array.extent();
        given.array.storage()->watch(begin, end, weak_from_this(), static_cast<int>(i));
        if (!hashed && given.array.storage()->exported()) before_export(static_cast<int>(i));
    }
}

void LaunchRecord::before_write(int tag) noexcept {
    const auto i = static_cast<size_t>(tag);
    const bool written = lender_has_written(i);
    const std::lock_guard lock(mutex_);
    try {
        if (!adjoint_reads(arrays_[i].parameter)) return;
        check_unseen(i, written);
        save(i);
    } catch (const UserError& error) {
        // No derivative, which is refused when the tape runs backwards; or written before, unseen.
        if (arrays_[i].hash || written) lost_[i] = error.message();
    } catch (const std::exception& error) {
        lost_[i] = std::string("it has been overwritten since and could not be saved: ") + error.what();
    }
}

void LaunchRecord::before_export(int tag) noexcept {
    const std::lock_guard lock(mutex_);
    keep_hash(static_cast<size_t>(tag));
}

void LaunchRecord::keep_hash(size_t i) noexcept {
    try {
        if (arrays_[i].hash || !adjoint_reads(arrays_[i].parameter)) return;
        arrays_[i].hash = content_hash(arrays_[i].array);
    } catch (const UserError&) {
        // No derivative: refused when the tape runs backwards.
    } catch (const std::exception& error) {
        lost_[i] = std::string("it may have been overwritten: ") + error.what();
    }
}

bool LaunchRecord::lender_has_written(size_t given) const {
    const Given& g = arrays_[given];
    return g.writes && g.array.write_counter()->count() != *g.writes;
}

void LaunchRecord::check_unseen(size_t given, bool written) const {
    const Given& g = arrays_[given];
    // The same content makes the same derivative, whoever has written.
    if (g.hash ? content_hash(g.array) == *g.hash : !written) return;
    if (written) {
        throw UserError(ErrorKind::Gradient,
                        "it has been overwritten since by the library that it comes from, as the version of its "
                        "tensor tells");
    }
    const std::string place = g.array.storage()->export_place();
    throw UserError(ErrorKind::Gradient, "it has been overwritten since, through memory that was given away" +
                                             (place.empty() ? std::string(" or borrowed") : " at " + place) +
                                             ", which no tape can see");
}

std::string LaunchRecord::launch() const {
    return "the derivative of kernel '" + instance_.name() + "'" +
           (place_ != nullptr ? ", launched at " + place_->str() + "," : std::string());
}

void LaunchRecord::refuse(size_t given, const std::string& why) const {
    const Given& g = arrays_[given];
    const std::string& name = instance_.forward().parameters()[g.parameter].name;
    const ir::Module& module = instance_.module();
    UserError error(ErrorKind::Gradient,
                    launch() + " needs the values that '" + name + "' had when it was launched, but " + why,
                    ad::first_read(module, *module.find(instance_.name()), static_cast<int>(g.parameter)));
    throw error;
}

void LaunchRecord::check_reinterpreted(size_t given) const {
    const Given& g = arrays_[given];
    const Parameter& parameter = instance_.forward().parameters()[g.parameter];
    if (!parameter.access.write || g.array.element().is_differentiable() || g.array.gradient() == nullptr ||
        !g.array.gradient()->element().is_differentiable()) {
        return;
    }
    throw UserError(ErrorKind::Gradient,
                    launch() + " is not known: it writes bits through '" + parameter.name +
                        "', a view of numbers that have a gradient; write to an array of their own type",
                    instance_.module().find(instance_.name())->location);
}

const Array& LaunchRecord::as_it_was(size_t given) const {
    const auto saved = saved_.find(given);
    return saved == saved_.end() ? arrays_[given].array : saved->second;
}

std::vector<Array> LaunchRecord::write_arguments(std::byte* block) {
    const std::lock_guard lock(mutex_);
    std::vector<Array> kept;
    if (!not_kept_.empty()) {
        throw UserError(ErrorKind::Gradient, launch() + " needs results of its atomics, which " + not_kept_,
                        instance_.module().find(instance_.name())->location);
    }
    std::memcpy(block, block_.data(), block_.size());
    std::map<size_t, Array> together;
    for (const std::vector<size_t>& group : overlaps_) together.merge(copies_of(group, instance_.needs().restored));
    for (size_t i = 0; i < arrays_.size(); ++i) {
        if (const auto lost = lost_.find(i); lost != lost_.end()) refuse(i, lost->second);
        check_reinterpreted(i);
        const bool written = contains(instance_.needs().restored, arrays_[i].parameter);
        if (!written && !adjoint_reads(arrays_[i].parameter)) continue;
        const auto saved = saved_.find(i);
        if (saved == saved_.end()) {
            try {
                check_unseen(i, lender_has_written(i));
            } catch (const UserError& error) {
                refuse(i, error.message());
            }
            continue;
        }
        const auto one_of = together.find(i);
        kept.push_back(one_of != together.end() ? one_of->second : written ? clone(saved->second) : saved->second);
        kept.back().write_descriptor(block + arrays_[i].offset);
    }
    return kept;
}

void LaunchRecord::clear_replaced(std::span<const Array* const> gradients) {
    const std::lock_guard lock(mutex_);
    for (const auto& [i, before] : before_) {
        const Array* gradient = gradients[arrays_[i].parameter];
        if (gradient != nullptr) clear_where_different(*gradient, before, as_it_was(i));
    }
}

}  // namespace weft::runtime
