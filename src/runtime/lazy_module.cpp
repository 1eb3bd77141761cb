#include "runtime/lazy_module.h"

#include "base/hash.h"
#include "ir/text.h"

namespace weft::runtime {

std::string LazyModule::digest() const {
    const std::lock_guard lock(mutex_);
    if (digest_.empty()) digest_ = sha256(ir::print(*made(), {.names = false, .locations = false}));
    return digest_;
}

}  // namespace weft::runtime
