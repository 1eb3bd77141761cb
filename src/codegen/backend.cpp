#include "codegen/backend.h"

#include <algorithm>
#include <utility>

#include "ir/layout.h"

namespace weft::codegen {

std::string Options::key() const {
    std::string out = "O" + std::to_string(optimize);
    if (fast_math) out += " fast";
    if (contract) out += " contract";
    if (lanes != 0) out += " x" + std::to_string(lanes);
    if (!architecture.empty()) out += " " + architecture;
    if (line_info) out += " lines";
    if (dense) out += " dense";
    if (narrow) out += " narrow";
    for (const auto& [name, bound] :
         {std::pair(" threads", max_threads), {" blocks", min_blocks}, {" registers", max_registers}}) {
        if (bound != 0) out += name + std::to_string(bound);
    }
    return out;
}

std::vector<int64_t> parameter_offsets(const ir::Function& kernel) {
    std::vector<int64_t> out;
    int64_t end = 0;
    for (const ir::Value* parameter : kernel.parameters()) {
        // Eight bytes for each, so that a launch may copy whole words.
        end = ir::align_up(end, std::max<int64_t>(8, ir::align_of(parameter->type)));
        out.push_back(end);
        end += ir::size_of(parameter->type);
    }
    out.push_back(ir::align_up(end, 8));
    return out;
}

}  // namespace weft::codegen
