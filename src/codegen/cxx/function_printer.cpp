// Values used once, by an op of the same region, are printed inside their user where they stay short; others get a line
// and a name. A carried value is one variable through all turns of its loop and after it.
#include "codegen/cxx/function_printer.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "codegen/snippet_text.h"
#include "ir/builder.h"
#include "ir/layout.h"

namespace weft::codegen::cxx {
namespace {

using ir::Opcode;
using ir::TypeKind;

constexpr size_t kLongestInline = 48;

std::string join(const std::vector<std::string>& parts, const char* between = ", ") {
    std::string out;
    for (size_t i = 0; i < parts.size(); ++i) out += (i == 0 ? "" : between) + parts[i];
    return out;
}

class FunctionPrinter {
  public:
    FunctionPrinter(Program& program, const ir::Function& function)
        : program_(program), function_(function), names_(program.names) {
        count_uses(function.body);
    }

    PrintedFunction print() {
        PrintedFunction out;
        for (const ir::Value* parameter : function_.parameters()) {
            out.types.push_back(type(parameter->type));
            out.names.push_back(name(parameter));
        }
        for (size_t i = 0; i < program_.sums.size(); ++i) out.sums.push_back(names_.make("sum"));
        sums_ = out.sums;
        region(function_.body);
        out.body = stacks_ + out_;
        return out;
    }

  private:
    void count_uses(const ir::Region& region) {
        for (const ir::Op* op : region.ops) {
            for (const ir::Value* operand : op->operands) {
                ++uses_[operand];
                user_region_[operand] = &region;
            }
            for (const auto& inner : op->regions) count_uses(*inner);
        }
    }

    const std::string& type(ir::Type t) { return program_.types.name(t); }

    const std::string& name(const ir::Value* value) {
        auto& text = text_[value];
        if (text.empty()) text = names_.make(value->name.empty() ? "v" + std::to_string(value->id) : value->name);
        return text;
    }

    const std::string& use(const ir::Value* value) {
        const auto place = text_.find(value);
        WEFT_CHECK(place != text_.end(), "value %" + std::to_string(value->id) + " was not printed");
        return place->second;
    }

    std::vector<std::string> uses(const std::vector<ir::Value*>& values, size_t from = 0) {
        std::vector<std::string> out;
        for (size_t i = from; i < values.size(); ++i) out.push_back(use(values[i]));
        return out;
    }

    void line(const std::string& text) { out_ += std::string(static_cast<size_t>(4 * indent_), ' ') + text + "\n"; }

    // Defines the op's result as an expression: inside its user, or on a line of its own. `atom`: needs no parentheses.
    void define(const ir::Op& op, const std::string& expression, bool atom) {
        const ir::Value* result = op.result();
        const bool constant = op.code == Opcode::Const || (op.code == Opcode::Zero && result->type.is_scalar());
        const bool once = uses_[result] == 1 && user_region_[result] == op.parent && ir::is_pure(op.code);
        if (constant || (once && result->name.empty() && expression.size() <= kLongestInline)) {
            text_[result] = atom ? expression : "(" + expression + ")";
            return;
        }
        const bool is_ref = result->type.is(TypeKind::Ref);
        line((is_ref ? type(result->type) + " const " : "const " + type(result->type) + " ") + name(result) + " = " +
             expression + ";");
    }

    void region(const ir::Region& region) {
        ++indent_;
        for (const ir::Op* op : region.ops) this->op(*op);
        --indent_;
    }

    // --- assignment of results and carried values ---

    // All at once: where a value is still needed by a later one, it goes through a constant.
    void assign(const std::vector<ir::Value*>& targets, const std::vector<ir::Value*>& values) {
        std::vector<std::pair<std::string, std::string>> pending;
        for (size_t i = 0; i < targets.size(); ++i) {
            if (use(targets[i]) != use(values[i])) pending.emplace_back(use(targets[i]), use(values[i]));
        }
        bool overlaps = false;
        for (size_t i = 0; i < pending.size(); ++i) {
            for (size_t k = i + 1; k < pending.size(); ++k)
                overlaps = overlaps || mentions(pending[k].second, pending[i].first);
        }
        if (overlaps) {
            for (auto& [target, value] : pending) {
                const std::string kept = names_.make("next_" + target);
                line("const auto " + kept + " = " + value + ";");
                value = kept;
            }
        }
        for (const auto& [target, value] : pending) line(target + " = " + value + ";");
    }

    static bool mentions(const std::string& text, const std::string& word) {
        const auto part = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
        for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
            const size_t end = at + word.size();
            if ((at == 0 || !part(text[at - 1])) && (end == text.size() || !part(text[end]))) return true;
        }
        return false;
    }

    // --- control ---

    void if_op(const ir::Op& op) {
        for (const ir::Value* result : op.results) line(type(result->type) + " " + name(result) + ";");
        line("if (" + bare(use(op.operands[0])) + ") {");
        region(*op.regions[0]);
        const auto& otherwise = *op.regions[1];
        if (otherwise.ops.size() > 1 || otherwise.terminator()->code != Opcode::Yield || !op.results.empty()) {
            line("} else {");
            region(otherwise);
        }
        line("}");
    }

    void carry(const ir::Op& op, size_t from, const ir::Region& turn, size_t skip) {
        for (size_t i = 0; i < op.results.size(); ++i) {
            const ir::Value* argument = turn.arguments[skip + i];
            std::string& variable = text_[op.results[i]];
            variable = names_.make(!op.results[i]->name.empty() ? op.results[i]->name
                                   : !argument->name.empty()    ? argument->name
                                                                : "v" + std::to_string(op.results[i]->id));
            line(type(op.results[i]->type) + " " + variable + " = " + use(op.operands[from + i]) + ";");
            text_[argument] = text_[op.results[i]];
        }
    }

    // A bound must not be read again from variables that the loop changes.
    std::string fixed(const ir::Value* value) {
        std::string text = use(value);
        if (ir::constant_integer(value) || (value->op == nullptr && value->region == &function_.body)) return text;
        const std::string kept = names_.make("bound");
        line("const " + type(value->type) + " " + kept + " = " + text + ";");
        return kept;
    }

    void for_op(const ir::Op& op) {
        const ir::Region& turn = *op.regions[0];
        const ir::Value* index = turn.arguments[0];
        const auto step = ir::constant_integer(op.operands[2]);
        const std::string begin = use(op.operands[0]);
        if (step == 1 || step == -1) {
            const std::string end = fixed(op.operands[1]);
            carry(op, 3, turn, 1);
            const std::string i = name(index);
            line("for (" + type(index->type) + " " + i + " = " + begin + "; " + i + (*step > 0 ? " < " : " > ") + end +
                 "; " + (*step > 0 ? "++" : "--") + i + ") {");
        } else {
            carry(op, 3, turn, 1);
            const std::string range = names_.make("turns");
            line("for (weft::range<" + type(index->type) + "> " + range + "(" + begin + ", " + use(op.operands[1]) +
                 ", " + use(op.operands[2]) + "); " + range + ".more; " + range + ".next()) {");
            ++indent_;
            line("const " + type(index->type) + " " + name(index) + " = " + range + ".index;");
            --indent_;
        }
        loops_.push_back(&op);
        region(turn);
        loops_.pop_back();
        line("}");
    }

    void while_op(const ir::Op& op) {
        const ir::Region& test = *op.regions[0];
        carry(op, 0, test, 0);
        for (size_t i = 0; i < op.results.size(); ++i) text_[op.regions[1]->arguments[i]] = use(op.results[i]);
        loops_.push_back(&op);
        // A condition that is one expression stands at the head of the loop.
        const std::string before = std::move(out_);
        out_.clear();
        region(test);
        const std::string lines = std::move(out_);
        out_ = before;
        const std::string condition = use(test.terminator()->operands[0]);
        if (lines.empty()) {
            line("while (" + bare(condition) + ") {");
        } else {
            line("while (true) {");
            out_ += lines;
            ++indent_;
            line("if (!" + condition + ") break;");
            --indent_;
        }
        region(*op.regions[1]);
        loops_.pop_back();
        line("}");
    }

    static std::string bare(const std::string& text) {
        if (text.size() < 2 || text.front() != '(') return text;
        int depth = 0;
        for (size_t i = 0; i < text.size(); ++i) {
            if (text[i] == '(') ++depth;
            if (text[i] == ')' && --depth == 0) return i + 1 == text.size() ? text.substr(1, text.size() - 2) : text;
        }
        return text;
    }

    void return_op(const ir::Op& op) {
        if (op.operands.empty()) return line("return;");
        if (op.operands.size() == 1) return line("return " + bare(use(op.operands[0])) + ";");
        line("return {" + join(uses(op.operands)) + "};");
    }

    // --- ops ---

    void op(const ir::Op& op) {
        const auto operand = [&](size_t i) -> const std::string& { return use(op.operands.at(i)); };
        const auto operand_type = [&](size_t i) { return op.operands.at(i)->type; };
        const auto result_type = [&] { return op.result()->type; };
        const auto word = [&] { return static_cast<int>(op.ints.at(0)); };
        const auto infix = [&](const char* sign) { define(op, operand(0) + " " + sign + " " + operand(1), false); };
        const auto call = [&](const std::string& f) {
            define(op, "weft::" + f + "(" + join(uses(op.operands)) + ")", true);
        };
        // C++ computes on what is at least an int: shorter types go through functions that come back to them.
        const bool uniform = !op.results.empty() && result_type().is_uniform();
        const bool plain =
            !op.results.empty() && result_type().is_scalar() && ir::scalar_bits(result_type().element()) >= 32;
        // The host's compiler is told that integers wrap.
        const bool wraps = plain && !(is_gpu(program_.flavour) && ir::is_signed_int(result_type().element()));
        switch (op.code) {
            case Opcode::Const:
                return define(op, literal(result_type().element(), static_cast<uint64_t>(op.ints.at(0))), true);
            case Opcode::Zero:
                return define(
                    op, result_type().is_scalar() ? literal(result_type().element(), 0) : type(result_type()) + "{}",
                    true);
            case Opcode::Add:
                return wraps || uniform ? infix("+") : call("add");
            case Opcode::Sub:
                return wraps || uniform ? infix("-") : call("sub");
            case Opcode::Mul:
                return wraps || uniform ? infix("*") : call("mul");
            case Opcode::Div:
                return (plain && result_type().is_float()) || uniform ? infix("/") : call("div");
            case Opcode::FloorDiv:
                return call("floordiv");
            case Opcode::Rem:
                return call("rem");
            case Opcode::Neg:
                return wraps || uniform ? define(op, "-" + operand(0), false) : call("neg");
            case Opcode::Abs:
                return call("abs");
            case Opcode::Min:
                return call("min");
            case Opcode::Max:
                return call("max");
            case Opcode::Math:
                return call(std::string(ir::mnemonic(op.math())));
            case Opcode::And:
                return plain ? infix("&") : call("bit_and");
            case Opcode::Or:
                return plain ? infix("|") : call("bit_or");
            case Opcode::Xor:
                return plain ? infix("^") : call("bit_xor");
            case Opcode::Not:
                if (result_type().is_bool()) return define(op, "!" + operand(0), false);
                return plain ? define(op, "~" + operand(0), false) : call("bit_not");
            case Opcode::Shl:
                return call("shl");
            case Opcode::Shr:
                return call("shr");
            case Opcode::Eq:
                return infix("==");
            case Opcode::Ne:
                return infix("!=");
            case Opcode::Lt:
                return infix("<");
            case Opcode::Le:
                return infix("<=");
            case Opcode::Gt:
                return infix(">");
            case Opcode::Ge:
                return infix(">=");
            case Opcode::Select:
                return define(op, operand(0) + " ? " + operand(1) + " : " + operand(2), false);
            case Opcode::Cast: {
                const std::string to = scalar_type(result_type().element());
                return call((result_type().is_uniform() ? "cast_parts<" : "cast<") + to + ">");
            }
            case Opcode::Bitcast:
                return call("bitcast<" + type(result_type()) + ">");
            case Opcode::Compose: {
                const std::string list = join(uses(op.operands));
                return define(
                    op, type(result_type()) + (result_type().is_uniform() ? "{{" + list + "}}" : "{" + list + "}"),
                    true);
            }
            case Opcode::Splat:
                return call("splat<" + scalar_type(result_type().element()) + ", " +
                            std::to_string(result_type().part_count()) + ">");
            case Opcode::Extract:
                return define(op, operand(0) + program_.types.part(operand_type(0), word()), true);
            case Opcode::Insert:
                line(type(result_type()) + " " + name(op.result()) + " = " + operand(0) + ";");
                return line(use(op.result()) + program_.types.part(operand_type(0), word()) + " = " + operand(1) + ";");
            case Opcode::ExtractAt:
                return call("get");
            case Opcode::InsertAt:
                return define(op, "weft::with(" + operand(0) + ", " + operand(2) + ", " + operand(1) + ")", true);
            case Opcode::At:
                return call("at");
            case Opcode::View:
                return call("view");
            case Opcode::Slice: {
                std::string ranges;
                for (const int64_t range : op.ints) ranges += (ranges.empty() ? "" : ", ") + std::to_string(range);
                return call("slice<" + ranges + ">");
            }
            case Opcode::LocalArray:
                return local_array(op);
            case Opcode::Address:
                return define(op, "uint64_t(" + operand(0) + (operand_type(0).is(TypeKind::Array) ? ".data)" : ")"),
                              true);
            case Opcode::ArrayAt:
                return call("array_at<" + type(result_type().target()) + ">");
            case Opcode::Stride:
                return define(op, "int32_t(" + operand(0) + ".stride[" + std::to_string(word()) + "])", true);
            case Opcode::Member: {
                const ir::Type target = operand_type(0).target();
                const std::string place = "&(*" + operand(0) + ")" + program_.types.part(target, word());
                // A reference to a member of a packed struct may be unaligned, which C++ does not let pass silently.
                return define(op, "(" + type(result_type()) + ")(" + place + ")", false);
            }
            case Opcode::MemberAt:
                return call("member_at");
            case Opcode::Load:
                return define(op, result_type().is_bool() ? "weft::load(" + operand(0) + ")" : "*" + operand(0), true);
            case Opcode::Store:
                return line("*" + operand(0) + " = " + bare(operand(1)) + ";");
            case Opcode::Atomic: {
                const auto sum = std::ranges::find(program_.sums, &op);
                if (sum != program_.sums.end()) {
                    const std::string& total = sums_.at(static_cast<size_t>(sum - program_.sums.begin()));
                    return line(total + ".add(" + operand(0) + ", " + bare(operand(1)) + ");");
                }
                const std::string text =
                    "weft::atomic_" + std::string(ir::mnemonic(op.atomic())) + "(" + join(uses(op.operands)) + ")";
                return uses_[op.result()] == 0 ? line(text + ";") : define(op, text, true);
            }
            case Opcode::Shape:
                return define(op, "int32_t(" + operand(0) + ".shape[" + std::to_string(word()) + "])", true);
            case Opcode::IsValid:
                return define(op, operand(0) + ".data != nullptr", false);
            case Opcode::ThreadIndex:
                return define(op, "item.at[" + std::to_string(word()) + "]", true);
            case Opcode::LaunchDim:
                return define(op, "int32_t(item.shape->dims[" + std::to_string(word()) + "])", true);
            case Opcode::Call:
                return call_op(op);
            case Opcode::Gradient:
                break;  // gone by now: ad/expand_gradients.cpp
            case Opcode::Native:
                return native(op);
            case Opcode::Snippet:
                return snippet(op);
            case Opcode::Print:
                return print(op);
            case Opcode::Assert:
                return assertion(op);
            case Opcode::StackNew:
                // Declared at the top of the function, so that a loop does not make it anew.
                stacks_ += "    " + type(result_type()) + " " + name(op.result()) + ";\n";
                if (!op.operands.empty()) {
                    return line(use(op.result()) + ".borrow(" + operand(0) + ", " + operand(1) + ");");
                }
                return line(use(op.result()) + ".clear();");
            case Opcode::StackKeep:
                WEFT_CHECK(!is_gpu(program_.flavour), "a stack that outlives its item, on a GPU");
                return define(op, operand(0) + ".keep()", true);
            case Opcode::StackPush:
                return line(operand(0) + ".push(" + bare(operand(1)) + ");");
            case Opcode::StackPosition:
                return define(op, operand(0) + ".position()", true);
            case Opcode::StackSeek:
                return line(operand(0) + ".seek(" + operand(1) + ");");
            case Opcode::StackRead:
                if (uses_[op.result()] == 0) return line(operand(0) + ".read();");
                return define(op, operand(0) + ".read()", true);
            case Opcode::StackPop:
                if (uses_[op.result()] == 0) return line(operand(0) + ".pop();");
                return define(op, operand(0) + ".pop()", true);
            case Opcode::If:
                return if_op(op);
            case Opcode::For:
                return for_op(op);
            case Opcode::While:
                return while_op(op);
            case Opcode::Yield: {
                const ir::Op* parent = op.parent->parent;
                return assign(parent->results, op.operands);
            }
            case Opcode::Break:
                assign(loops_.back()->results, op.operands);
                return line("break;");
            case Opcode::Continue:
                assign(loops_.back()->results, op.operands);
                return line("continue;");
            case Opcode::Return:
                return return_op(op);
            case Opcode::Unreachable:
                return line("__builtin_unreachable();");
            case Opcode::Condition:
                return;
        }
        WEFT_CHECK(false, "unknown op");
    }

    void assertion(const ir::Op& op) {
        std::string numbers;
        for (const std::string& number : uses(op.operands, 1)) numbers += ", " + number;
        line("if (!" + use(op.operands[0]) + ") {");
        ++indent_;
        line("weft::report(" + quoted(op.text) + ", item.shape, item.linear" + numbers + ");");
        line(function_.results.empty() ? "return;" : "return {};");
        --indent_;
        line("}");
    }

    void local_array(const ir::Op& op) {
        const ir::Type element = op.result()->type.target();
        int64_t count = 1;
        std::string shape;
        std::string strides;
        for (size_t d = op.ints.size(); d-- > 0;) {
            strides = std::to_string(count * ir::size_of(element)) + (strides.empty() ? "" : ", ") + strides;
            shape = std::to_string(op.ints[d]) + (shape.empty() ? "" : ", ") + shape;
            count *= op.ints[d];
        }
        const std::string storage = names_.make("local");
        line(type(element) + " " + storage + "[" + std::to_string(std::max<int64_t>(count, 1)) + "] = {};");
        line("const " + type(op.result()->type) + " " + name(op.result()) + " = {" + storage + ", {" + shape + "}, {" +
             strides + "}};");
    }

    void call_op(const ir::Op& op) {
        auto arguments = uses(op.operands);
        arguments.insert(arguments.begin(), "item");
        const std::string text = program_.functions.at(op.text) + "(" + join(arguments) + ")";
        if (op.results.empty()) return line(text + ";");
        if (op.results.size() == 1) return define(op, text, true);
        const std::string all = names_.make("results");
        line("const auto " + all + " = " + text + ";");
        for (size_t i = 0; i < op.results.size(); ++i) text_[op.results[i]] = all + ".part" + std::to_string(i);
    }

    static bool is_half(ir::Type t) { return t.is_scalar(ir::Scalar::F16) || t.is_scalar(ir::Scalar::BF16); }

    // The C arguments of a device function that stand for one value (device/types.h).
    void leaves(ir::Type t, const std::string& text, std::vector<std::string>& out) {
        if (t.is_scalar()) {
            out.push_back(text + (is_half(t) ? ".bits" : ""));
        } else if (t.is(TypeKind::Array)) {
            out.push_back(text + ".data");
            for (const char* part : {".shape[", ".stride["}) {
                for (int d = 0; d < t.ndim(); ++d) out.push_back(text + part + std::to_string(d) + "]");
            }
        } else {
            for (int i = 0; i < t.part_count(); ++i) leaves(t.part(i), text + program_.types.part(t, i), out);
        }
    }

    // Values are handed over by their addresses, a reference as the one that it is (codegen/snippet_text.h).
    void snippet(const ir::Op& op) {
        std::vector<std::string> places;
        const auto add = [&](std::string place) { places.push_back("weft::place(" + std::move(place) + ")"); };
        for (const ir::Value* operand : op.operands) add(use(operand));
        for (const ir::Value* result : op.results) {
            line(type(result->type) + " " + name(result) + ";");
            add("&" + use(result));
        }
        if (op.snippet_asserts()) {
            places.emplace_back("item.shape");
            places.emplace_back("&item.linear");
        }
        line(snippet_symbol(op) + "(" + join(places) + ");");
    }

    void native(const ir::Op& op) {
        if (is_gpu(program_.flavour) && op.text.starts_with("weft_texture_")) {
            throw UserError(ErrorKind::Unsupported, "textures are not there on this kind of GPU", op.location);
        }
        const bool direct = op.results.empty() || op.result()->type.is_scalar();
        std::vector<std::string> values;
        if (!direct) {
            line(type(op.result()->type) + " " + name(op.result()) + ";");
            values.push_back("&" + use(op.result()));
        }
        for (const ir::Value* operand : op.operands) leaves(operand->type, use(operand), values);
        const std::string text = op.text + "(" + join(values) + ")";
        if (!direct || op.results.empty()) return line(text + ";");
        const ir::Type result = op.result()->type;
        line("const " + type(result) + " " + name(op.result()) + " = " +
             (is_half(result) ? type(result) + "{" + text + "}" : text) + ";");
    }

    void print(const ir::Op& op) {
        std::string text = (is_gpu(program_.flavour) ? "printf(" : "weft_print(") + quoted(op.text);
        for (const ir::Value* operand : op.operands) {
            const ir::Scalar s = operand->type.element();
            text += ir::is_float(s) ? ", double(" + bare(use(operand)) + ")" : ", " + use(operand);
        }
        line(text + ");");
    }

    Program& program_;
    const ir::Function& function_;
    Names names_;  // starts with the names of the file: nothing is hidden
    std::unordered_map<const ir::Value*, int> uses_;
    std::unordered_map<const ir::Value*, const ir::Region*> user_region_;
    std::unordered_map<const ir::Value*, std::string> text_;
    std::vector<const ir::Op*> loops_;
    std::vector<std::string> sums_;  // names of what program_.sums go to
    std::string stacks_;
    std::string out_;
    int indent_ = 0;
};

}  // namespace

PrintedFunction print_function(Program& program, const ir::Function& function) {
    return FunctionPrinter(program, function).print();
}

}  // namespace weft::codegen::cxx
