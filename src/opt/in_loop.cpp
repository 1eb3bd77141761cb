#include "opt/in_loop.h"

namespace weft::opt {

bool in_loop(const ir::Op& op) {
    for (const ir::Op* above = op.parent->parent; above != nullptr; above = above->parent->parent) {
        if (ir::is_loop(*above)) return true;
    }
    return false;
}

}  // namespace weft::opt
