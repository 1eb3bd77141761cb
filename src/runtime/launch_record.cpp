#include "runtime/launch_record.h"

#include <algorithm>

#include "base/error.h"
#include "runtime/copy.h"

namespace weft::runtime {

Array clone(const Array& array) {
    Array made(array.element(), array.shape(), array.device(), false);
    copy(made, array);
    return made;
}

LaunchRecord::LaunchRecord(KernelInstance& instance, std::vector<Given> arrays)
    : instance_(instance), arrays_(std::move(arrays)) {}

bool LaunchRecord::adjoint_reads(size_t parameter) { return instance_.adjoint().parameters()[parameter].access.read; }

void LaunchRecord::before_launch() {
    if (!instance_.may_overwrite_own_inputs()) return;
    try {
        for (const int parameter : instance_.restored()) {
            for (const Given& given : arrays_) {
                if (given.parameter != static_cast<size_t>(parameter)) continue;
                if (given.is_member) {
                    lost_[given.parameter] = "the kernel itself overwrites an array inside a struct";
                } else {
                    saved_.emplace(given.parameter, clone(given.array));
                }
            }
        }
    } catch (const UserError&) {
        // A kernel without a derivative: refused when the tape runs backwards.
    }
}

void LaunchRecord::watch() {
    const auto& parameters = instance_.forward().parameters();
    for (size_t i = 0; i < arrays_.size(); ++i) {
        const Given& given = arrays_[i];
        if (!parameters[given.parameter].access.read || saved_.contains(given.parameter)) continue;
        const auto [begin, end] = given.array.extent();
        given.array.storage()->watch(begin, end, weak_from_this(), static_cast<int>(i));
    }
}

void LaunchRecord::before_write(int tag) noexcept {
    const Given& given = arrays_[static_cast<size_t>(tag)];
    const std::lock_guard lock(mutex_);
    try {
        if (!adjoint_reads(given.parameter)) return;
        if (given.is_member) {
            lost_[given.parameter] = "an array inside a struct has been overwritten since";
        } else {
            saved_.emplace(given.parameter, clone(given.array));
        }
    } catch (const UserError&) {
        // No derivative: refused when the tape runs backwards.
    } catch (const std::exception& error) {
        lost_[given.parameter] =
            std::string("the array has been overwritten since and could not be saved: ") + error.what();
    }
}

std::unique_ptr<Array> LaunchRecord::for_adjoint(size_t parameter) {
    const std::lock_guard lock(mutex_);
    if (const auto lost = lost_.find(parameter); lost != lost_.end()) {
        throw UserError(ErrorKind::Gradient, "the derivative of kernel '" + instance_.name() +
                                                 "' needs the values that '" +
                                                 instance_.forward().parameters()[parameter].name +
                                                 "' had when it was launched, but " + lost->second);
    }
    const auto saved = saved_.find(parameter);
    if (saved == saved_.end()) return nullptr;
    const auto& restored = instance_.restored();
    const bool written = std::find(restored.begin(), restored.end(), static_cast<int>(parameter)) != restored.end();
    return std::make_unique<Array>(written ? clone(saved->second) : saved->second);
}

}  // namespace weft::runtime
