#include "runtime/host_copies.h"

#include "base/error.h"
#include "runtime/copy.h"
#include "runtime/device.h"

namespace weft::runtime {

Array HostCopies::read(const Array& array) {
    if (array.storage() == nullptr || array.device().capabilities().host_memory) return array;
    if (array.device().is_recording()) {
        throw UserError(ErrorKind::Runtime, "sorts, prefix sums and sums of arrays of " + array.device().alias() +
                                                " are made on the host, which a captured graph cannot do");
    }
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
