#include "runtime/access.h"

#include <set>
#include <string>
#include <unordered_set>

#include "opt/snippet_access.h"

namespace weft::runtime {
namespace {

using ir::Op;
using ir::Opcode;
using ir::Value;

// The parameter that an array, or a reference into one, comes from; -1: not known.
int origin(const Value* value, const ir::Function& function) {
    while (true) {
        if (value->region == &function.body) return value->index;
        if (value->op == nullptr) return -1;
        switch (value->op->code) {
            case Opcode::At:
            case Opcode::Member:
            case Opcode::MemberAt:
            case Opcode::View:
            case Opcode::Slice:
            case Opcode::Extract:
                value = value->op->operands[0];
                break;
            default:
                return -1;
        }
    }
}

class Analysis {
  public:
    Analysis(const ir::Module& module, const ir::Function& function)
        : module_(module), function_(function), access_(function.parameters().size()) {}

    std::vector<Access> run() {
        ir::walk(function_.body, [&](const Op& op) { used_.insert(op.operands.begin(), op.operands.end()); });
        ir::walk(function_.body, [&](const Op& op) { visit(op); });
        return access_;
    }

  private:
    void visit(const Op& op) {
        switch (op.code) {
            case Opcode::Load:
                if (!ir::local_array_of(op.operands[0])) mark(op.operands[0], {.read = true, .plain = true});
                break;
            case Opcode::Store:
                if (!ir::local_array_of(op.operands[0])) mark(op.operands[0], {.write = true, .plain = true});
                break;
            case Opcode::Address:
            case Opcode::ArrayAt:
                mark(op.operands[0], {.plain = true});
                break;
            // Sums whose old value nobody uses do not need it; extremes are compared with it.
            case Opcode::Atomic: {
                if (ir::local_array_of(op.operands[0])) break;
                const bool sum = !used_.contains(op.result()) &&
                                 (op.atomic() == ir::AtomicKind::Add || op.atomic() == ir::AtomicKind::Sub);
                const bool of_floats = sum && op.result()->type.has_float_elements();
                mark(op.operands[0], {.read = !sum, .write = true, .sum = of_floats, .other_atomic = !of_floats});
                break;
            }
            case Opcode::Call:
                call(op);
                break;
            case Opcode::Native:
                for (const Value* operand : op.operands) {
                    if (operand->type.contains_array()) mark(operand, {.read = true, .plain = true});
                }
                break;
            case Opcode::Snippet:
                snippet(op);
                break;
            default:
                break;
        }
    }

    void snippet(const Op& op) {
        const std::vector<bool> written = opt::written_by_snippet(op);
        for (size_t i = 0; i < op.operands.size(); ++i) {
            const ir::Type type = op.operands[i]->type;
            const bool memory = type.contains_array() || type.is(ir::TypeKind::Ref);
            // What it writes may be written by atomics of its own.
            if (!memory) continue;
            mark(op.operands[i], {.read = true, .write = written[i], .other_atomic = written[i], .plain = true});
        }
    }

    void call(const Op& op) {
        const ir::Function* callee = module_.find(op.text);
        const std::vector<Access> inner =
            callee != nullptr
                ? parameter_access(module_, *callee)
                : std::vector<Access>(op.operands.size(), Access{.read = true, .write = true, .plain = true});
        for (size_t i = 0; i < op.operands.size(); ++i) {
            if ((inner[i].read || inner[i].write) && !ir::local_array_of(op.operands[i]))
                mark(op.operands[i], inner[i]);
        }
    }

    void mark(const Value* value, Access access) {
        const int parameter = origin(value, function_);
        for (size_t i = 0; i < access_.size(); ++i) {
            if (parameter >= 0 ? static_cast<int>(i) != parameter : !function_.parameters()[i]->type.contains_array()) {
                continue;
            }
            access_[i].read |= access.read;
            access_[i].write |= access.write;
            access_[i].sum |= access.sum;
            access_[i].other_atomic |= access.other_atomic;
            access_[i].plain |= access.plain;
        }
    }

    const ir::Module& module_;
    const ir::Function& function_;
    std::vector<Access> access_;
    std::unordered_set<const Value*> used_;
};

bool contains(const ir::Module& module, const ir::Function& function, Opcode code, std::set<std::string>& seen) {
    if (!seen.insert(function.name).second) return false;
    bool found = false;
    ir::walk(function.body, [&](const Op& op) {
        if (op.code == code) found = true;
        if (found || op.code != Opcode::Call) return;
        const ir::Function* callee = module.find(op.text);
        found = callee != nullptr && contains(module, *callee, code, seen);
    });
    return found;
}

}  // namespace

std::vector<Access> parameter_access(const ir::Module& module, const ir::Function& function) {
    return Analysis(module, function).run();
}

bool contains(const ir::Module& module, const ir::Function& function, ir::Opcode code) {
    std::set<std::string> seen;
    return contains(module, function, code, seen);
}

}  // namespace weft::runtime
