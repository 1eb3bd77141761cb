#include "runtime/host_copies.h"

#include "runtime/copy.h"
#include "runtime/device.h"

namespace weft::runtime {

Array HostCopies::read(const Array& array) {
    if (array.storage() == nullptr || array.device().capabilities().host_memory) return array;
    Array made(array.element(), array.shape(), *devices().front(), false);
    copy(made, array);
    return made;
}

Array HostCopies::changed(const Array& array) {
    Array made = read(array);
    if (made.data() != array.data()) changed_.emplace_back(array, made);
    return made;
}

void HostCopies::finish() {
    for (const auto& [array, made] : changed_) copy(array, made);
    changed_.clear();
}

}  // namespace weft::runtime
