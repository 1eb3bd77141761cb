// Printer and parser side by side, as each form must be read back by the other. Grammar, informally:
//   module   := { ("kernel" | "func") "@"name "(" [%name ":" type {"," ...}] ")" ["->" "(" types ")"] ["adjoint"
//   "@"name] ["replay" "@"name] ["by_value" "@"name] body } body     := "{" ["(" %name ":" type {"," ...} ")"] { op }
//   "}" op       := [%name
//   {"," %name} "="] mnemonic ["." sub] [literal] ["(" operands ")"] ["[" ints "]"] ["\"" text "\""]
//               [":" types] { body } [location]
//   location := "@" line ":" column ["-" line ":" column] ["#" file]     (of a function: before its body)
// A constant's literal is a number, true, false, or # and its bits in hexadecimal.
#include "ir/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "ir/builder.h"

namespace weft::ir {
namespace {

// Printing ----------------------------------------------------------------------------------------------------------

std::string shortest(Scalar type, double value) {
    std::array<char, 32> buffer;
    const auto end = type == Scalar::F64
                         ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value)
                         : std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value));
    return {buffer.data(), end.ptr};
}

std::string literal(Type type, uint64_t bits) {
    const Scalar scalar = type.element();
    if (scalar == Scalar::Bool) return bits != 0 ? "true" : "false";
    if (!is_float(scalar)) {
        if (!is_signed_int(scalar)) return std::to_string(bits);
        const int shift = 64 - scalar_bits(scalar);
        return std::to_string(static_cast<int64_t>(bits << shift) >> shift);
    }
    const double number = number_of(scalar, bits);
    if (std::isfinite(number)) {
        std::string text = shortest(scalar, number);
        if (to_bits(scalar, number) == bits) return text;
    }
    std::array<char, 20> hex;
    const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), bits, 16);
    return "#" + std::string(hex.data(), end.ptr);
}

std::string quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 32 || byte == 127) {
            out += "\\x";
            out += digits[byte >> 4];
            out += digits[byte & 15];
        } else {
            out += c;
        }
    }
    return out + "\"";
}

class Printer {
  public:
    explicit Printer(const PrintOptions& options) : options_(options) {}

    std::string out;

    void function(const Function& f) {
        out += f.kind == FunctionKind::Kernel ? "kernel @" : "func @";
        out += f.name + "(";
        arguments(f.body.arguments);
        out += ")";
        if (!f.results.empty()) {
            out += " -> (";
            for (size_t i = 0; i < f.results.size(); ++i) out += (i == 0 ? "" : ", ") + f.results[i].str();
            out += ")";
        }
        if (!f.adjoint.empty()) out += " adjoint @" + f.adjoint;
        if (!f.replay.empty()) out += " replay @" + f.replay;
        if (!f.by_value.empty()) out += " by_value @" + f.by_value;
        if (options_.files != nullptr) location(f.location);
        out += " {\n";
        ops(f.body);
        out += "}\n";
    }

  private:
    const std::string& name(const Value* value) {
        auto [it, inserted] = names_.try_emplace(value);
        if (inserted) {
            if (options_.names && !value->name.empty()) {
                const int count = used_[value->name]++;
                it->second = "%" + value->name + (count == 0 ? "" : "." + std::to_string(count));
            } else {
                it->second = "%" + std::to_string(next_++);
            }
        }
        return it->second;
    }

    void arguments(const std::vector<Value*>& values) {
        for (size_t i = 0; i < values.size(); ++i) {
            out += (i == 0 ? "" : ", ") + name(values[i]) + ": " + values[i]->type.str();
        }
    }

    void ops(const Region& region) {
        indent_ += 2;
        for (const Op* op : region.ops) this->op(*op);
        indent_ -= 2;
    }

    void op(const Op& op) {
        out.append(indent_, ' ');
        for (size_t i = 0; i < op.results.size(); ++i) out += (i == 0 ? "" : ", ") + name(op.results[i]);
        if (!op.results.empty()) out += " = ";
        out += mnemonic(op.code);
        const bool sub = op.code == Opcode::Math || op.code == Opcode::Atomic;
        if (op.code == Opcode::Math) out += "." + std::string(mnemonic(op.math()));
        if (op.code == Opcode::Atomic) out += "." + std::string(mnemonic(op.atomic()));
        if (op.code == Opcode::Const) out += " " + literal(op.results[0]->type, static_cast<uint64_t>(op.ints[0]));
        if (!op.operands.empty()) {
            out += "(";
            for (size_t i = 0; i < op.operands.size(); ++i) out += (i == 0 ? "" : ", ") + name(op.operands[i]);
            out += ")";
        }
        if (!op.ints.empty() && !sub && op.code != Opcode::Const) {
            out += " [";
            for (size_t i = 0; i < op.ints.size(); ++i) out += (i == 0 ? "" : ", ") + std::to_string(op.ints[i]);
            out += "]";
        }
        if (!op.text.empty()) out += " " + quoted(op.text);
        for (size_t i = 0; i < op.results.size(); ++i) out += (i == 0 ? " : " : ", ") + op.results[i]->type.str();
        for (const auto& region : op.regions) {
            out += " {";
            if (!region->arguments.empty()) {
                out += "(";
                arguments(region->arguments);
                out += ")";
            }
            out += "\n";
            ops(*region);
            out.append(indent_, ' ');
            out += "}";
        }
        location(op.location);
        out += "\n";
    }

    void location(const Location& at) {
        if (!at || (!options_.locations && options_.files == nullptr)) return;
        out += " @" + std::to_string(at.line) + ":" + std::to_string(at.column);
        if (options_.files == nullptr) return;
        out += "-" + std::to_string(at.end_line) + ":" + std::to_string(at.end_column);
        if (at.file != nullptr) out += "#" + std::to_string(file(at.file));
    }

    // Equal files are one.
    size_t file(const std::shared_ptr<const SourceFile>& wanted) {
        SourceFiles& files = *options_.files;
        for (size_t i = 0; i < files.size(); ++i) {
            if (files[i] == wanted) return i;
            if (files[i]->path == wanted->path && files[i]->text == wanted->text) return i;
        }
        files.push_back(wanted);
        return files.size() - 1;
    }

    PrintOptions options_;
    std::unordered_map<const Value*, std::string> names_;
    std::unordered_map<std::string, int> used_;
    int next_ = 0;
    size_t indent_ = 0;
};

// Parsing -----------------------------------------------------------------------------------------------------------

const std::unordered_map<std::string_view, Opcode>& opcodes() {
    static const std::unordered_map<std::string_view, Opcode> table = {
#define OP(Name, mnemonic, flags) {mnemonic, Opcode::Name},
#include "ir/ops.def"
#undef OP
    };
    return table;
}

const std::unordered_map<std::string_view, MathFn>& math_functions() {
    static const std::unordered_map<std::string_view, MathFn> table = {
#define MATH(Name, name, operands, kind) {#name, MathFn::Name},
#include "ir/math.def"
#undef MATH
    };
    return table;
}

class Parser {
  public:
    Parser(std::string_view text, const SourceFiles& files) : text_(text), files_(files) {}

    std::unique_ptr<Module> module() {
        auto module = std::make_unique<Module>();
        for (skip(); position_ < text_.size(); skip()) function(*module);
        return module;
    }

    Type whole_type() {
        const Type t = type();
        skip();
        if (position_ != text_.size()) fail("text behind the type");
        return t;
    }

  private:
    [[noreturn]] void fail(const std::string& message) const {
        int line = 1;
        size_t start = 0;
        for (size_t i = 0; i < position_ && i < text_.size(); ++i) {
            if (text_[i] == '\n') {
                ++line;
                start = i + 1;
            }
        }
        auto file = std::make_shared<SourceFile>();
        file->path = "<ir>";
        file->text = text_;
        const int column = static_cast<int>(position_ - start);
        throw UserError(ErrorKind::Syntax, "IR text: " + message, {file, line, column, line, column + 1});
    }

    void skip() {
        while (position_ < text_.size()) {
            if (text_[position_] == ';') {  // a comment, to the end of the line
                while (position_ < text_.size() && text_[position_] != '\n') ++position_;
            } else if (std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
                ++position_;
            } else {
                break;
            }
        }
    }

    bool at(std::string_view token) {
        skip();
        return text_.substr(position_).starts_with(token);
    }

    bool accept(std::string_view token) {
        if (!at(token)) return false;
        position_ += token.size();
        return true;
    }

    void expect(std::string_view token) {
        if (!accept(token)) fail("expected '" + std::string(token) + "'");
    }

    static bool word_char(char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
               static_cast<unsigned char>(c) >= 128;
    }

    std::string word() {
        skip();
        const size_t start = position_;
        while (position_ < text_.size() && word_char(text_[position_])) ++position_;
        if (start == position_) fail("expected a name");
        return std::string(text_.substr(start, position_ - start));
    }

    int64_t integer() {
        skip();
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
        if (error != std::errc()) fail("expected an integer");
        position_ = static_cast<size_t>(end - text_.data());
        return value;
    }

    int small() {
        const int64_t value = integer();
        if (value < 0 || value > 1'000'000) fail("number out of range");
        return static_cast<int>(value);
    }

    Scalar scalar() {
        const std::string name = word();
        for (int i = 0; i < kScalarCount; ++i) {
            if (scalar_name(static_cast<Scalar>(i)) == name) return static_cast<Scalar>(i);
        }
        fail("unknown scalar type " + name);
    }

    Type type() {
        skip();
        const size_t start = position_;
        const std::string name = word();
        if (!at("<") && name != "struct") {
            if (name == "void") return {};
            position_ = start;
            return Type::scalar(scalar());
        }
        if (name == "struct") return structure();
        expect("<");
        Type out;
        if (name == "vec") {
            const int n = small();
            expect(",");
            if (n < 1) fail("vec of no length");
            out = Type::vec(n, scalar());
        } else if (name == "mat") {
            const int rows = small();
            expect(",");
            const int columns = small();
            expect(",");
            if (rows < 1 || columns < 1) fail("mat of no size");
            out = Type::mat(rows, columns, scalar());
        } else if (name == "quat") {
            out = Type::quat(scalar());
        } else if (name == "transform") {
            out = Type::transform(scalar());
        } else if (name == "array") {
            const Type element = type();
            expect(",");
            const int ndim = small();
            if (ndim < 1 || ndim > 8) fail("array of " + std::to_string(ndim) + " dimensions");
            out = Type::array(element, ndim);
        } else if (name == "ref") {
            out = Type::ref(type());
        } else if (name == "stack") {
            out = Type::stack(type());
        } else if (name == "tuple") {
            std::vector<Type> parts;
            if (!at(">")) {
                do parts.push_back(type());
                while (accept(","));
            }
            out = Type::tuple(parts);
        } else {
            position_ = start;
            fail("unknown type " + name);
        }
        expect(">");
        return out;
    }

    Type structure() {
        const std::string name = word();
        expect("<");
        int alignment = 0;
        if (accept("align ")) alignment = small();
        const bool packed = accept("packed ");
        std::vector<Type::Field> fields;
        if (!at(">")) {
            do {
                std::string field = word();
                expect(":");
                fields.push_back({std::move(field), type()});
            } while (accept(","));
        }
        expect(">");
        return Type::structure(name, fields, alignment, packed);
    }

    // A value's name, and the user's name in it: "%x.1" is the second value called x.
    std::string value_name() {
        expect("%");
        return word();
    }

    static std::string user_name(const std::string& name) {
        if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) return {};
        const auto dot = name.find('.');
        return name.substr(0, dot);
    }

    void define(const std::string& name, Value* value) {
        value->name = user_name(name);
        values_[name] = value;
    }

    Value* use() {
        const size_t start = position_;
        const auto it = values_.find(value_name());
        if (it == values_.end()) {
            position_ = start;
            fail("use of an unknown value");
        }
        return it->second;
    }

    void function(Module& module) {
        values_.clear();
        const bool kernel = accept("kernel");
        if (!kernel) expect("func");
        expect("@");
        const std::string name = word();
        if (module.find(name)) fail("function " + name + " is defined twice");
        Function& f = module.add(name, kernel ? FunctionKind::Kernel : FunctionKind::Function);
        Builder builder(module, f);
        builder.set_folding(false);
        expect("(");
        if (!at(")")) {
            do {
                const std::string parameter = value_name();
                expect(":");
                define(parameter, builder.parameter(type(), ""));
            } while (accept(","));
        }
        expect(")");
        if (accept("->")) {
            expect("(");
            do f.results.push_back(type());
            while (accept(","));
            expect(")");
        }
        if (accept("adjoint")) {
            expect("@");
            f.adjoint = word();
        }
        if (accept("replay")) {
            expect("@");
            f.replay = word();
        }
        if (accept("by_value")) {
            expect("@");
            f.by_value = word();
        }
        location(f.location);
        expect("{");
        while (!accept("}")) op(builder);
    }

    void location(Location& at) {
        if (!accept("@")) return;
        at.line = small();
        expect(":");
        at.column = small();
        if (accept("-")) {
            at.end_line = small();
            expect(":");
            at.end_column = small();
        }
        if (accept("#")) {
            const auto number = static_cast<size_t>(small());
            if (number >= files_.size()) fail("a location in no file");
            at.file = files_[number];
        }
    }

    uint64_t constant(Type type, std::string_view text) const {
        if (text == "true" || text == "false") return text == "true" ? 1 : 0;
        const char* begin = text.data();
        const char* end = begin + text.size();
        if (text.starts_with("#")) {
            uint64_t bits = 0;
            if (std::from_chars(begin + 1, end, bits, 16).ptr != end) fail("bad constant");
            return bits;
        }
        if (type.is_float()) {
            double number = 0;
            if (std::from_chars(begin, end, number).ptr != end) fail("bad constant");
            if (type.element() == Scalar::F32) {  // one rounding, from the text
                float single = 0;
                std::from_chars(begin, end, single);
                return to_bits(Scalar::F32, static_cast<double>(single));
            }
            return to_bits(type.element(), number);
        }
        if (text.starts_with("-")) {
            int64_t number = 0;
            if (std::from_chars(begin, end, number).ptr != end) fail("bad constant");
            return to_bits(type.element(), number);
        }
        uint64_t number = 0;
        if (std::from_chars(begin, end, number).ptr != end) fail("bad constant");
        return to_bits(type.element(), static_cast<int64_t>(number));
    }

    std::string string() {
        expect("\"");
        std::string out;
        while (position_ < text_.size() && text_[position_] != '"') {
            char c = text_[position_++];
            if (c == '\\' && position_ < text_.size()) {
                c = text_[position_++];
                if (c == 'x') {
                    int byte = 0;
                    const char* digits = text_.data() + position_;
                    if (position_ + 2 > text_.size() ||
                        std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) {
                        fail("bad escape");
                    }
                    position_ += 2;
                    c = static_cast<char>(byte);
                }
            }
            out += c;
        }
        expect("\"");
        return out;
    }

    void op(Builder& builder) {
        std::vector<std::string> names;
        if (at("%")) {
            do names.push_back(value_name());
            while (accept(","));
            expect("=");
        }
        skip();
        if (builder.terminated()) fail("op behind a terminator");
        const std::string full = word();
        std::string_view name = full;
        std::vector<int64_t> ints;
        if (name.starts_with("math.")) {
            const auto it = math_functions().find(name.substr(5));
            if (it == math_functions().end()) fail("unknown function " + full);
            ints.push_back(static_cast<int64_t>(it->second));
            name = "math";
        } else if (name.starts_with("atomic.")) {
            for (int i = 0; i < kAtomicKindCount; ++i) {
                if (mnemonic(static_cast<AtomicKind>(i)) == name.substr(7)) ints.push_back(i);
            }
            if (ints.empty()) fail("unknown op " + full);
            name = "atomic";
        }
        const auto code = opcodes().find(name);
        if (code == opcodes().end()) fail("unknown op " + full);
        std::string_view constant_text;
        if (code->second == Opcode::Const) {
            skip();
            const size_t start = position_;
            while (position_ < text_.size() && (word_char(text_[position_]) || text_[position_] == '#' ||
                                                text_[position_] == '-' || text_[position_] == '+')) {
                ++position_;
            }
            constant_text = text_.substr(start, position_ - start);
        }
        std::vector<Value*> operands;
        if (accept("(")) {
            if (!at(")")) {
                do operands.push_back(use());
                while (accept(","));
            }
            expect(")");
        }
        if (accept("[")) {
            if (!at("]")) {
                do ints.push_back(integer());
                while (accept(","));
            }
            expect("]");
        }
        std::string text;
        if (at("\"")) text = string();
        std::vector<Type> results;
        if (accept(":")) {
            do results.push_back(type());
            while (accept(","));
        }
        if (results.size() != names.size()) fail("results and their types differ in number");
        if (code->second == Opcode::Const) {
            if (results.size() != 1 || !results[0].is_scalar()) fail("a constant is one scalar");
            ints = {static_cast<int64_t>(constant(results[0], constant_text))};
        }
        Op& op = builder.emit_op(code->second, operands, results, ints, text);
        while (accept("{")) body(builder, op);
        location(op.location);
        for (size_t i = 0; i < names.size(); ++i) define(names[i], op.results[i]);
    }

    void body(Builder& builder, Op& op) {
        std::vector<std::string> names;
        std::vector<Type> types;
        if (accept("(")) {
            do {
                names.push_back(value_name());
                expect(":");
                types.push_back(type());
            } while (accept(","));
            expect(")");
        }
        builder.fill_region(op, types, [&](Region& region) {
            for (size_t i = 0; i < names.size(); ++i) define(names[i], region.arguments[i]);
            while (!accept("}")) this->op(builder);
        });
    }

    std::string_view text_;
    const SourceFiles& files_;
    size_t position_ = 0;
    std::unordered_map<std::string, Value*> values_;
};

}  // namespace

std::string print(const Function& function, const PrintOptions& options) {
    Printer printer(options);
    printer.function(function);
    return std::move(printer.out);
}

std::string print(const Module& module, const PrintOptions& options) {
    std::string out;
    for (const auto& function : module.functions) out += print(*function, options);
    return out;
}

std::unique_ptr<Module> parse(std::string_view text, const SourceFiles& files) { return Parser(text, files).module(); }
Type parse_type(std::string_view text) { return Parser(text, {}).whole_type(); }

}  // namespace weft::ir
