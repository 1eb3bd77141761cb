#include "ad/overwritten.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace weft::ad {
namespace {

using namespace ir;

// Where arrays that came in as parameters are read or written; by the parameter's index.
using Accesses = std::map<int, Location>;

// The parameters of the function that an array or a Ref may come from.
void roots(const Value* value, const Function& function, std::vector<int>& out) {
    if (!value->op) {
        if (value->region == &function.body) out.push_back(value->index);
        return;
    }
    const Op& op = *value->op;
    if (op.code == Opcode::Select) {
        roots(op.operands[1], function, out);
        roots(op.operands[2], function, out);
    } else if (op.code == Opcode::If) {
        for (const auto& region : op.regions) {
            if (region->terminator()->code == Opcode::Yield) {
                roots(region->terminator()->operands[static_cast<size_t>(value->index)], function, out);
            }
        }
    } else if (!op.operands.empty()) {
        roots(op.operands[0], function, out);
    }
}

enum class Access { Read, Write };

// What the user's replay reads is meant as it is when the adjoint runs: what the function it stands for has left there.
bool is_replay(const Module& module, const std::string& name) {
    return std::any_of(module.functions.begin(), module.functions.end(),
                       [&](const auto& f) { return f->replay == name; });
}

Accesses accesses(const Module& module, const Function& function, Access wanted) {
    Accesses found;
    const auto note = [&](const Value* place, const Location& location) {
        std::vector<int> parameters;
        roots(place, function, parameters);
        for (const int p : parameters) found.try_emplace(p, location);
    };
    walk(function.body, [&](const Op& op) {
        const bool read = op.code == Opcode::Load && op.text != kFinalLoad;
        const bool written = op.code == Opcode::Store || op.code == Opcode::Atomic;
        if (wanted == Access::Read ? read : written) note(op.operands[0], op.location);
        if (op.code == Opcode::Native && wanted == Access::Read) {
            for (const Value* v : op.operands) {
                if (v->type.contains_array()) note(v, op.location);
            }
        }
        if (op.code == Opcode::Call && !(wanted == Access::Read && is_replay(module, op.text))) {
            for (const auto& [parameter, location] : accesses(module, *module.find(op.text), wanted)) {
                note(op.operands[static_cast<size_t>(parameter)], location ? location : op.location);
            }
        }
    });
    return found;
}

}  // namespace

std::vector<int> root_parameters(const Value* value, const Function& function) {
    std::vector<int> out;
    roots(value, function, out);
    return out;
}

std::map<int, Location> overwritten(const Module& module, const Function& kernel, const Function& adjoint) {
    const Accesses written = accesses(module, kernel, Access::Write);
    Accesses found;
    for (const auto& [parameter, location] : accesses(module, adjoint, Access::Read)) {
        const bool of_kernel = static_cast<size_t>(parameter) < kernel.parameters().size();
        if (of_kernel && written.contains(parameter)) found.emplace(parameter, location);
    }
    return found;
}

namespace {

// The first load of an atomic's result in the function or in what it calls; null: none.
const Op* atomic_result(const Module& module, const Function& function) {
    const Op* found = nullptr;
    walk(function.body, [&](const Op& op) {
        if (found) return;
        if (op.code == Opcode::Load && op.text == kAtomicResult) found = &op;
        if (op.code == Opcode::Call) found = atomic_result(module, *module.find(op.text));
    });
    return found;
}

}  // namespace

Location first_read(const Module& module, const Function& kernel, int parameter) {
    const Accesses found = accesses(module, kernel, Access::Read);
    const auto place = found.find(parameter);
    return place == found.end() ? Location() : place->second;
}

bool uses_atomic_results(const Module& module, const Function& adjoint) { return atomic_result(module, adjoint); }

void refuse_atomic_results(const Module& module, const Function& kernel, const Function& adjoint) {
    const Op* op = atomic_result(module, adjoint);
    if (!op) return;
    const bool whole = !op->result()->type.has_float_elements();
    throw UserError(ErrorKind::Gradient,
                    "the gradient of kernel '" + kernel.name + "' needs the result of an atomic" +
                        (whole ? ", which is not saved" : " of floats, which depends on the order of items"),
                    op->location);
}

std::vector<int> extreme_parameters(const Module& module, const Function& kernel) {
    std::vector<int> found;
    walk(kernel.body, [&](const Op& op) {
        std::vector<int> parameters;
        if (op.code == Opcode::Atomic && (op.atomic() == AtomicKind::Min || op.atomic() == AtomicKind::Max) &&
            op.operands[1]->type.has_float_elements()) {
            roots(op.operands[0], kernel, parameters);
        }
        if (op.code == Opcode::Call) {
            for (const int p : extreme_parameters(module, *module.find(op.text))) {
                roots(op.operands[static_cast<size_t>(p)], kernel, parameters);
            }
        }
        for (const int p : parameters) {
            if (std::find(found.begin(), found.end(), p) == found.end()) found.push_back(p);
        }
    });
    return found;
}

void refuse_overwritten(const Module& module, const Function& kernel, const std::map<int, Location>& parameters) {
    const auto& [parameter, location] = *parameters.begin();
    const Location write = accesses(module, kernel, Access::Write).at(parameter);
    const std::string& name = kernel.parameters()[static_cast<size_t>(parameter)]->name;
    throw UserError(ErrorKind::Gradient,
                    "the gradient of kernel '" + kernel.name + "' needs a value of array '" + name +
                        "' that the kernel overwrites; write the result to another array",
                    location)
        .with_note("overwritten in line " + std::to_string(write.line));
}

}  // namespace weft::ad
